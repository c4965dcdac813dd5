//! A table in letters. One that is too wide first moves halves of intervals below their values, then long names above
//! their figures, and at last goes on below itself, so that nothing is cut.

use super::bar::bar;
use super::{escape, wrapping_of};
use crate::page::{Align, Cell, Row, Table, printable};

const GAP: usize = 2;

/// Columns that an open text has beside a bar.
const OPEN: usize = 16;

/// A shorter bar shows nothing that its figure does not.
const LEAST_BAR: usize = 8;

/// A longer name stands above its figures where the table goes on below itself.
const LONGEST_NAME: usize = 32;

/// A heading that wraps is not broken within a word that is no longer than this.
const LONGEST_HEADING: usize = 14;

/// A line of the table: texts, and a text that runs on behind them.
struct Line {
    /// The row that it begins.
    row: Option<usize>,
    cells: Vec<String>,
    across: Option<String>,
    strong: bool,
}

/// The lines of a table of texts, two columns in, each with whether it is set off. One with a text that is wrapped under
/// itself is several.
pub(super) fn lines(table: &Table, width: usize) -> Vec<(String, bool)> {
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let whole = [false, true].map(|below| Grid::of(table, &all, width, below));
    if let Some(fits) = whole.iter().find(|grid| grid.width() <= width) {
        return fits.draw(width);
    }
    let [_, below] = whole;
    match below.room_for_names(width) {
        Some(room) => below.names_above(room).draw(width),
        None => in_parts(table, width),
    }
}

/// As many columns at a time as there is room for, the first column before each.
fn in_parts(table: &Table, width: usize) -> Vec<(String, bool)> {
    let part = |from: usize, to: usize| {
        let columns: Vec<usize> = [0].into_iter().chain(from..to).collect();
        Grid::of(table, &columns, width, false).names_above(LONGEST_NAME)
    };
    let (mut lines, mut from) = (Vec::new(), 1);
    while from < table.columns.len() {
        let fits = |&to: &usize| part(from, to).width() <= width;
        // One column at least, or there would be no end.
        let to = (from + 2..=table.columns.len()).take_while(fits).last().unwrap_or(from + 1);
        if from > 1 {
            lines.push((String::new(), false));
        }
        lines.extend(part(from, to).draw(width));
        from = to;
    }
    lines
}

/// Some columns of a table as texts.
struct Grid {
    header: Vec<String>,
    align: Vec<Align>,
    lines: Vec<Line>,
}

impl Grid {
    fn of(table: &Table, columns: &[usize], width: usize, below: bool) -> Self {
        let mut grid = Self {
            header: columns.iter().map(|&c| table.columns[c].head.clone()).collect(),
            align: columns.iter().map(|&c| table.columns[c].align).collect(),
            lines: table
                .rows
                .iter()
                .enumerate()
                .flat_map(|(i, row)| laid_out(i, row, columns, below))
                .collect(),
        };
        for (place, &column) in columns.iter().enumerate() {
            if table.columns[column].wraps {
                let widest =
                    grid.lines.iter().filter_map(|l| l.cells.get(place)).map(|c| c.chars().count()).max();
                grid.header[place] = wrapped_head(&grid.header[place], widest.unwrap_or(0));
            }
        }
        for (place, &column) in columns.iter().enumerate().rev() {
            if table.columns[column].longest_bar > 0 {
                grid.draw_bars(table, place, column, width);
            }
        }
        grid
    }

    /// Bars take what the others leave; where that is nothing, there are none.
    fn draw_bars(&mut self, table: &Table, place: usize, column: usize, width: usize) {
        let is_open =
            table.rows.iter().any(|row| row.across.is_some() && row.cells.len() + 1 == table.columns.len());
        let last = if is_open { self.widths().last().copied().unwrap_or(0) } else { OPEN };
        let room = width.saturating_sub(self.width() + OPEN.saturating_sub(last));
        let length = room.min(table.columns[column].longest_bar);
        if length < LEAST_BAR {
            self.header.remove(place);
            self.align.remove(place);
            self.lines.iter_mut().filter(|line| line.cells.len() > place).for_each(|line| {
                line.cells.remove(place);
            });
            return;
        }
        for line in &mut self.lines {
            let share = line.row.and_then(|row| table.rows[row].cells.get(column));
            if let (Some(text), Some(Cell::Bar { bar: share })) = (line.cells.get_mut(place), share) {
                *text = bar(*share, length);
            }
        }
    }

