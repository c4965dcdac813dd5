//! What a text from elsewhere may do to who reads it.

/// Whether a terminal would obey the character, or it changes how the text around it reads: control characters, the
/// ends of lines and paragraphs among them, and those that turn the direction of text (Unicode's `Bidi_Control`).
///
/// A record may come from anywhere, and must neither steer the terminal nor deceive its reader.
#[must_use]
pub fn steers(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}')
}
