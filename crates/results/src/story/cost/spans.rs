//! From mark to mark: where the time goes.

use crate::page::{Axis, Bars, Page, Table, shortened};
use netfathom_model::print::NOT_KNOWN;
use netfathom_model::record::{Comparison, CostBenchmark, CostResult, Outcome};

use super::comparison::{self, change, span_name};
use super::{charts, more, pair_name};
use crate::story::{MOST_ROWS, number};

/// Letters of a span's name: marks may be whole paths.
const LONGEST_NAME: usize = 120;

pub(super) fn draw(page: &mut Page, result: &CostResult, benchmark: &CostBenchmark, comparison: &Comparison) {
    if !comparison.spans.is_empty() {
        page.heading(&format!("From mark to mark: {}", pair_name(result, benchmark, comparison)));
        fill(page, benchmark, comparison);
    }
}

/// How much longer each span takes, as bars and as a table.
pub(super) fn fill(page: &mut Page, benchmark: &CostBenchmark, comparison: &Comparison) {
    let named = || {
        let spans = comparison.spans.iter().enumerate().take(MOST_ROWS);
        spans.map(|(place, span)| (span_name(benchmark, place), span))
    };
    let bar = |(name, span): (String, _)| {
        let change = change(comparison, span)?;
        Some(charts::bar(&name, comparison.effect, change, charts::is_chance(span.outcome)))
    };
    let bars = named().filter_map(bar).collect();
    let bars = charts::beside_zero(Axis::Share, "How much longer each span takes", bars);
    page.bars(Bars { whiskers: "99 % intervals", ..bars });
    let mut table = Table::of("without|with|change|<outcome|<span");
    for (name, span) in named() {
        let cells = [
            number::mean(span.before_ns),
            number::mean(span.after_ns),
            change(comparison, span).map_or_else(|| NOT_KNOWN.into(), |c| c.percent()),
            outcome(span.outcome).into(),
        ];
        table.row_open(cells, &shortened(&name, LONGEST_NAME));
    }
    page.table(table);
    let has = |outcome| comparison.spans.iter().any(|span| span.outcome == outcome);
    let is_open = has(Outcome::CannotTell) && comparison.smallest.is_some();
    let notes = [
        (has(Outcome::NoCost), "-: not significant"),
        (has(Outcome::Cost), "each interval by itself, not corrected for the number of spans"),
        (is_open, "inconclusive: a slowdown of over 25 % is possible"),
    ];
    let notes: Vec<&str> = notes.into_iter().filter(|(is, _)| *is).map(|(_, note)| note).collect();
    if !notes.is_empty() {
        page.note(&notes.join("; "));
    }
    more(page, comparison.spans.len(), "span");
    let most = comparison::most_taken(benchmark, comparison);
    if let (false, Some(slowed)) = (benchmark.resources.is_empty(), most) {
        let (phase, change) = (shortened(&slowed.title(), LONGEST_NAME), slowed.change.percent());
        let together = comparison::slowed_part(benchmark, comparison).map_or_else(String::new, |_| {
            format!(", an interval that is corrected for {} phases", comparison.spans.len())
        });
        page.text(&format!("slowed most: {phase}: {change}{together}"));
    }
}

fn outcome(outcome: Outcome) -> &'static str {
    if outcome == Outcome::NoCost { "-" } else { comparison::outcome(outcome) }
}