    /// The table with names above their figures where they have no room beside them.
    fn names_above(mut self, room: usize) -> Self {
        self.lines = self.lines.into_iter().flat_map(|line| above(line, room)).collect();
        self
    }

    /// What the figures leave for names; `None` where the first column is no name.
    fn room_for_names(&self, width: usize) -> Option<usize> {
        let rest = self.widths()[1..].iter().map(|w| w + GAP).sum::<usize>();
        let is_plain = self.lines.iter().all(|line| line.across.is_none());
        width.checked_sub(rest + GAP).filter(|_| is_plain && self.align.first() == Some(&Align::Left))
    }

    /// The columns of the page that it takes; texts that run across do not count.
    fn width(&self) -> usize {
        self.widths().iter().map(|w| w + GAP).sum()
    }

    /// The width of each column; texts that run across do not count.
    fn widths(&self) -> Vec<usize> {
        let widest = |h: &String| h.split('\n').map(|l| l.chars().count()).max().unwrap_or(0);
        let mut widths: Vec<usize> = self.header.iter().map(widest).collect();
        for line in &self.lines {
            for (width, cell) in widths.iter_mut().zip(&line.cells) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths
    }

    fn draw(&self, width: usize) -> Vec<(String, bool)> {
        let widths = self.widths();
        let mut lines: Vec<(String, bool)> =
            self.header_lines().iter().map(|cells| (self.set(cells, &widths), true)).collect();
        for each in &self.lines {
            let line = self.set(&each.cells, &widths);
            match &each.across {
                None => lines.push((line, each.strong)),
                Some(text) => lines.push((run_on(&line, text, width).join("\n"), each.strong)),
            }
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

/// The words of a heading over as many lines as keep it from being wider than its figures.
fn wrapped_head(text: &str, widest: usize) -> String {
    let text = printable(text);
    let longest_word = text.split(' ').map(|w| w.chars().count()).max().unwrap_or(0);
    let width = widest.max(longest_word).clamp(8, LONGEST_HEADING.max(widest));
    textwrap::wrap(&text, width).join("\n")
}

/// A row of some columns; a second line has the halves of its intervals where they stand below.
fn laid_out(place: usize, row: &Row, columns: &[usize], below: bool) -> Vec<Line> {
    let text = |cell: &Cell| match cell {
        Cell::Interval { value, half } if below => (printable(value), format!("± {}", printable(half))),
        cell => (printable(&cell.text()), String::new()),
    };
    let (cells, halves): (Vec<String>, Vec<String>) =
        columns.iter().filter_map(|&c| row.cells.get(c)).map(text).unzip();
    // It runs on behind the cells: beside columns that stand before it there is no room for it.
    let is_here = row.cells.len() <= columns.last().copied().unwrap_or(0);
    let across = row.across.as_deref().filter(|_| is_here).map(printable);
    let mut lines = vec![Line { row: Some(place), cells, across, strong: row.strong }];
    if halves.iter().any(|half| !half.is_empty()) {
        lines.push(Line { row: None, cells: halves, across: None, strong: row.strong });
    }
    lines
}

/// The line with its name above it, where that has no room.
fn above(line: Line, room: usize) -> Vec<Line> {
    if line.cells.first().is_none_or(|name| name.chars().count() <= room) {
        return vec![line];
    }
    let mut figures = line;
    let name = std::mem::take(&mut figures.cells[0]);
    vec![Line { row: None, cells: Vec::new(), across: Some(name), strong: false }, figures]
}

/// A text behind the cells of a line, wrapped under itself.
fn run_on(line: &str, text: &str, width: usize) -> Vec<String> {
    let inset = " ".repeat(line.chars().count() + GAP);
    let options = wrapping_of(text, width).initial_indent(&inset).subsequent_indent(&inset);
    let parts = textwrap::wrap(text, options);
    let head = |i| if i == 0 { format!("{line}{}", " ".repeat(GAP)) } else { inset.clone() };
    parts.iter().enumerate().map(|(i, p)| head(i) + p.get(inset.len()..).unwrap_or_default()).collect()
}

/// The table as Markdown, line by line. A text that runs on stands in the cell after the last one.
pub(super) fn markdown(table: &Table) -> Vec<String> {
    let shown: Vec<usize> = (0..table.columns.len()).filter(|&c| table.columns[c].longest_bar == 0).collect();
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let header: Vec<String> =
        shown.iter().map(|&c| escape::inline(&table.columns[c].head.replace('\n', " "))).collect();
    let marks: Vec<String> = shown
        .iter()
        .map(|&c| if table.columns[c].align == Align::Left { ":--" } else { "--:" }.into())
        .collect();
    let rows = table.rows.iter().map(|row| line(&markdown_cells(row, &shown)));
    [line(&header), line(&marks)].into_iter().chain(rows).collect()
}

fn markdown_cells(row: &Row, columns: &[usize]) -> Vec<String> {
    let strong = |cell: &Cell| match escape::inline(cell.text().trim()) {
        cell if row.strong && !cell.is_empty() => format!("**{cell}**"),
        cell => cell,
    };
    let mut cells: Vec<String> = columns.iter().filter_map(|&c| row.cells.get(c)).map(strong).collect();
    let across = row.across.as_deref().map(escape::inline).unwrap_or_default();
    let filled = cells.len();
    cells.resize(columns.len(), String::new());
    let place = filled.min(columns.len().saturating_sub(1));
    if let (Some(cell), false) = (cells.get_mut(place), across.is_empty()) {
        *cell = format!("{cell} {across}").trim_start().to_owned();
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_across_is_wrapped_under_itself() {
        let mut table = Table::of("<stage|n");
        table.row(["socket", "12"]);
        table.row_across("qdisc", "n/a: one two three four");
        let expected =
            ["  stage    n", "  socket  12", "  qdisc   n/a: one", "          two three", "          four"];
        assert_eq!(text(&table, 20), expected);
    }

    #[test]
    fn a_short_heading_stands_next_to_its_numbers() {
        let mut table = Table::of("<who|mean,\nµs");
        table.row_strong(["here", "1.2"]);
        assert_eq!(text(&table, 20), ["        mean,", "  who      µs", "  here    1.2"]);
        assert!(lines(&table, 20).iter().all(|l| l.1));
    }

    #[test]
    fn what_has_no_room_stands_below() {
        let mut table = Table::of("bytes|one|two|three");
        table.row(["64", "11111111111", "22222222222", "33333333333"]);
        let text = text(&table, 33).join("\n");
        assert!(text.lines().all(|line| line.chars().count() <= 33), "{text}");
        assert_eq!(text.matches("bytes").count(), 2, "{text}");
        for there in ["11111111111", "22222222222", "33333333333"] {
            assert_eq!(text.matches(there).count(), 1, "{text}");
        }
    }

    #[test]
    fn what_runs_on_has_its_heading_where_it_stands_below() {
        let mut table = Table::of("<name|one|two|<why");
        table.row_open(["a", "11111111111", "22222222222"], "a reason");
        let above = ["  name          one          two", "  a     11111111111  22222222222"];
        let below = ["", "  name  why", "  a     a reason"];
        assert_eq!(text(&table, 33), [&above[..], &below[..]].concat());
    }

    #[test]
    fn halves_and_names_make_room() {
        let mut table = Table::of("<who|mean");
        table.row([Cell::from("a name"), Cell::Interval { value: "1.18 µs".into(), half: "0.04".into() }]);
        assert_eq!(text(&table, 30), ["  who               mean", "  a name  1.18 µs ± 0.04"]);
        assert_eq!(text(&table, 20), ["  who        mean", "  a name  1.18 µs", "           ± 0.04"]);
        assert_eq!(text(&table, 14), ["  who     mean", "  a name", "       1.18 µs", "        ± 0.04"]);
    }

    fn text(table: &Table, width: usize) -> Vec<String> {
        lines(table, width).iter().flat_map(|l| l.0.split('\n')).map(str::to_owned).collect()
    }
}
