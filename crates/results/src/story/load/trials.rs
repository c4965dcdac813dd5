//! A row a trial, and a row a worker.

use crate::page::{Page, Table};
use netfathom_model::accounting::Fate;
use netfathom_model::print::listed;
use netfathom_model::record::{LoadResult, LoadSummary, LoadTrial};

use crate::story::{MOST_ROWS, more, number, sender, trial_number};

pub(super) fn draw(page: &mut Page, result: &LoadResult) {
    if result.trials.is_empty() {
        return;
    }
    page.main("Trials");
    let loads: Vec<_> = super::loaded(result).map(|t| (t.index, &t.load)).collect();
    sender::rate(page, &result.plan.profile, &loads);
    let mut table = Table::of("trial|<kind|sent|reached|of plan|lost|missed slots|<verdict");
    for trial in result.trials.iter().take(MOST_ROWS) {
        table.row(row(result, trial));
    }
    if let Some(summary) = &result.summary {
        table.row(together(summary));
    }
    page.table(table);
    page.rest();
    more(page, result.trials.len(), "trial");
    if let Some(half) = result.summary.as_ref().and_then(|s| s.between_trials_per_s) {
        page.note(&format!(
            "reached: ± {} between the loaded trials, 95 % interval, Student's t",
            number::rate(half)
        ));
    }
    page.note("missed slots: messages sent after the next send slot began; send slot: the time of a full batch of the engine");
    if result.receive.is_none() {
        page.note("lost: unknown, the far end did not report what arrived");
    }
    reasons(page, result);
}

/// Why a trial is not VALID, under the table, since it has no room.
fn reasons(page: &mut Page, result: &LoadResult) {
    for trial in &result.trials {
        for reason in trial.verdict.shown() {
            let label = reason.label(trial.verdict.level);
            page.bullet(&format!("trial {}: {label}{}", trial_number(trial.index), reason.text));
        }
    }
}

fn row(result: &LoadResult, trial: &LoadTrial) -> [String; 8] {
    let load = &trial.load;
    let of_plan = if load.planned == 0 {
        "-".into()
    } else {
        number::percent_down(load.sent as f64 / load.planned as f64)
    };
    [
        trial_number(trial.index),
        trial.kind.name().into(),
        number::count(load.sent),
        number::rate(trial.reached_per_s),
        of_plan,
        result.receive.and_then(|_| lost(trial)).map_or_else(|| "-".into(), number::percent),
        number::count(load.missed_slots),
        trial.verdict.level.name().into(),
    ]
}

/// Messages that did not arrive, of those that left.
fn lost(trial: &LoadTrial) -> Option<f64> {
    let a = &trial.accounting;
    (a.sent > 0).then(|| a.sent.saturating_sub(a.count(&Fate::Delivered)) as f64 / a.sent as f64)
}

fn together(s: &LoadSummary) -> [String; 8] {
    [
        "all".into(),
        "loaded".into(),
        String::new(),
        number::rate(s.reached_per_s),
        number::percent_down(s.of_plan),
        s.lost.map_or_else(|| "-".into(), number::percent),
        String::new(),
        String::new(),
    ]
}

/// Each worker, the loaded trials added up. With one there is nothing to compare.
pub(super) fn workers(page: &mut Page, result: &LoadResult) {
    let most = super::loaded(result).map(|t| t.workers.len()).max().unwrap_or(0);
    if most == 0 {
        return;
    }
    page.heading("Workers, all loaded trials");
    let mut table = Table::of("worker|CPU|sent|worst lag p99|CPU a message|of its CPU");
    for i in 0..most.min(MOST_ROWS) {
        table.row(worker(result, i));
    }
    page.table(table);
    more(page, most, "worker");
    page.note("of its CPU: what its thread took, of the time between first and last message");
}

fn worker(result: &LoadResult, i: usize) -> [String; 6] {
    let parts: Vec<_> =
        super::loaded(result).filter_map(|t| t.workers.get(i).map(|w| (w, t.load.span_ns))).collect();
    let sent: u64 = parts.iter().map(|p| p.0.sent).sum();
    let cpu_ns: f64 = parts.iter().map(|p| p.0.cpu_ns as f64).sum();
    let span_ns: f64 = parts.iter().map(|p| p.1 as f64).sum();
    let mut cpus: Vec<usize> = parts.iter().map(|p| p.0.cpu).collect();
    cpus.dedup();
    let ratio = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    [
        (i + 1).to_string(),
        listed(cpus),
        number::count(sent),
        parts.iter().map(|p| p.0.lag_p99_ns).max().map_or_else(|| "-".into(), number::least),
        ratio(cpu_ns, sent as f64).map_or_else(|| "-".into(), number::mean),
        ratio(cpu_ns, span_ns).map_or_else(|| "-".into(), number::percent),
    ]
}
