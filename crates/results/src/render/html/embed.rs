//! Putting data and code into a page without letting data become code.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// JSON that can stand in a `<script>` element: it cannot end the element, open a comment
/// in it, or break a line where JavaScript would.
pub fn json_for_script(value: &impl Serialize) -> Result<String, serde_json::Error> {
    // These characters only occur within strings, where the escape means the same.
    Ok(serde_json::to_string(value)?
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029"))
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
        let json = json_for_script(&"</script><!-- \u{2028} & -->").unwrap();
        assert!(!json.contains(['<', '>', '&', '\u{2028}']), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), "</script><!-- \u{2028} & -->");
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
