//! What the program uses itself, beside what it takes from others.

use crate::page::{Page, Table, shortened};
use netfathom_model::record::CostResult;

use super::comparison::{condition_name, takes};
use super::figure::slowdown;
use super::{more, notes};
use crate::story::{MOST_ROWS, number};
use netfathom_model::print::{NOT_KNOWN, bytes};

/// Benchmarks that have a column.
const MOST_BENCHMARKS: usize = 3;

/// Letters of a benchmark over its column.
const LONGEST_HEAD: usize = 14;

pub(super) fn draw(page: &mut Page, result: &CostResult) {
    let notes = notes::program_notes(result);
    if result.program.is_empty() && notes.is_empty() {
        return;
    }
    page.heading("What the program uses, and what it takes from others");
    if !result.program.is_empty() {
        table(page, result);
        more(page, result.program.len(), "condition");
        page.note(
            "100 % is one CPU; what it takes is the slowdown of the benchmark, with its interval above",
        );
    }
    for note in notes {
        page.bullet(&note);
    }
}

fn table(page: &mut Page, result: &CostResult) {
    let benchmarks = || result.benchmarks.iter().take(MOST_BENCHMARKS);
    let taken = benchmarks().map(|b| format!("takes from\n{}", shortened(&b.name, LONGEST_HEAD)));
    let mut table = Table::of("CPU|memory,\nat most").figures(taken).words(["condition"]);
    for used in result.program.iter().take(MOST_ROWS) {
        let mut cells = vec![
            used.processors.map_or_else(|| NOT_KNOWN.into(), number::percent),
            used.peak_rss_bytes.map_or_else(|| NOT_KNOWN.into(), |rss| bytes(rss as f64)),
        ];
        cells.extend(benchmarks().map(|b| {
            takes(b, used.condition).map_or_else(|| "-".into(), |c| number::percent(slowdown(c).value))
        }));
        table.row_open(&cells, &condition_name(result, used.condition));
    }
    page.table(table);
}
