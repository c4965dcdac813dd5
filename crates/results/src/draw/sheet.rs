//! Lines of a fixed width, for a terminal or as Markdown.

use netfathom_model::print::counted;

use super::{escape, grid, wrapping_of};
use crate::page::{Block, Page, Section, Style, Table, printable};

/// What a page takes at most, in bytes; a record may have a million of anything.
const MOST_BYTES: usize = 400_000;

/// A longer table is cut behind this row at the earliest.
const LEAST_ROWS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Medium {
    /// Wrapped at the width, without escapes.
    Plain,
    /// The same, with ANSI escapes.
    Colored,
    /// GitHub's Markdown, which the reader's program wraps.
    Markdown,
}

/// Verdicts have a background of their own: yellow and green letters are illegible on white.
fn escapes(style: Style) -> &'static str {
    match style {
        Style::Plain => "",
        Style::Strong => "\x1b[1m",
        Style::Good => "\x1b[30;42m",
        Style::Warning => "\x1b[30;43m",
        Style::Bad => "\x1b[1;31m",
        Style::Faint => "\x1b[2m",
    }
}

pub(super) struct Sheet {
    text: String,
    width: usize,
    medium: Medium,
    /// Lines that it has room for, and has.
    most_lines: usize,
    lines: usize,
    /// Lines that it had no room for.
    left_out: usize,
    /// Bytes and lines before a heading under which nothing stands yet.
    bare_heading: Option<(usize, usize)>,
}

impl Sheet {
    /// The page as text of at most `width` columns.
    pub fn draw(page: &Page, width: usize, medium: Medium) -> String {
        Self::without(0, page, width, usize::MAX, medium)
    }

    /// The same on at most `most_lines` lines, of a page that `omitted` lines were taken from.
    pub fn without(omitted: usize, page: &Page, width: usize, most_lines: usize, medium: Medium) -> String {
        let text = String::new();
        let mut sheet = Self { text, width, medium, most_lines, lines: 0, left_out: 0, bare_heading: None };
        page.lead.blocks.iter().for_each(|block| sheet.block(block));
        for section in page.sections.iter().filter(|section| !section.blocks.iter().all(Block::is_picture)) {
            if section.is_whole { sheet.whole(section) } else { sheet.section(section) }
        }
        sheet.left_out += omitted;
        sheet.finish()
    }

    fn section(&mut self, section: &Section) {
        self.heading(&section.title);
        section.blocks.iter().for_each(|block| self.block(block));
    }

    /// Draws all of a section, wherever it stands; it takes no room from the others.
    fn whole(&mut self, section: &Section) {
        let (left_out, most_lines, lines) = (self.left_out, self.most_lines, self.lines);
        (self.left_out, self.most_lines) = (0, usize::MAX);
        self.section(section);
        self.left_out += left_out;
        self.most_lines = most_lines.saturating_add(self.lines - lines);
    }

    fn finish(mut self) -> String {
        if self.left_out > 0 {
            let gap = if self.text.ends_with("\n\n") { "" } else { "\n" };
            let lines = counted(self.left_out, "more line");
            // Whoever prints a short view names below it what shows the rest.
            let is_whole = self.most_lines == usize::MAX;
            let where_from = if is_whole { " left out here; the record has all" } else { "" };
            self.text.push_str(&format!("{gap}{lines}{where_from}\n"));
        }
        self.text
    }

    fn is_markdown(&self) -> bool {
        self.medium == Medium::Markdown
    }

    fn heading(&mut self, text: &str) {
        self.bare_heading = Some((self.text.len(), self.lines));
        self.blank();
        if self.is_markdown() {
            return self.paragraph("## ", text);
        }
        self.wrapped(Style::Strong, "", "  ", text);
    }

    /// Draws a block; what is no table stands whole or not at all, a table with its first rows, and no heading without what it is
    /// of.
    fn block(&mut self, block: &Block) {
        let (had_room, before) = (self.left_out == 0, (self.text.len(), self.lines));
        self.lines_of(block);
        let is_cut = had_room && self.left_out > 0;
        let is_begun = self.text.len() > before.0;
        if is_cut && (!matches!(block, Block::Table(_)) || !is_begun) {
            let (bytes, lines) = self.bare_heading.filter(|_| !self.is_markdown()).unwrap_or(before);
            self.left_out += self.lines - lines;
            self.lines = lines;
            self.text.truncate(bytes);
        }
        if self.text.len() > before.0 {
            self.bare_heading = None;
        }
    }

