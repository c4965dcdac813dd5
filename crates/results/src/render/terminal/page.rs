//! A page that fills from the top: headings, wrapped text, tables; for a terminal or as Markdown.

use textwrap::Options;

use super::table::Table;
use crate::render::markdown::escape;
use crate::render::steers;

/// What a page takes at most, in bytes; a record may have a million of anything.
const MOST_BYTES: usize = 400_000;

/// What a page is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Medium {
    /// Wrapped at the width, without escapes.
    Plain,
    /// The same, with ANSI escapes.
    Coloured,
    /// GitHub's Markdown, which the reader's program wraps.
    Markdown,
}

/// How a piece of text is set off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Strong,
    Good,
    Warning,
    Bad,
    Faint,
}

impl Style {
    fn escape(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "\x1b[1m",
            Self::Good => "\x1b[1;32m",
            Self::Warning => "\x1b[1;33m",
            Self::Bad => "\x1b[1;31m",
            Self::Faint => "\x1b[2m",
        }
    }
}

/// A page of fixed width.
pub(super) struct Page {
    text: String,
    width: usize,
    medium: Medium,
    /// Lines that it had no room for.
    left_out: usize,
}

impl Page {
    pub fn new(width: usize, color: bool) -> Self {
        let medium = if color { Medium::Coloured } else { Medium::Plain };
        Self { text: String::new(), width, medium, left_out: 0 }
    }

    /// A page of Markdown. Tables that choose their columns by the width have this much.
    pub fn markdown(width: usize) -> Self {
        Self { text: String::new(), width, medium: Medium::Markdown, left_out: 0 }
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn finish(mut self) -> String {
        if self.left_out > 0 {
            self.text.push_str(&format!(
                "\n{} more lines were left out here; the record has them all\n",
                self.left_out
            ));
        }
        self.text
    }

    fn is_markdown(&self) -> bool {
        self.medium == Medium::Markdown
    }

    /// A heading, with an empty line before it.
    pub fn heading(&mut self, text: &str) {
        self.blank();
        if self.is_markdown() {
            return self.paragraph("## ", text);
        }
        self.wrapped(Style::Strong, "", "  ", text);
    }

    /// An empty line, unless the page starts here or has one already.
    pub fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// Wrapped text, two columns in.
    pub fn text(&mut self, text: &str) {
        if self.is_markdown() {
            return self.paragraph("", text);
        }
        self.wrapped(Style::Plain, "  ", "  ", text);
    }

    /// Wrapped text that explains the table above it.
    pub fn note(&mut self, text: &str) {
        if self.is_markdown() {
            return self.paragraph("", text);
        }
        self.wrapped(Style::Faint, "  ", "    ", text);
    }

    /// One entry of a list.
    pub fn bullet(&mut self, text: &str) {
        if self.is_markdown() {
            return self.entry("", text);
        }
        self.wrapped(Style::Plain, "  - ", "    ", text);
    }

    /// A line under an entry of a list.
    pub fn detail(&mut self, text: &str) {
        if self.is_markdown() {
            return self.entry("  ", text);
        }
        self.wrapped(Style::Plain, "    ", "      ", text);
    }

    /// A named text under an entry whose label is as wide as that of a claim.
    pub fn aside(&mut self, name: &str, text: &str) {
        if self.is_markdown() {
            return self.entry("", &format!("{name}: {text}"));
        }
        let first = format!("{:17}{name:<5}  ", "");
        let rest = " ".repeat(first.chars().count());
        self.wrapped(Style::Faint, &first, &rest, text);
    }

    /// Wrapped text behind a label that stands out.
    pub fn labelled(&mut self, style: Style, label: &str, text: &str) {
        if self.is_markdown() {
            let text = if text.is_empty() { String::new() } else { format!(" {}", escape::inline(text)) };
            self.blank();
            self.put(&format!("**{}**{text}", escape::inline(label.trim())));
            return self.blank();
        }
        let inset = " ".repeat(label.chars().count() + 2);
        let lines = self.wrap(&inset, &inset, text);
        for (i, line) in lines.iter().enumerate() {
            if i == 0 {
                let painted = self.paint(style, label);
                self.put(&format!("{painted}  {}", line.trim_start()));
            } else {
                self.line(Style::Plain, line);
            }
        }
    }

    /// A table; its header is set off, and the rows that are to be.
    pub fn table(&mut self, table: &Table) {
        if self.is_markdown() {
            self.blank();
            table.markdown().iter().for_each(|line| self.put(line));
            self.blank();
            return table.cut().iter().for_each(|cut| self.note(cut));
        }
        for (line, strong) in table.lines(self.width) {
            self.line(if strong { Style::Strong } else { Style::Plain }, &line);
        }
        table.cut().iter().for_each(|cut| self.note(cut));
    }

    /// A paragraph of Markdown, or a heading.
    fn paragraph(&mut self, mark: &str, text: &str) {
        self.blank();
        self.put(&format!("{mark}{}", escape::line(text)));
        self.blank();
    }

    /// An entry of a Markdown list; a list follows on the one before it, and on text with an empty line.
    fn entry(&mut self, inset: &str, text: &str) {
        let last = self.text.lines().next_back().unwrap_or("").trim_start();
        if !last.starts_with("- ") {
            self.blank();
        }
        self.put(&format!("{inset}- {}", escape::line(text)));
    }

    fn wrapped(&mut self, style: Style, first: &str, rest: &str, text: &str) {
        for line in self.wrap(first, rest, text) {
            self.line(style, &line);
        }
    }

    fn wrap(&self, first: &str, rest: &str, text: &str) -> Vec<String> {
        let options = Options::new(self.width).initial_indent(first).subsequent_indent(rest);
        textwrap::wrap(&printable(text), options).into_iter().map(Into::into).collect()
    }

    fn line(&mut self, style: Style, text: &str) {
        let painted = self.paint(style, text.trim_end());
        self.put(&painted);
    }

    fn put(&mut self, line: &str) {
        if self.text.len() + line.len() > MOST_BYTES {
            self.left_out += 1;
            return;
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn paint(&self, style: Style, text: &str) -> String {
        if self.medium == Medium::Coloured && style != Style::Plain && !text.is_empty() {
            format!("{}{text}\x1b[0m", style.escape())
        } else {
            text.to_owned()
        }
    }
}

/// The text without what steers a terminal or deceives its reader.
pub(in crate::render) fn printable(text: &str) -> String {
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
