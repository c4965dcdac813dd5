//! Texts that must fit.

/// The text, cut where it is longer than that many letters; one that is cut is seen to be.
pub(crate) fn shortened(text: &str, longest: usize) -> String {
    let text = text.trim();
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let kept: String = text.chars().take(longest.saturating_sub(1)).collect();
    let is_within_a_word = !text[kept.len()..].starts_with(char::is_whitespace);
    // Whole words, unless that takes half of it.
    let words = kept.rfind(char::is_whitespace).filter(|&end| is_within_a_word && end > kept.len() / 2);
    format!("{}…", kept[..words.unwrap_or(kept.len())].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_fits_and_is_seen_to_be() {
        assert_eq!(shortened(" as it is ", 8), "as it is");
        assert_eq!(shortened("as it is", 7), "as it…");
        assert_eq!(shortened("as it is", 5), "as i…");
        assert_eq!(shortened("tcpdump -i lo -w file", 16), "tcpdump -i lo…");
        assert_eq!(shortened("tcpdump -i lo -w file", 17), "tcpdump -i lo -w…");
        assert_eq!(shortened("µµµ", 2), "µ…");
        assert_eq!(shortened("abc", 0), "…");
    }
}
