//! How punctual the load was: intervals beside what was wanted, and lag.

use crate::page::{Align, Page, Table};
use netfathom_model::record::{Distribution, LoadResult, LoadTrial};
use netfathom_stats as stats;

use crate::story::{MOST_ROWS, number, trial_number};

/// Adds up what all loaded trials kept; `None` where there is nothing.
fn merged(result: &LoadResult, of: fn(&LoadTrial) -> &Distribution) -> Option<stats::Distribution> {
    let mut parts = super::loaded(result).map(of);
    let mut all = stats::Distribution::from(parts.next()?);
    // Histograms of another grain cannot be added bucket by bucket.
    let grain = all.histogram.grain();
    parts.filter(|d| d.grain == grain).for_each(|d| all.merge(&d.into()));
    (all.moments.n > 0).then_some(all)
}

fn row(name: &str, d: &stats::Distribution, quantiles: &[f64]) -> Vec<String> {
    let mean = d.moments.mean().map_or_else(|| "-".into(), number::mean);
    let at = quantiles.iter().map(|&q| d.quantile(q).map_or_else(|| "-".into(), number::least));
    [name.to_owned(), mean].into_iter().chain(at).collect()
}

/// The time between neighbouring departures.
pub(super) fn intervals(page: &mut Page, result: &LoadResult) {
    let wanted = merged(result, |t| &t.wanted_intervals);
    let Some(achieved) = merged(result, |t| &t.intervals) else { return };
    page.heading("Intervals: between neighbouring departures of one worker");
    let mut table = Table::new(&[
        ("", Align::Left),
        ("mean", Align::Right),
        ("min", Align::Right),
        ("p50", Align::Right),
        ("p99", Align::Right),
        ("max", Align::Right),
    ]);
    let quantiles = [0.0, 0.5, 0.99, 1.0];
    match &wanted {
        Some(wanted) => table.row(row("wanted", wanted, &quantiles)),
        None => table.row_across("wanted", "n/a: the plan wants no two messages of one worker"),
    }
    table.row(row("achieved", &achieved, &quantiles));
    page.table(table);
}

/// The generator's own fault, a row a loaded trial.
pub(super) fn lag(page: &mut Page, result: &LoadResult) {
    let Some(all) = merged(result, |t| &t.load.lag) else { return };
    page.heading("Lag: actual minus intended departure");
    let mut table = Table::new(&[
        ("trial", Align::Right),
        ("mean", Align::Right),
        ("p50", Align::Right),
        ("p90", Align::Right),
        ("p99", Align::Right),
        ("p99.9", Align::Right),
        ("max", Align::Right),
    ]);
    let quantiles = [0.5, 0.9, 0.99, 0.999, 1.0];
    for trial in super::loaded(result).take(MOST_ROWS) {
        table.row(row(&trial_number(trial.index), &(&trial.load.lag).into(), &quantiles));
    }
    if super::loaded(result).nth(1).is_some() {
        table.row(row("all", &all, &quantiles));
    }
    page.table(table);
    if all.histogram.negative() > 0 {
        page.note(&format!(
            "<0: {} messages left before they were due; they are kept in every number",
            number::count(all.histogram.negative())
        ));
    }
}
