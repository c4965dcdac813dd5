//! A plain table: numbers to the right, words to the left, two spaces between.

use super::page::printable;
use crate::render::markdown::escape;

/// Where the text of a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// A row: a cell a column, or fewer with a text across the rest of the width.
struct Row {
    cells: Vec<String>,
    across: Option<String>,
    strong: bool,
}

/// A table with a header.
pub(super) struct Table {
    header: Vec<String>,
    align: Vec<Align>,
    rows: Vec<Row>,
    /// Rows beyond the most.
    left_out: usize,
}

const GAP: usize = 2;

/// Rows of a table; the record may have a million.
const MOST_ROWS: usize = 2_000;

impl Table {
    /// A table with these columns. A line break in a heading makes it stand on several lines.
    pub fn new<S: AsRef<str>>(columns: &[(S, Align)]) -> Self {
        Self {
            header: columns.iter().map(|c| c.0.as_ref().to_owned()).collect(),
            align: columns.iter().map(|c| c.1).collect(),
            rows: Vec::new(),
            left_out: 0,
        }
    }

    /// Adds a row with a cell for each column.
    pub fn row<S: AsRef<str>>(&mut self, cells: &[S]) {
        self.push(cells, None, false);
    }

    /// Adds a row that is set off from the others.
    pub fn row_strong<S: AsRef<str>>(&mut self, cells: &[S]) {
        self.push(cells, None, true);
    }

    /// Adds a row whose text runs on across the columns after the first.
    pub fn row_across(&mut self, first: &str, text: &str) {
        self.push(&[first], Some(text), false);
    }

    /// Adds a row whose last column is a text that is wrapped under itself.
    pub fn row_open<S: AsRef<str>>(&mut self, cells: &[S], text: &str) {
        self.push(cells, Some(text), false);
    }

    fn push<S: AsRef<str>>(&mut self, cells: &[S], across: Option<&str>, strong: bool) {
        if self.rows.len() >= MOST_ROWS {
            self.left_out += 1;
            return;
        }
        let cells = cells.iter().map(|c| printable(c.as_ref())).collect();
        self.rows.push(Row { cells, across: across.map(printable), strong });
    }

    /// What is said under a table that has not all of its rows.
    pub fn cut(&self) -> Option<String> {
        (self.left_out > 0)
            .then(|| format!("{} more rows were left out here; the record has them all", self.left_out))
    }

    /// The columns of the page that the table takes; texts that run across do not count.
    pub fn width(&self) -> usize {
        self.widths().iter().map(|w| w + GAP).sum()
    }

    /// The columns that a last, open column may take on a page of that width.
    pub fn room(&self, width: usize) -> usize {
        width.saturating_sub(self.widths().iter().map(|w| w + GAP).sum::<usize>() + GAP)
    }

    /// The table line by line, two columns in, each with whether it is set off, as its header is.
    pub fn lines(&self, width: usize) -> Vec<(String, bool)> {
        let widths = self.widths();
        let mut lines: Vec<(String, bool)> =
            self.header_lines().iter().map(|cells| (self.set(cells, &widths), true)).collect();
        for row in &self.rows {
            let line = self.set(&row.cells, &widths);
            match &row.across {
                None => lines.push((line, row.strong)),
                Some(text) => lines.extend(run_on(&line, text, width).into_iter().map(|l| (l, row.strong))),
            }
        }
        lines
    }

    /// The table as Markdown, line by line. A text that runs on stands in the cell after the last one.
    pub fn markdown(&self) -> Vec<String> {
        let row = |cells: &[String]| format!("| {} |", cells.join(" | "));
        let header: Vec<String> = self.header.iter().map(|h| escape::inline(&h.replace('\n', " "))).collect();
        let marks: Vec<String> =
            self.align.iter().map(|a| if *a == Align::Left { ":--" } else { "--:" }.into()).collect();
        let mut lines = vec![row(&header), row(&marks)];
        for each in &self.rows {
            let strong = |cell: &String| match escape::inline(cell.trim()) {
                cell if each.strong && !cell.is_empty() => format!("**{cell}**"),
                cell => cell,
            };
            let mut cells: Vec<String> = each.cells.iter().map(strong).collect();
            let across = each.across.as_deref().map(escape::inline).unwrap_or_default();
            let (columns, filled) = (self.header.len(), cells.len());
            cells.resize(columns, String::new());
            let place = filled.min(columns.saturating_sub(1));
            if let (Some(cell), false) = (cells.get_mut(place), across.is_empty()) {
                *cell = format!("{cell} {across}").trim_start().to_owned();
            }
            lines.push(row(&cells));
        }
        lines
    }

    /// The headings line by line; a shorter one stands at the bottom, next to its numbers.
    fn header_lines(&self) -> Vec<Vec<String>> {
        let headings: Vec<Vec<&str>> = self.header.iter().map(|h| h.split('\n').collect()).collect();
        let height = headings.iter().map(Vec::len).max().unwrap_or(1);
        let at = |heading: &Vec<&str>, line: usize| {
            (line + heading.len()).checked_sub(height).map_or_else(String::new, |i| printable(heading[i]))
        };
        (0..height).map(|line| headings.iter().map(|h| at(h, line)).collect()).collect()
    }

    /// The width of each column; texts that run across do not count.
    fn widths(&self) -> Vec<usize> {
        let widest = |h: &String| h.split('\n').map(|l| l.chars().count()).max().unwrap_or(0);
        let mut widths: Vec<usize> = self.header.iter().map(widest).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(&row.cells) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths
    }

    fn set(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, &width), align) in cells.iter().zip(widths).zip(&self.align) {
            line.push_str(&" ".repeat(GAP));
            match align {
                Align::Left => line.push_str(&format!("{cell:<width$}")),
                Align::Right => line.push_str(&format!("{cell:>width$}")),
            }
        }
        line
    }
}

/// A text behind the cells of a line, wrapped under itself.
fn run_on(line: &str, text: &str, width: usize) -> Vec<String> {
    let inset = " ".repeat(line.chars().count() + GAP);
    let options = textwrap::Options::new(width).initial_indent(&inset).subsequent_indent(&inset);
    let parts = textwrap::wrap(text, options);
    let head = |i| if i == 0 { format!("{line}{}", " ".repeat(GAP)) } else { inset.clone() };
    parts.iter().enumerate().map(|(i, p)| head(i) + p.get(inset.len()..).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_across_is_wrapped_under_itself() {
        let mut table = Table::new(&[("stage", Align::Left), ("n", Align::Right)]);
        table.row(&["socket", "12"]);
        table.row_across("qdisc", "n/a: one two three four");
        let expected =
            ["  stage    n", "  socket  12", "  qdisc   n/a: one", "          two three", "          four"];
        assert_eq!(text(&table), expected);
    }

    #[test]
    fn a_short_heading_stands_next_to_its_numbers() {
        let mut table = Table::new(&[("who", Align::Left), ("mean,\nµs", Align::Right)]);
        table.row_strong(&["here", "1.2"]);
        assert_eq!(text(&table), ["        mean,", "  who      µs", "  here    1.2"]);
        assert!(table.lines(20).iter().all(|l| l.1));
    }

    fn text(table: &Table) -> Vec<String> {
        table.lines(20).into_iter().map(|l| l.0).collect()
    }
}
