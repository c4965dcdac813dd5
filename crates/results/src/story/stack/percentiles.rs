//! The percentiles of the stack time, and the single messages.

use netfathom_model::record::{PathSummary, StackResult};
use netfathom_stats::Distribution;

use crate::page::{Look, Page, Series, Table};
use crate::story::curves::{by_percentile, single_trial};
use crate::story::number;

pub(super) fn draw(page: &mut Page, result: &StackResult) {
    if result.summaries.is_empty() {
        return;
    }
    page.heading("Percentiles of the stack time");
    let curves = result.summaries.iter().flat_map(|s| curves(result, s)).collect();
    page.chart(by_percentile("percentiles", "Stack time by percentile", curves));
    page.table(table(&result.summaries));
    page.samples("stack time");
}

/// Each trial of a direction, where there are several, and all of them.
fn curves(result: &StackResult, summary: &PathSummary) -> Vec<(Series, Distribution)> {
    let (name, paths) = (summary.direction.name(), super::paths(result, summary.direction));
    let single = paths.iter().filter(|_| paths.len() > 1);
    let single = single.map(|(t, path)| (single_trial(name, name, t.index), (&path.total).into()));
    single.chain([(Series::new(name, name, Look::Strong), (&summary.total).into())]).collect()
}

fn table(summaries: &[PathSummary]) -> Table {
    let mut table = Table::of("<|n|min|p50|p90|p99|p99.9|max");
    for summary in summaries {
        let cells = [summary.direction.name().to_owned(), number::count(summary.total.n)];
        table.row(cells.into_iter().chain(number::quantiles(&summary.total)));
    }
    table
}
