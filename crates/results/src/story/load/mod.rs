//! `netfathom load send`: what left, how punctually, and what became of it.

mod echo;
mod engine;
mod over_run;
mod plan;
mod times;
mod trials;

use crate::page::Page;
use netfathom_model::record::{LoadResult, LoadTrial, LoadTrialKind};

use super::accounting::Kept;
use super::{Body, accounting, contention, counted, number, place::ends as place};

pub(super) fn body(result: &LoadResult) -> Body<'_> {
    let mut page = Page::default();
    echo::draw(&mut page, result);
    trials::draw(&mut page, result);
    engine::draw(&mut page, result);
    trials::workers(&mut page, result);
    times::intervals(&mut page, result);
    times::lag(&mut page, result);
    contention::draw(&mut page, loaded(result).map(|t| &t.load));
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
        remarks: remarks(result),
        plan: plan::words(&result.plan),
        left_out: &result.left_out,
    }
}

/// The trials of the plan's own load.
fn loaded(result: &LoadResult) -> impl Iterator<Item = &LoadTrial> {
    result.trials.iter().filter(|t| t.kind == LoadTrialKind::Loaded)
}

fn there(result: &LoadResult) -> String {
    format!("{} of {} loaded trials are finished", loaded(result).count(), result.plan.trials)
}

/// Such as `205k/s ± 0.3k sent, 99.9 % of the plan, none lost, late by 1.2 µs (p99)`.
pub(super) fn answer(result: &LoadResult) -> String {
    let Some(s) = &result.summary else {
        return "no loaded trial is finished, so there is no answer yet".into();
    };
    let lost = match s.lost {
        Some(0.0) => "none lost".into(),
        Some(lost) => format!("{} lost", number::percent(lost)),
        None => "losses unknown".into(),
    };
    let lag = if s.lag.n == 0 { "-".into() } else { number::least(s.lag.p99_ns) };
    format!(
        "{} sent, {} of the plan, {lost}, late by {lag} (p99)",
        number::rate_interval(s.reached_per_s, s.between_trials_per_s),
        number::percent_down(s.of_plan)
    )
}

/// How it was measured.
fn remarks(result: &LoadResult) -> Vec<String> {
    let (plan, engine) = (&result.plan, result.engine.name());
    let over = match result.summary.as_ref().map(|s| s.trials) {
        None => return Vec::new(),
        Some(1) => "1 trial (no interval)".into(),
        Some(trials) => format!("{trials} trials"),
    };
    let workers = counted(plan.workers, "worker");
    let (profile, size) = (&plan.profile, plan.size_bytes);
    let how = format!("{over} of {profile}, {size} B, {}, {engine}, {workers}", place(plan.place));
    let waits = contention::remarks(loaded(result).map(|t| &t.load), None);
    waits.into_iter().chain([how]).collect()
}
