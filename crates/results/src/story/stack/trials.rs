//! The papers' second table: a row a measured trial.

use crate::page::{Page, Table};
use netfathom_model::path::Direction;
use netfathom_model::record::StackResult;

use crate::story::{MOST_ROWS, more, number, trial_number};

pub(super) fn draw(page: &mut Page, result: &StackResult, direction: Direction) {
    let rows = super::paths(result, direction);
    if rows.is_empty() {
        return;
    }
    let mut table = Table::of("trial|packets|mean|min|max|S (if independent)");
    for (trial, path) in rows.iter().take(MOST_ROWS) {
        let t = &path.total;
        if t.n == 0 {
            table.row_across(&trial_number(trial.index), "n/a: no message was measured in this trial");
            continue;
        }
        table.row(&[
            trial_number(trial.index),
            number::count(t.n),
            number::mean(t.mean_ns),
            number::least(t.min_ns),
            number::time(t.max_ns),
            t.mean_error_ns.map_or_else(|| "-".into(), number::mean),
        ]);
    }
    page.table(table);
    more(page, rows.len(), "trial");
    page.note("S: mean error of one trial (Borodin 2014); assumes independence, which queued messages lack");
    if rows.windows(2).any(|w| w[0].0.index.checked_add(1) != Some(w[1].0.index)) {
        page.note("the trials between these are baselines and cross-checks");
    }
}
