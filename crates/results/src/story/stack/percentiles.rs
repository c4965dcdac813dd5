//! The percentiles of the stack time, and the single messages.

use netfathom_model::record::{PathSummary, StackResult};
use netfathom_stats::Distribution;

use crate::page::{Page, Series, Table};
use crate::story::curves::{by_percentile, single_trial};
use crate::story::distributions::read;
use crate::story::number;

pub(super) fn draw(page: &mut Page, result: &StackResult) {
    if result.summaries.is_empty() {
        return;
    }
    page.heading("Percentiles of the stack time");
    let curves: Vec<_> = result.summaries.iter().flat_map(|s| curves(result, s)).collect();
    let curves = curves.iter().map(|(series, d)| (series.clone(), d)).collect();
    if let Some(chart) = by_percentile("percentiles", "Stack time by percentile", curves) {
        page.chart(chart);
    }
    page.table(table(&result.summaries));
    page.samples("stack time");
}

/// Each trial of a direction, where there are several, and all of them.
fn curves(result: &StackResult, summary: &PathSummary) -> Vec<(Series, Distribution)> {
    let (name, paths) = (summary.direction.name(), super::paths(result, summary.direction));
    let single = paths.iter().filter(|_| paths.len() > 1);
    let single = single.map(|(t, path)| (single_trial(name, name, t.index), read(&path.total)));
    let all = Series { label: name.into(), color: name, ..Series::default() };
    single.chain([(all, read(&summary.total))]).collect()
}

fn table(summaries: &[PathSummary]) -> Table {
    let mut table = Table::of("<|n|min|p50|p90|p99|p99.9|max");
    for summary in summaries {
        let t = &summary.total;
        let q = |ns| number::quantile(t, ns);
        table.row(&[
            summary.direction.name().to_owned(),
            number::count(t.n),
            q(t.min_ns),
            q(t.p50_ns),
            q(t.p90_ns),
            q(t.p99_ns),
            q(t.p999_ns),
            q(t.max_ns),
        ]);
    }
    table
}
