//! How punctual the load was: intervals beside what was wanted, and lag.

use crate::page::{Look, Page, Series, Table};
use netfathom_model::record::{Distribution, LoadResult, LoadTrial};
use netfathom_stats as stats;

use super::over_run;
use crate::story::{MOST_ROWS, curves, histogram, number, sender, trial_number};

/// Adds up what all loaded trials kept; `None` where there is nothing.
fn merged(result: &LoadResult, of: fn(&LoadTrial) -> &Distribution) -> Option<stats::Distribution> {
    Some(curves::merged(super::loaded(result).map(of))).filter(|all| all.moments.n > 0)
}

fn row(name: &str, d: &stats::Distribution, quantiles: &[f64]) -> Vec<String> {
    let mean = d.moments.mean().map_or_else(|| "-".into(), number::mean);
    let at = quantiles.iter().map(|&q| d.quantile(q).map_or_else(|| "-".into(), number::least));
    [name.to_owned(), mean].into_iter().chain(at).collect()
}

pub(super) fn intervals(page: &mut Page, result: &LoadResult) {
    let wanted = merged(result, |t| &t.wanted_intervals);
    let Some(achieved) = merged(result, |t| &t.intervals) else { return };
    page.heading("Intervals between neighboring messages of one worker");
    let of_wanted = wanted.as_ref().map(|d| (Series::new("wanted", "planned", Look::Area), d));
    let both = of_wanted.into_iter().chain([(Series::new("achieved", "rate", Look::Steps), &achieved)]);
    histogram::draw(page, "intervals", "Intervals, wanted and achieved", both.collect());
    let mut table = Table::of("<|mean|min|p50|p99|max");
    let quantiles = [0.0, 0.5, 0.99, 1.0];
    match &wanted {
        Some(wanted) => table.row(row("wanted", wanted, &quantiles)),
        None => table.row_across("wanted", "n/a: the plan has no two messages of one worker"),
    }
    table.row(row("achieved", &achieved, &quantiles));
    page.table(table);
}

/// The generator's own fault, a row a loaded trial.
pub(super) fn lag(page: &mut Page, result: &LoadResult) {
    let Some(all) = merged(result, |t| &t.load.lag) else { return };
    page.heading("Lag: actual minus intended send time");
    over_run::draw(page, result);
    let area = Series::new("lag", "lag", Look::Area);
    histogram::draw(page, "lags", "How late messages were sent", vec![(area, &all)]);
    let send_call = curves::merged(super::loaded(result).map(|t| &t.load.send_call));
    sender::lag(page, &all, &send_call);
    let mut table = Table::of("trial|mean|p50|p90|p99|p99.9|max");
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
            "<0: {} messages were sent before they were due; all statistics include them",
            number::count(all.histogram.negative())
        ));
    }
}
