//! A table of the source with our rows beside its own, in as many columns as the page has.

use netfathom_model::record::BesideTable;

use crate::render::beside::{Shown, column};
use crate::render::terminal::MOST_ROWS;
use crate::render::terminal::page::{Page, printable};
use crate::render::terminal::table::{Align, Table};

/// A longer name stands on a line of its own, above its numbers.
const LONGEST_NAME: usize = 32;

/// The same where the page has no room for names beside the numbers.
const SHORT_NAME: usize = 12;

/// A heading is not broken within a word that is no longer than this.
const LONGEST_HEADING: usize = 14;

/// Where half an interval stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Halves {
    Beside,
    Below,
}

/// How a table is laid out.
#[derive(Clone, Copy, Debug)]
struct Layout {
    halves: Halves,
    longest_name: usize,
}

/// The layouts, the roomiest first; what fits none of them is drawn in parts, in the first.
const LAYOUTS: [Layout; 3] = [
    Layout { halves: Halves::Beside, longest_name: LONGEST_NAME },
    Layout { halves: Halves::Below, longest_name: LONGEST_NAME },
    Layout { halves: Halves::Below, longest_name: SHORT_NAME },
];

/// One row as it is drawn.
struct Row<'a> {
    who: &'a str,
    here: bool,
    cells: Vec<Option<Shown>>,
}

pub(super) fn draw(page: &mut Page, table: &BesideTable) {
    page.heading(&table.title);
    if table.rows.is_empty() {
        page.text("n/a: it has no rows");
    }
    let all = rows(table);
    let total = all.len();
    let rows = kept(all);
    let columns: Vec<usize> = (0..table.columns.len()).collect();
    let width = page.width();
    let whole = LAYOUTS.map(|layout| build(table, &rows, &columns, layout));
    if let Some(fits) = whole.iter().find(|t| t.width() <= width) {
        page.table(fits);
    } else {
        in_parts(page, table, &rows);
    }
    if rows.len() < total {
        page.note(&format!("… and {} more rows in the record", total - rows.len()));
    }
    if rows.iter().any(|r| r.cells.iter().flatten().any(|c| c.half.is_some())) {
        page.note("±: half the 95 % interval between trials");
    }
    if let Some(note) = &table.note {
        page.note(note);
    }
}

fn rows(table: &BesideTable) -> Vec<Row<'_>> {
    let columns: Vec<Vec<Option<Shown>>> = (0..table.columns.len()).map(|i| column(table, i)).collect();
    let cells = |row: usize| columns.iter().map(|c| c[row].clone()).collect();
    table.rows.iter().enumerate().map(|(i, r)| Row { who: &r.who, here: r.here, cells: cells(i) }).collect()
}

/// The rows to draw: ours before all, for the source's are in print.
fn kept(rows: Vec<Row<'_>>) -> Vec<Row<'_>> {
    if rows.len() <= MOST_ROWS {
        return rows;
    }
    let here = rows.iter().filter(|r| r.here).count();
    let (mut of_source, mut of_here) = (MOST_ROWS.saturating_sub(here).max(4), MOST_ROWS);
    let keep = |row: &Row| {
        let left = if row.here { &mut of_here } else { &mut of_source };
        let keep = *left > 0;
        *left = left.saturating_sub(1);
        keep
    };
    rows.into_iter().filter(keep).collect()
}

/// As many columns at a time as the page has room for, the names before each.
fn in_parts(page: &mut Page, table: &BesideTable, rows: &[Row]) {
    let part = |from, to| build(table, rows, &(from..to).collect::<Vec<_>>(), LAYOUTS[0]);
    let mut from = 0;
    while from < table.columns.len() {
        let fits = |to: &usize| part(from, *to).width() <= page.width();
        let to = (from + 2..=table.columns.len()).take_while(fits).last().unwrap_or(from + 1);
        if from > 0 {
            page.blank();
        }
        page.table(&part(from, to));
        from = to;
    }
}

fn build(table: &BesideTable, rows: &[Row], columns: &[usize], layout: Layout) -> Table {
    let text = |row: &Row, column: usize| cell(row.cells[column].as_ref(), layout.halves);
    let widest = |column| rows.iter().map(|r| text(r, column).0.chars().count()).max().unwrap_or(0);
    let mut heads = vec![(String::new(), Align::Left)];
    heads.extend(columns.iter().map(|&c| (heading(&table.columns[c], widest(c)), Align::Right)));
    let mut drawn = Table::new(&heads);
    for row in rows {
        let (values, below): (Vec<String>, Vec<String>) = columns.iter().map(|&c| text(row, c)).unzip();
        let who = name(&mut drawn, row.who, layout.longest_name);
        let mut line = |first: String, rest: &[String]| {
            let cells = [&[first], rest].concat();
            if row.here { drawn.row_strong(&cells) } else { drawn.row(&cells) }
        };
        line(who, &values);
        if below.iter().any(|b| !b.is_empty()) {
            line(String::new(), &below);
        }
    }
    drawn
}

/// The name as it stands before the numbers; a long one was given a line of its own.
fn name(drawn: &mut Table, who: &str, longest: usize) -> String {
    if who.chars().count() <= longest {
        return who.to_owned();
    }
    drawn.row_across("", who);
    String::new()
}

/// The words of a heading over as many lines as keep it from being wider than its numbers.
fn heading(text: &str, widest: usize) -> String {
    let text = printable(text);
    let longest_word = text.split(' ').map(|w| w.chars().count()).max().unwrap_or(0);
    let width = widest.max(longest_word).clamp(8, LONGEST_HEADING.max(widest));
    textwrap::wrap(&text, width).join("\n")
}

/// What stands in the line, and what below it.
fn cell(cell: Option<&Shown>, halves: Halves) -> (String, String) {
    let Some(cell) = cell else { return ("-".into(), String::new()) };
    let value = cell.value.clone();
    match (&cell.half, halves) {
        (None, _) => (value, String::new()),
        (Some(half), Halves::Beside) => (format!("{value} ± {half}"), String::new()),
        (Some(half), Halves::Below) => (value, format!("± {half}")),
    }
}
