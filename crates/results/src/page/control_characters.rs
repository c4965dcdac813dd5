//! What a text from elsewhere may do to who reads it.

/// Whether a terminal would obey the character, or it changes how the text around it reads: control characters, the
/// ends of lines and paragraphs among them, and those that turn the direction of text (Unicode's `Bidi_Control`).
///
/// A record may come from anywhere, and must neither steer the terminal nor deceive its reader.
pub fn steers(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}')
}

/// The text without what steers a terminal or deceives its reader.
pub fn printable(text: &str) -> String {
    text.replace(steers, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_or_deceives_is_not_printed() {
        let text = "a\u{1b}b\u{9b}c\u{7f}d\ne\u{61c}f\u{200f}g\u{202e}h\u{2066}i\u{2028}µ \u{200d}é";
        assert_eq!(printable(text), "a b c d e f g h i µ \u{200d}é");
    }
}
