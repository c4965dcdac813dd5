//! `netfathom load send`: what left, how punctually, and what became of it.

mod echo;
mod engine;
mod over_run;
mod plan;
mod times;
mod trials;

use crate::page::Page;
use netfathom_model::record::{LoadResult, LoadSummary, LoadTrial, LoadTrialKind};

use super::accounting::Kept;
use super::{Body, accounting, counted, number, place::ends as place};

pub(super) fn body(result: &LoadResult) -> Body<'_> {
    let mut page = Page::default();
    engine::draw(&mut page, result);
    trials::draw(&mut page, result);
    trials::workers(&mut page, result);
    times::intervals(&mut page, result);
    times::lag(&mut page, result);
    echo::draw(&mut page, result);
    let kept = result.trials.iter().map(|t| Kept {
        index: t.index,
        kind: trials::kind(t.kind),
        load: &t.load,
        accounting: &t.accounting,
        captured: &[],
        verdict: &t.verdict,
    });
    accounting::draw(&mut page, &kept.collect::<Vec<_>>());
    Body {
        title: "The load that was made",
        done: there(result),
        page,
        plan: plan::words(&result.plan),
        left_out: &result.left_out,
    }
}

/// The trials of the plan's own load.
fn loaded(result: &LoadResult) -> impl Iterator<Item = &LoadTrial> {
    result.trials.iter().filter(|t| t.kind == LoadTrialKind::Loaded)
}

fn there(result: &LoadResult) -> String {
    format!("{} of {} loaded trials are there", loaded(result).count(), result.plan.trials)
}

/// Such as `205k/s ± 0.3k left, 99.9 % of the plan, none lost, lag p99 1.2 µs, over 3 trials, …`.
pub(super) fn answer(result: &LoadResult) -> String {
    let plan = &result.plan;
    let how = format!(
        "{}, {}, {} B, {}, {}",
        place(plan.place),
        plan.profile,
        plan.size_bytes,
        result.engine.name(),
        counted(plan.workers, "worker")
    );
    let Some(summary) = &result.summary else {
        return format!("no loaded trial is finished, so there is no answer yet; {how}");
    };
    let over = if summary.trials == 1 {
        "in 1 trial, so without an interval".into()
    } else {
        format!("over {} trials", summary.trials)
    };
    format!("{}, {over}, {how}", outcome(summary))
}

fn outcome(s: &LoadSummary) -> String {
    let lost = match s.lost {
        Some(0.0) => "none lost".into(),
        Some(lost) => format!("{} lost", number::percent(lost)),
        None => "losses unknown".into(),
    };
    let lag = if s.lag.n == 0 { "-".into() } else { number::least(s.lag.p99_ns) };
    format!(
        "{} left, {} of the plan, {lost}, lag p99 {lag}",
        number::rate_interval(s.reached_per_s, s.between_trials_per_s),
        number::percent_down(s.of_plan)
    )
}
