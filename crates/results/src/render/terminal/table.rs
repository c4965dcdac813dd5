//! A plain table: numbers to the right, words to the left, two spaces between.

use super::page::printable;

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
}

/// A table with a header.
pub(super) struct Table {
    header: Vec<&'static str>,
    align: Vec<Align>,
    rows: Vec<Row>,
}

const GAP: usize = 2;

impl Table {
    /// A table with these columns.
    pub fn new(columns: &[(&'static str, Align)]) -> Self {
        Self {
            header: columns.iter().map(|c| c.0).collect(),
            align: columns.iter().map(|c| c.1).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row with a cell for each column.
    pub fn row<S: AsRef<str>>(&mut self, cells: &[S]) {
        let cells = cells.iter().map(|c| printable(c.as_ref())).collect();
        self.rows.push(Row { cells, across: None });
    }

    /// Adds a row whose text runs on across the columns after the first.
    pub fn row_across(&mut self, first: &str, text: &str) {
        self.rows.push(Row { cells: vec![printable(first)], across: Some(printable(text)) });
    }

    /// Adds a row whose last column is a text that is wrapped under itself.
    pub fn row_open<S: AsRef<str>>(&mut self, cells: &[S], text: &str) {
        let cells = cells.iter().map(|c| printable(c.as_ref())).collect();
        self.rows.push(Row { cells, across: Some(printable(text)) });
    }

    /// The columns that a last, open column may take on a page of that width.
    pub fn room(&self, width: usize) -> usize {
        width.saturating_sub(self.widths().iter().map(|w| w + GAP).sum::<usize>() + GAP)
    }

    /// The table line by line, two columns in; the first line is the header.
    pub fn lines(&self, width: usize) -> Vec<String> {
        let widths = self.widths();
        let header: Vec<String> = self.header.iter().map(|&h| h.to_owned()).collect();
        let mut lines = vec![self.set(&header, &widths)];
        for row in &self.rows {
            let line = self.set(&row.cells, &widths);
            match &row.across {
                None => lines.push(line),
                Some(text) => {
                    let inset = " ".repeat(line.chars().count() + GAP);
                    let options =
                        textwrap::Options::new(width).initial_indent(&inset).subsequent_indent(&inset);
                    for (i, part) in textwrap::wrap(text, options).iter().enumerate() {
                        let part = part.get(inset.len()..).unwrap_or_default();
                        let head = if i == 0 { format!("{line}{}", " ".repeat(GAP)) } else { inset.clone() };
                        lines.push(head + part);
                    }
                }
            }
        }
        lines
    }

    /// The width of each column; texts that run across do not count.
    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.header.iter().map(|h| h.chars().count()).collect();
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
        assert_eq!(table.lines(20), expected);
    }
}
