//! How much a record may hold: numbers that can be added up, and bytes that fit into memory.
//!
//! Whoever draws, compares or exports a record adds counts of it, and takes times from each other. With these bounds,
//! kept by all records that netfathom writes, no sum of counts and no difference of two times leaves its type. Sums of
//! many times may, and are made in wider ones.

use std::io::{self, Read};

/// What a record may take in bytes: the longest plan, a thousand trials with as many beside them, makes some 600 MB.
pub const MOST_RECORD_BYTES: u64 = 1 << 30;

/// What a time may be in nanoseconds, either way, and all other whole numbers together: half of what an `i64` holds, and
/// 146 years.
const MOST: u128 = (1 << 62) - 1;
/// Numbers of any size: what is read by others alone, limits and seeds that a user may choose, clocks of others, and sums in wider types.
const OF_ANY_SIZE: [&[u8]; 10] = [
    b"points",
    b"seed",
    b"cpu",
    b"cpus",
    b"buffers",
    b"most_bytes",
    b"buffer_address",
    b"span_ns",
    b"sum_ns",
    b"sum_sq_ns2",
];

/// All that there is to read, if it is not too much for a record.
pub(super) fn read_to_end(from: impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut json = Vec::new();
    let bytes = from.take(MOST_RECORD_BYTES + 1).read_to_end(&mut json)?;
    Ok((bytes as u64 <= MOST_RECORD_BYTES).then_some(json))
}

/// The first whole number of a record that is beyond all measure, by its name. The text is valid JSON.
pub(super) fn excess(json: &[u8]) -> Option<String> {
    let mut name: &[u8] = b"";
    let mut counts: u128 = 0;
    let mut at = 0;
    while let Some(&byte) = json.get(at) {
        let rest = &json[at..];
        let length = match byte {
            b'"' => string_bytes(rest),
            b'-' | b'0'..=b'9' => rest.iter().take_while(|b| is_of_number(**b)).count(),
            _ => 1,
        };
        let token = &rest[..length];
        at += length;
        if byte == b'"' {
            if rest[length..].trim_ascii_start().first() == Some(&b':') {
                name = &token[1..length - 1];
            }
        } else if let Some(whole) = whole_number(token).filter(|_| !OF_ANY_SIZE.contains(&name)) {
            let is_time = name.ends_with(b"_ns");
            counts = counts.saturating_add(if is_time { 0 } else { whole });
            if whole > MOST || counts > MOST {
                let [name, number] = [name, token].map(String::from_utf8_lossy);
                let what =
                    if is_time { "is no time" } else { "is no count, or too much together with all others" };
                return Some(format!("`{name}`: {number} {what}"));
            }
        }
    }
    None
}

/// The length of the string that this begins with, its quotes included.
fn string_bytes(json: &[u8]) -> usize {
    let mut at = 1;
    while let Some(&byte) = json.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    json.len()
}

fn is_of_number(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')
}

/// How far a whole number is from 0; `None` of any other token.
fn whole_number(token: &[u8]) -> Option<u128> {
    let digits = token.strip_prefix(b"-").unwrap_or(token);
    let is_whole = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_whole.then(|| str::from_utf8(digits).ok()?.parse().ok()).map(|whole| whole.unwrap_or(u128::MAX))
}
