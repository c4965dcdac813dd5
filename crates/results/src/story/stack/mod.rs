//! `netfathom stack`: the two tables of the papers, the stages, and what stands for the
//! numbers.

mod cost;
mod lag;
mod over_run;
mod percentiles;
mod plan;
mod stages;
mod summary;
mod taps;
mod trials;
mod waterfall;

use crate::page::Page;
use netfathom_model::path::Direction;
use netfathom_model::record::{PathSummary, PathTimes, StackResult, Trial, TrialKind};

use super::accounting::Kept;
use super::{Body, accounting, number, place::ends as place, sender};

pub(super) fn body(result: &StackResult) -> Body<'_> {
    let mut page = Page::default();
    for (i, summary) in result.summaries.iter().enumerate() {
        page.heading(summary::title(summary.direction));
        waterfall::draw(&mut page, summary);
        if i == 0 {
            let loads: Vec<_> = of_kind(result, TrialKind::Measured).map(|t| (t.index, &t.load)).collect();
            sender::rate(&mut page, &result.plan.profile, &loads);
        }
        over_run::draw(&mut page, result, summary.direction);
        trials::draw(&mut page, result, summary.direction);
        summary::draw(&mut page, summary);
        stages::draw(&mut page, summary);
    }
    percentiles::draw(&mut page, result);
    let kept = result.trials.iter().map(|t| Kept {
        index: t.index,
        kind: kind(t.kind),
        load: &t.load,
        accounting: &t.accounting,
        captured: &t.captured,
        verdict: &t.verdict,
    });
    accounting::draw(&mut page, &kept.collect::<Vec<_>>());
    taps::draw(&mut page, result);
    cost::self_cost(&mut page, result);
    cost::witnesses(&mut page, result);
    lag::draw(&mut page, result);
    Body {
        title: "Time in the network stack",
        done: there(result),
        page,
        plan: plan::words(&result.plan),
        left_out: &result.left_out,
    }
}

fn kind(kind: TrialKind) -> &'static str {
    match kind {
        TrialKind::Measured => "measured",
        TrialKind::Control => "control",
        TrialKind::Witness => "witness",
        TrialKind::Alternating => "alternating",
    }
}

/// The measured trials of a direction.
fn paths(result: &StackResult, direction: Direction) -> Vec<(&Trial, &PathTimes)> {
    of_kind(result, TrialKind::Measured)
        .filter_map(|t| t.paths.iter().find(|p| p.direction == direction).map(|p| (t, p)))
        .collect()
}

/// The trials of one kind.
fn of_kind(result: &StackResult, kind: TrialKind) -> impl Iterator<Item = &Trial> {
    result.trials.iter().filter(move |t| t.kind == kind)
}

fn there(result: &StackResult) -> String {
    let done = of_kind(result, TrialKind::Measured).count();
    format!("{done} of {} measured trials are there", result.plan.trials)
}

/// Where most of the time goes: ` (87 % in socket)`.
fn most_of(summary: &PathSummary) -> String {
    let inside = summary.stages.iter().filter(|s| s.inside).filter_map(|s| Some((s.stage, s.share?)));
    let most = inside.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|most| most.1 > 0.0);
    most.map_or_else(String::new, |(stage, share)| format!(" ({:.0} % in {})", share * 100.0, stage.name()))
}

/// Such as `tx 1.21 µs ± 0.04 (87 % in socket), rx 8.4 µs ± 0.3 (51 % in wakeup) per message over 10 trials, lab, …`.
pub(super) fn answer(result: &StackResult) -> String {
    let plan = &result.plan;
    let how =
        format!("{}, {}, {} B, {} tap", place(plan.place), plan.profile, plan.size_bytes, result.tap.name());
    let Some(first) = result.summaries.first() else {
        return format!("no measured trial is finished, so there is no answer yet; {how}");
    };
    let times: Vec<String> = result
        .summaries
        .iter()
        .map(|s| {
            let time = match s.total.n {
                0 => "n/a".into(),
                _ => number::interval(s.overall.mean_ns, s.overall.between_trials_ns) + &most_of(s),
            };
            format!("{} {time}", s.direction.name())
        })
        .collect();
    let trials = first.overall.trials;
    let over = if trials == 1 {
        "in 1 trial, so without an interval".into()
    } else {
        format!("over {trials} trials")
    };
    format!("{} per message {over}, {how}", times.join(", "))
}
