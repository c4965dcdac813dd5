//! The generator's own fault.

use crate::page::{Page, Table};
use netfathom_model::record::{StackResult, Trial, TrialKind};

use crate::story::curves::merged;
use crate::story::{number, sender, trial_number};

pub(super) fn draw(page: &mut Page, result: &StackResult) {
    let trials: Vec<&Trial> = super::of_kind(result, TrialKind::Measured).collect();
    let Some(worst) =
        trials.iter().max_by(|a, b| a.load.lag_p99_of_interval.total_cmp(&b.load.lag_p99_of_interval))
    else {
        return;
    };
    page.heading("Lag of the load: actual minus intended send time");
    let all = merged(trials.iter().map(|t| &t.load.lag));
    let q = |q| all.quantile(q).map_or_else(|| "-".into(), number::least);
    let missed: u64 = trials.iter().map(|t| t.load.missed_slots).sum();
    let sent: u64 = trials.iter().map(|t| t.load.sent).sum();
    let call = merged(trials.iter().map(|t| &t.load.send_call));
    sender::lag(page, &all, &call);
    let mut table = Table::of("p50|p99|max|worst p99, of a send slot|missed send slots");
    table.row(&[
        q(0.5),
        q(0.99),
        q(1.0),
        format!("{} (trial {})", number::percent(worst.load.lag_p99_of_interval), trial_number(worst.index)),
        format!("{} of {}", number::count(missed), number::count(sent)),
    ]);
    page.table(table);
    page.note("send slot: the time between two scheduled messages; missed: sent after the next one was due");
    page.details("each trial", |page| page.table(each(result)));
}

fn each(result: &StackResult) -> Table {
    let mut table = Table::of(
        "trial|<kind|lag mean|p99|max|p99 of send slot|missed send slots|unsent|send call mean|p99",
    );
    for t in &result.trials {
        let (lag, call) = (&t.load.lag, &t.load.send_call);
        table.row([
            trial_number(t.index),
            t.kind.name().into(),
            number::mean(lag.mean_ns),
            number::least(lag.p99_ns),
            number::least(lag.max_ns),
            number::percent(t.load.lag_p99_of_interval),
            number::count(t.load.missed_slots),
            number::count(t.load.unsent),
            number::mean(call.mean_ns),
            number::least(call.p99_ns),
        ]);
    }
    table
}
