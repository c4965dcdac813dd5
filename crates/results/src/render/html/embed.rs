//! Putting data and code into a page without letting data become code.

use std::fmt::{self, Write as _};
use std::io::{self, Write};

use askama::filters::{Escaper, Html};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::page::steers;

/// Text in the page: no HTML, and nothing that steers its reader but the ends of lines.
#[derive(Clone, Copy)]
pub struct Harmless;

impl Escaper for Harmless {
    fn write_escaped_str<W: fmt::Write>(&self, dest: W, text: &str) -> fmt::Result {
        Html.write_escaped_str(dest, &text.replace(|c| c != '\n' && steers(c), " "))
    }
}

/// JSON that can stand in a `<script>` element: it cannot end the element, open a comment in it, break a line where
/// JavaScript would, or steer whoever reads the file.
pub fn json_for_script(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let json = serde_json::to_string(value)?;
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        // These characters only occur within strings, where the escape means the same.
        if matches!(c, '<' | '>' | '&') || steers(c) {
            let _ = write!(text, "\\u{:04x}", u32::from(c));
        } else {
            text.push(c);
        }
    }
    Ok(text)
}

/// Deflated bytes as text: letters, digits, `+`, `/` and `=`.
pub fn squeezed(bytes: &[u8]) -> io::Result<String> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    Ok(STANDARD.encode(encoder.finish()?))
}

/// The source expression of a content policy that allows exactly this text.
pub fn sha256_source(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_its_element() {
        let text = "</script><!-- \u{2028} & --> \u{202e}\u{9b}\u{7f}\n";
        let json = json_for_script(&text).unwrap();
        assert!(!json.contains(['<', '>', '&']) && !json.contains(steers), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }

    #[test]
    fn a_hash_is_what_browsers_expect() {
        // The example of the Content Security Policy specification.
        assert_eq!(
            sha256_source("alert('Hello, world.');"),
            "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"
        );
    }
}
