//! The generator's own fault.

use crate::page::{Align, Page, Table};
use netfathom_model::record::{StackResult, Trial, TrialKind};

use crate::story::pooled::merged;
use crate::story::{number, trial_number};

pub(super) fn draw(page: &mut Page, result: &StackResult) {
    let trials: Vec<&Trial> = super::of_kind(result, TrialKind::Measured).collect();
    let Some(worst) =
        trials.iter().max_by(|a, b| a.load.lag_p99_of_interval.total_cmp(&b.load.lag_p99_of_interval))
    else {
        return;
    };
    page.heading("Lag of the load: actual minus intended departure");
    let all = merged(trials.iter().map(|t| &t.load.lag));
    let q = |q| all.quantile(q).map_or_else(|| "-".into(), number::least);
    let missed: u64 = trials.iter().map(|t| t.load.missed_slots).sum();
    let sent: u64 = trials.iter().map(|t| t.load.sent).sum();
    let mut table = Table::new(&[
        ("p50", Align::Right),
        ("p99", Align::Right),
        ("max", Align::Right),
        ("worst p99 of the interval", Align::Right),
        ("missed slots", Align::Right),
    ]);
    table.row(&[
        q(0.5),
        q(0.99),
        q(1.0),
        format!("{} (trial {})", number::percent(worst.load.lag_p99_of_interval), trial_number(worst.index)),
        format!("{} of {}", number::count(missed), number::count(sent)),
    ]);
    page.table(table);
}
