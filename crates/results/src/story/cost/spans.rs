//! From mark to mark: where the time goes.

use crate::page::{Align, Page, Table, shortened};
use netfathom_model::record::{Comparison, CostBenchmark, CostResult, Outcome};

use super::{beside, more};
use crate::story::MOST_ROWS;
use crate::story::costed::{self, NOT_KNOWN};

/// Letters of a span's name: marks may be whole paths.
const LONGEST_NAME: usize = 120;

pub(super) fn draw(page: &mut Page, result: &CostResult, benchmark: &CostBenchmark, comparison: &Comparison) {
    if comparison.spans.is_empty() {
        return;
    }
    page.heading(&format!("From mark to mark: {}", beside(result, benchmark, comparison)));
    let right = ["before", "after", "change"].map(|head| (head, Align::Right));
    let by_resource = !benchmark.resources.is_empty();
    let left = [("outcome", Align::Left), ("span", Align::Left)];
    let mut table = Table::new(&right.into_iter().chain(left).collect::<Vec<_>>());
    for (place, span) in comparison.spans.iter().enumerate().take(MOST_ROWS) {
        let cells = [
            costed::time(span.before_ns),
            costed::time(span.after_ns),
            costed::change(comparison, span).map_or_else(|| NOT_KNOWN.into(), |c| c.percent()),
            outcome(span.outcome).into(),
        ];
        table.row_open(&cells, &shortened(&costed::span_name(benchmark, place), LONGEST_NAME));
    }
    page.table(table);
    more(page, comparison.spans.len());
    if let (true, Some((name, change))) = (by_resource, costed::most_taken(benchmark, comparison)) {
        page.text(&format!("most is taken from {} ({})", shortened(&name, LONGEST_NAME), change.percent()));
    }
}

/// A span in which nothing was seen is not worth a word.
fn outcome(outcome: Outcome) -> &'static str {
    if outcome == Outcome::NoCost { "-" } else { costed::outcome(outcome) }
}
