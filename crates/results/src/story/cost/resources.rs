//! What was taken, by resource.

use crate::page::{Axis, Bar, Page, Table};
use netfathom_model::print::Scale;
use netfathom_model::record::{Comparison, CostBenchmark, CostResult, Taken};

use super::comparison::difference;
use super::{charts, more, notes, pair_name};
use crate::story::MOST_ROWS;

pub(super) fn draw(page: &mut Page, result: &CostResult, benchmark: &CostBenchmark, comparison: &Comparison) {
    if !comparison.taken.is_empty() {
        let what = pair_name(result, benchmark, comparison);
        page.heading(&format!("What was taken, by resource, a trial: {what}"));
        fill(page, comparison);
    }
}

/// Bars of the times, and a table of all.
pub(super) fn fill(page: &mut Page, comparison: &Comparison) {
    let all = || comparison.taken.iter().take(MOST_ROWS);
    let bar = |taken: &Taken| {
        let more = difference(comparison, taken);
        let bar = charts::bar(taken.resource.name(), comparison.effect, more, !more.beyond_chance());
        Bar { text: more.amount(taken.resource), ..bar }
    };
    let times = all().filter(|taken| taken.resource.scale() == Scale::Time);
    page.bars(charts::beside_zero(Axis::Time, "More time, by resource", times.map(bar).collect()));
    let mut table = Table::of("<resource|without|with|difference|<");
    for taken in all() {
        let difference = difference(comparison, taken);
        let mut cells = vec![taken.resource.name().to_owned()];
        cells.extend([taken.before, taken.after].map(|value| taken.resource.scale().text(value)));
        cells.push(difference.amount(taken.resource));
        if difference.beyond_chance() {
            cells.push("*".into());
            table.row_strong(&cells);
        } else {
            table.row(&cells);
        }
    }
    page.table(table);
    more(page, comparison.taken.len(), "resource");
    page.note(notes::taken_note(comparison));
}
