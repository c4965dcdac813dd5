//! How people write numbers with units: `200k`, `1.5M`, `250ms`, `10s`.

/// Reads a number with an optional decimal multiplier `k`, `M` or `G` (either case).
///
/// # Errors
/// What is wrong with the text, in words.
pub fn parse_number(text: &str) -> Result<f64, String> {
    let (digits, factor) = match text.char_indices().last() {
        Some((i, 'k' | 'K')) => (&text[..i], 1e3),
        Some((i, 'm' | 'M')) => (&text[..i], 1e6),
        Some((i, 'g' | 'G')) => (&text[..i], 1e9),
        _ => (text, 1.0),
    };
    // Rounded to a millionth, so that 12.345k is 12345 and no binary fraction beside it.
    plain(digits)
        .map(|n| (n * factor * 1e6).round() / 1e6)
        .ok_or_else(|| format!("`{text}` is not a number such as 500, 20k or 1.5M"))
}

/// Reads a time with its unit (`ns`, `us` or `µs`, `ms`, `s`, `m`), in nanoseconds.
///
/// # Errors
/// What is wrong with the text, in words.
pub fn parse_duration_ns(text: &str) -> Result<u64, String> {
    let unit_at = text.find(char::is_alphabetic).unwrap_or(text.len());
    let (digits, unit) = text.split_at(unit_at);
    let factor = match unit {
        "ns" => 1.0,
        // The sign for micro, and the Greek letter.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        _ => return Err(format!("`{text}` is not a time such as 10s, 250ms or 2m")),
    };
    let value = plain(digits).ok_or_else(|| format!("`{text}` is not a time such as 10s, 250ms or 2m"))?;
    Ok((value * factor).round() as u64)
}

fn plain(digits: &str) -> Option<f64> {
    let ok = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    digits.parse().ok().filter(|n: &f64| ok && n.is_finite())
}

/// Writes a rate the way it is read: `200k`, `1.5M`, `750`.
pub fn format_rate(per_s: f64) -> String {
    let (value, suffix) = match per_s {
        r if r >= 1e6 => (r / 1e6, "M"),
        r if r >= 1e3 => (r / 1e3, "k"),
        r => (r, ""),
    };
    let text = format!("{value:.3}");
    format!("{}{suffix}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Writes a duration the way it is read: `10s`, `250ms`.
pub fn format_duration(ns: u64) -> String {
    for (unit, size) in [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)] {
        if ns >= size && ns.is_multiple_of(size / 1000) {
            let text = format!("{:.3}", ns as f64 / size as f64);
            return format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'));
        }
    }
    format!("{ns}ns")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        assert_eq!(parse_number("200k"), Ok(200_000.0));
        assert_eq!(parse_number("1.5M"), Ok(1_500_000.0));
        assert_eq!(parse_duration_ns("250ms"), Ok(250_000_000));
        assert_eq!(parse_duration_ns("1.5s"), Ok(1_500_000_000));
        for text in ["50us", "50\u{b5}s", "50\u{3bc}s"] {
            assert_eq!(parse_duration_ns(text), Ok(50_000));
        }
    }

    #[test]
    fn refuses_what_is_no_number() {
        for text in ["", "k", "-5", "1e9", "inf", "nan", "1..2", "5 k"] {
            assert!(parse_number(text).is_err(), "{text}");
        }
        for text in ["", "10", "s", "-1s", "10 s", "1h"] {
            assert!(parse_duration_ns(text).is_err(), "{text}");
        }
    }

    #[test]
    fn writes_what_it_reads() {
        for text in ["10s", "250ms", "1.5s", "20us", "7ns"] {
            assert_eq!(format_duration(parse_duration_ns(text).unwrap()), text);
        }
        for text in ["200k", "1.5M", "750", "12.345k"] {
            assert_eq!(format_rate(parse_number(text).unwrap()), text);
        }
    }
}
