//! A table of the source with our rows beside its own, in as many columns as the page has.

use crate::page::{Cell, Page, Table};
use netfathom_model::record::BesideTable;

use super::digits::{Shown, column};
use crate::story::MOST_ROWS;

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
    page.table(build(table, &rows));
    if rows.len() < total {
        page.note(&format!("… and {} more rows in the record", total - rows.len()));
        page.details(&format!("all {total} rows"), |page| page.table(build(table, &self::rows(table))));
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

fn build(table: &BesideTable, rows: &[Row]) -> Table {
    let mut drawn = Table::of("<").figures(&table.columns).wrapped_heads();
    for row in rows {
        let cells = [row.who.into()].into_iter().chain(row.cells.iter().map(|c| cell(c.as_ref())));
        if row.here { drawn.row_strong(cells) } else { drawn.row(cells) }
    }
    drawn
}

fn cell(shown: Option<&Shown>) -> Cell {
    let Some(shown) = shown else { return "-".into() };
    match &shown.half {
        None => (&shown.value).into(),
        Some(half) => Cell::Interval { value: shown.value.clone(), half: half.clone() },
    }
}
