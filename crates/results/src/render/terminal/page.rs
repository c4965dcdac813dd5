//! A page that fills from the top: headings, wrapped text, tables.

use textwrap::Options;

use super::table::Table;

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
    color: bool,
}

impl Page {
    pub fn new(width: usize, color: bool) -> Self {
        Self { text: String::new(), width, color }
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn finish(self) -> String {
        self.text
    }

    /// A heading, with an empty line before it.
    pub fn heading(&mut self, text: &str) {
        self.blank();
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
        self.wrapped(Style::Plain, "  ", "  ", text);
    }

    /// Wrapped text that explains the table above it.
    pub fn note(&mut self, text: &str) {
        self.wrapped(Style::Faint, "  ", "    ", text);
    }

    /// One entry of a list.
    pub fn bullet(&mut self, text: &str) {
        self.wrapped(Style::Plain, "  - ", "    ", text);
    }

    /// A line under an entry of a list.
    pub fn detail(&mut self, text: &str) {
        self.wrapped(Style::Plain, "    ", "      ", text);
    }

    /// A named text under an entry whose label is as wide as that of a claim.
    pub fn aside(&mut self, name: &str, text: &str) {
        let first = format!("{:17}{name:<5}  ", "");
        let rest = " ".repeat(first.chars().count());
        self.wrapped(Style::Faint, &first, &rest, text);
    }

    /// Wrapped text behind a label that stands out.
    pub fn labelled(&mut self, style: Style, label: &str, text: &str) {
        let inset = " ".repeat(label.chars().count() + 2);
        let lines = self.wrap(&inset, &inset, text);
        for (i, line) in lines.iter().enumerate() {
            if i == 0 {
                let painted = self.paint(style, label);
                self.text.push_str(&format!("{painted}  {}\n", line.trim_start()));
            } else {
                self.line(Style::Plain, line);
            }
        }
    }

    /// A table; its header is set off, and the rows that are to be.
    pub fn table(&mut self, table: &Table) {
        for (line, strong) in table.lines(self.width) {
            self.line(if strong { Style::Strong } else { Style::Plain }, &line);
        }
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
        self.text.push_str(&painted);
        self.text.push('\n');
    }

    fn paint(&self, style: Style, text: &str) -> String {
        if self.color && style != Style::Plain && !text.is_empty() {
            format!("{}{text}\x1b[0m", style.escape())
        } else {
            text.to_owned()
        }
    }
}

/// The text without control characters: a record may come from anywhere, and must not
/// steer the terminal.
pub(super) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
