//! What the program uses itself, beside what it takes from others.

use crate::page::{Page, Table, shortened};
use netfathom_model::record::{CostResult, Effect, Outcome};

use super::comparison::{condition_name, outcome};
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
    page.heading("What the program uses, and what it slows");
    if !result.program.is_empty() {
        table(page, result);
        more(page, result.program.len(), "condition");
        page.note("100 % is one CPU; the slowdown of a benchmark has its interval above");
    }
    notes.iter().for_each(|note| page.bullet(note));
}

fn table(page: &mut Page, result: &CostResult) {
    let benchmarks = || result.benchmarks.iter().take(MOST_BENCHMARKS);
    let taken = benchmarks().map(|b| format!("slows\n{}", shortened(&b.name, LONGEST_HEAD)));
    let mut table = Table::of("CPU|memory,\nat most").figures(taken).words(["condition"]);
    for used in result.program.iter().take(MOST_ROWS) {
        let mut cells = vec![
            used.processors.map_or_else(|| NOT_KNOWN.into(), number::percent),
            used.peak_rss_bytes.map_or_else(|| NOT_KNOWN.into(), |rss| bytes(rss as f64)),
        ];
        cells.extend(benchmarks().map(|b| {
            let takes = b.of_effect(Effect::Program).find(|c| c.condition == used.condition);
            takes.map_or_else(
                || "-".into(),
                |c| match c.outcome {
                    Outcome::Cost => number::percent(slowdown(c).value),
                    other => outcome(other).into(),
                },
            )
        }));
        table.row_open(&cells, &condition_name(result, used.condition));
    }
    page.table(table);
}