    fn lines_of(&mut self, block: &Block) {
        match block {
            Block::Gap => self.blank(),
            Block::Table(table) => self.table(table),
            Block::Labelled { style, label, text } => self.labelled(*style, label, text),
            Block::Text { text } | Block::Note { text } if self.is_markdown() => self.paragraph("", text),
            Block::Text { text } => self.wrapped(Style::Plain, "  ", "  ", text),
            Block::Note { text } => self.wrapped(Style::Faint, "  ", "    ", text),
            Block::Item { text, details } if self.is_markdown() => {
                self.entry("", text);
                details.iter().for_each(|detail| self.entry("  ", detail));
            }
            Block::Item { text, details } => {
                self.wrapped(Style::Plain, "  - ", "    ", text);
                details.iter().for_each(|detail| self.wrapped(Style::Plain, "    ", "      ", detail));
            }
            Block::Aside { name, text } if self.is_markdown() => self.entry("", &format!("{name}: {text}")),
            Block::Aside { name, text } => {
                // As far in as the text of a claim.
                let first = format!("{:17}{name:<5}  ", "");
                let rest = " ".repeat(first.chars().count());
                self.wrapped(Style::Faint, &first, &rest, text);
            }
            Block::Bars(_)
            | Block::Chart(_)
            | Block::Waterfall(_)
            | Block::Samples { .. }
            | Block::Details { .. }
            | Block::Choice { .. }
            | Block::Nested { .. } => {}
        }
    }

    /// An empty line, unless the page starts here or has one already.
    fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
            self.lines += 1;
        }
    }

    fn labelled(&mut self, style: Style, label: &str, text: &str) {
        if self.is_markdown() {
            let text = if text.is_empty() { String::new() } else { format!(" {}", escape::inline(text)) };
            self.blank();
            self.put(&format!("**{}**{text}", escape::inline(label.trim())));
            return self.blank();
        }
        let label = printable(label);
        let inset = " ".repeat(label.chars().count() + 2);
        let lines = self.wrap(&inset, &inset, text);
        for (i, line) in lines.iter().enumerate() {
            if i == 0 {
                // A background ends with its words.
                let (words, from) = (label.trim(), label.len() - label.trim_start().len());
                let (before, after) = (&label[..from], &label[from + words.len()..]);
                self.put(&format!("{before}{}{after}  {}", self.paint(style, words), line.trim_start()));
            } else {
                self.line(Style::Plain, line);
            }
        }
    }

    /// A table; its header is set off, and the rows that are to be.
    fn table(&mut self, table: &Table) {
        if self.is_markdown() {
            self.blank();
            grid::markdown(table).iter().for_each(|line| self.put(line));
            self.blank();
        } else {
            self.lines_of_table(&grid::lines(table, self.width), table.rows.len());
        }
        if let Some(text) = table.cut() {
            self.block(&Block::Note { text });
        }
    }

    fn lines_of_table(&mut self, lines: &[(String, bool)], rows: usize) {
        let height = |of: &[(String, bool)]| of.iter().map(|line| line.0.split('\n').count()).sum::<usize>();
        let header = lines.iter().take_while(|(_, strong)| *strong).count();
        // Halves of intervals and long names take lines of their own.
        let lines_of_row = (lines.len() - header).div_ceil(rows.max(1));
        let least = lines.len().min(header + LEAST_ROWS * lines_of_row);
        if self.lines.saturating_add(height(&lines[..least])) > self.most_lines {
            self.left_out += height(lines);
            return;
        }
        for (line, strong) in lines {
            self.line(if *strong { Style::Strong } else { Style::Plain }, line);
        }
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
        let text = printable(text);
        let options = wrapping_of(&text, self.width).initial_indent(first).subsequent_indent(rest);
        textwrap::wrap(&text, options).into_iter().map(Into::into).collect()
    }

    fn line(&mut self, style: Style, text: &str) {
        let painted = self.paint(style, text.trim_end());
        self.put(&painted);
    }

    /// Whole, or not at all.
    fn put(&mut self, line: &str) {
        let lines = line.split('\n').count();
        if self.left_out > 0
            || self.lines + lines > self.most_lines
            || self.text.len() + line.len() > MOST_BYTES
        {
            self.left_out += lines;
            return;
        }
        self.text.push_str(line);
        self.text.push('\n');
        self.lines += lines;
    }

    fn paint(&self, style: Style, text: &str) -> String {
        if self.medium == Medium::Colored && style != Style::Plain && !text.is_empty() {
            format!("{}{text}\x1b[0m", escapes(style))
        } else {
            text.to_owned()
        }
    }
}
