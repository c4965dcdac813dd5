//! Text within Markdown that is neither Markdown nor HTML.

use crate::page::printable;

/// Put after what a wiki would take for a name to call or for a reference, and never seen.
const WORD_JOINER: char = '\u{2060}';

/// A text that may stand in the middle of a line or in a cell of a table.
pub fn inline(text: &str) -> String {
    let text = printable(text);
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '|' => escaped.push_str("&#124;"),
            '\\' => escaped.push_str("&#92;"),
            '`' | '*' | '_' | '[' | ']' | '~' | '$' | '#' | '!' => escaped.extend(['\\', c]),
            ':' if is_address_or_picture(rest.clone()) => escaped.push_str("\\:"),
            '@' => escaped.extend(['@', WORD_JOINER]),
            _ => escaped.push(c),
        }
    }
    // What begins so is a link without any other sign.
    escaped.replace("www.", "www\\.").replace("WWW.", "WWW\\.")
}

/// Whether what follows a colon makes it an address (`://`) or the name of a picture (`:name:`).
fn is_address_or_picture(rest: impl Iterator<Item = char>) -> bool {
    let mut rest = rest.peekable();
    if rest.peek() == Some(&'/') {
        return true;
    }
    let mut letters = 0;
    rest.find(|c| {
        letters += usize::from(c.is_ascii_alphabetic() || *c == '+');
        !(c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-'))
    }) == Some(':')
        && letters > 0
}

/// A text that stands at the beginning of a line, where more signs have a meaning.
pub fn line(text: &str) -> String {
    let text = inline(text.trim());
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    match text[digits..].chars().next() {
        Some('.' | ')') if digits > 0 => format!("{}\\{}", &text[..digits], &text[digits..]),
        Some('-' | '+' | '=') if digits == 0 => format!("\\{text}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_as_text_is_hardly_changed() {
        assert_eq!(
            inline("1.18 µs ± 39 ns (94 % of it), DEGRADED: why"),
            "1.18 µs ± 39 ns (94 % of it), DEGRADED: why"
        );
    }

    #[test]
    fn signs_lose_their_meaning() {
        assert_eq!(inline("<b>|[x](y)\\`*_"), "&lt;b&gt;&#124;\\[x\\](y)&#92;\\`\\*\\_");
        assert_eq!(inline("https://x www.y a@b"), "https\\://x www\\.y a@\u{2060}b");
        assert_eq!(
            [line("1. x"), line("- x"), line("# x"), line("12 x")],
            ["1\\. x", "\\- x", "\\# x", "12 x"]
        );
    }
}
