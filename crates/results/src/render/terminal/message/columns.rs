//! A table with more columns than the page has room for: it goes on below itself, so that nothing
//! is cut.

use crate::render::terminal::page::Page;
use crate::render::terminal::table::{Align, Table};

/// A line of a wide table.
enum Line {
    Cells(Vec<String>),
    /// A name and a text across.
    Across(String, String),
}

/// Its first column stands in each part.
pub(super) struct Columns {
    heads: Vec<(String, Align)>,
    lines: Vec<Line>,
}

impl Columns {
    /// With its first column.
    pub fn new(first: &str, align: Align) -> Self {
        Self { heads: vec![(first.into(), align)], lines: Vec::new() }
    }

    /// Adds a column of figures. A line break in a heading makes it stand on several lines.
    pub fn column(&mut self, head: impl Into<String>) {
        self.heads.push((head.into(), Align::Right));
    }

    /// Adds a row with a cell for each column.
    pub fn row(&mut self, cells: Vec<String>) {
        self.lines.push(Line::Cells(cells));
    }

    /// Adds a row whose text runs on across the columns after the first.
    pub fn row_across(&mut self, first: &str, text: &str) {
        self.lines.push(Line::Across(first.into(), text.into()));
    }

    /// Draws it, in as many parts as it needs.
    pub fn draw(&self, page: &mut Page) {
        let mut from = 1;
        while from < self.heads.len() {
            let fits = |&to: &usize| self.part(from, to).width() <= page.width();
            // One column at least, or there would be no end.
            let to = (from + 2..=self.heads.len()).take_while(fits).last().unwrap_or(from + 1);
            if from > 1 {
                page.blank();
            }
            page.table(&self.part(from, to));
            from = to;
        }
    }

    /// The first column and those from one place up to another.
    fn part(&self, from: usize, to: usize) -> Table {
        let heads: Vec<(&str, Align)> =
            [0].into_iter().chain(from..to).map(|i| (self.heads[i].0.as_str(), self.heads[i].1)).collect();
        let mut table = Table::new(&heads);
        for line in &self.lines {
            match line {
                Line::Across(first, text) => table.row_across(first, text),
                Line::Cells(cells) => {
                    let some = [0].into_iter().chain(from..to).filter_map(|i| cells.get(i));
                    table.row(&some.collect::<Vec<_>>());
                }
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_stands_below() {
        let mut columns = Columns::new("bytes", Align::Right);
        for head in ["one", "two", "three"] {
            columns.column(head);
        }
        columns.row(["64", "11111111111", "22222222222", "33333333333"].map(String::from).to_vec());
        let mut page = Page::new(33, false);
        columns.draw(&mut page);
        let text = page.finish();
        assert!(text.lines().all(|line| line.chars().count() <= 33), "{text}");
        assert_eq!(text.matches("bytes").count(), 2, "{text}");
        for there in ["11111111111", "22222222222", "33333333333"] {
            assert_eq!(text.matches(there).count(), 1, "{text}");
        }
    }
}
