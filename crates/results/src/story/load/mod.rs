//! `netfathom load send`: what left, how punctually, and what became of it.

mod echo;
mod engine;
mod over_run;
mod plan;
mod times;
mod trials;

use crate::page::Page;
use netfathom_model::print::Scale;
use netfathom_model::record::{LoadResult, LoadSummary, LoadTrial, LoadTrialKind};
use netfathom_model::verdict::{Level, Part, Verdict};

use super::accounting::Kept;
use super::{
    Body, Story, accounting, contention, counted, number,
    place::{Site, ends as place},
};

impl Story for LoadResult {
    fn body(&self) -> Body<'_> {
        let mut page = Page::default();
        echo::draw(&mut page, self);
        trials::draw(&mut page, self);
        engine::draw(&mut page, self);
        trials::workers(&mut page, self);
        times::intervals(&mut page, self);
        times::lag(&mut page, self);
        contention::draw(&mut page, loaded(self).flat_map(|t| &t.load.contention));
        let kept = self.trials.iter().map(|t| Kept {
            index: t.index,
            kind: t.kind.name(),
            load: &t.load,
            accounting: &t.accounting,
            captured: &[],
            verdict: &t.verdict,
        });
        accounting::draw(&mut page, &kept.collect::<Vec<_>>());
        Body {
            title: "Load generator".into(),
            done: finished(self),
            page,
            remarks: remarks(self),
            plan: plan::words(&self.plan),
            left_out: &self.left_out,
        }
    }

    /// Such as `205k/s ± 0.3k sent, 99.9 % of the plan, none lost, late by 1.2 µs (p99)`.
    fn answer(&self) -> String {
        let Some(s) = &self.summary else {
            return "no loaded trial is finished, so there is no answer yet".into();
        };
        format!(
            "{} sent, {} of the plan, {}, {}",
            Scale::Rate.interval(s.reached_per_s, s.between_trials_per_s),
            number::percent_down(s.of_plan),
            s.lost.map_or_else(|| "losses unknown".into(), losses),
            late(s)
        )
    }

    fn usable(&self, verdict: &Verdict) -> Vec<String> {
        let Some(s) = &self.summary else { return Vec::new() };
        let parts = [(Part::Loss, s.lost.map(losses)), (Part::Lateness, (s.lag.n > 0).then(|| late(s)))];
        let holds = parts.into_iter().filter(|(part, _)| verdict.of(*part) < Level::Void);
        holds.filter_map(|(_, words)| words).collect()
    }

    fn is_of_values(&self) -> bool {
        self.summary.is_some()
    }

    fn site(&self) -> Site {
        Site::At(self.plan.place)
    }
}

fn losses(lost: f64) -> String {
    if lost == 0.0 { "none lost".into() } else { format!("{} lost", number::percent(lost)) }
}

fn late(summary: &LoadSummary) -> String {
    let lag = &summary.lag;
    format!("late by {} (p99)", if lag.n == 0 { "-".into() } else { number::least(lag.p99_ns) })
}

/// The trials of the plan's own load.
fn loaded(result: &LoadResult) -> impl Iterator<Item = &LoadTrial> {
    result.trials.iter().filter(|t| t.kind == LoadTrialKind::Loaded)
}

fn finished(result: &LoadResult) -> String {
    format!("{} of {} loaded trials are finished", loaded(result).count(), result.plan.trials)
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
    let waits = contention::remarks(loaded(result).flat_map(|t| &t.load.contention), None);
    waits.into_iter().chain([how]).collect()
}
