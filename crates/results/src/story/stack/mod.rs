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
use netfathom_model::accounting::Fate;
use netfathom_model::path::{Direction, Stage};
use netfathom_model::record::{Load, PathSummary, PathTimes, StackResult, Trial, TrialKind, Undisturbed};

use super::accounting::Kept;
use super::{Body, accounting, contention, number, place::ends as place, sender};

pub(super) fn body(result: &StackResult) -> Body<'_> {
    let mut page = Page::default();
    for (i, summary) in result.summaries.iter().enumerate() {
        page.main(summary::title(summary.direction));
        waterfall::draw(&mut page, summary);
        stages::draw(&mut page, summary);
        page.rest();
        if i == 0 {
            let loads: Vec<_> = of_kind(result, TrialKind::Measured).map(|t| (t.index, &t.load)).collect();
            sender::rate(&mut page, &result.plan.profile, &loads);
        }
        over_run::draw(&mut page, result, summary.direction);
        trials::draw(&mut page, result, summary.direction);
        summary::draw(&mut page, summary);
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
    contention::draw(&mut page, loads(result));
    Body {
        title: "Time in the network stack",
        done: there(result),
        page,
        remarks: remarks(result),
        plan: plan::words(&result.plan),
        left_out: &result.left_out,
    }
}

fn kind(kind: TrialKind) -> &'static str {
    match kind {
        TrialKind::Measured => "measured",
        TrialKind::Control => "baseline",
        TrialKind::Witness => "cross-check",
        TrialKind::Alternating => "alternating",
    }
}

/// The measured trials of a direction.
fn paths(result: &StackResult, direction: Direction) -> Vec<(&Trial, &PathTimes)> {
    of_kind(result, TrialKind::Measured)
        .filter_map(|t| t.paths.iter().find(|p| p.direction == direction).map(|p| (t, p)))
        .collect()
}

fn of_kind(result: &StackResult, kind: TrialKind) -> impl Iterator<Item = &Trial> {
    result.trials.iter().filter(move |t| t.kind == kind)
}

fn there(result: &StackResult) -> String {
    let done = of_kind(result, TrialKind::Measured).count();
    format!("{done} of {} measured trials are finished", result.plan.trials)
}

/// Such as `A 64-byte UDP message takes 1.21 µs ± 0.04 to send and 8.4 µs ± 0.3 to receive`.
pub(super) fn answer(result: &StackResult) -> String {
    if result.summaries.is_empty() {
        return "no measured trial is finished, so there is no answer yet".into();
    }
    let time = |s: &PathSummary| {
        let time = match s.total.n {
            0 => "n/a".into(),
            _ => number::interval(s.overall.mean_ns, s.overall.between_trials_ns),
        };
        format!("{time} to {}", verb(s.direction))
    };
    let times: Vec<String> = result.summaries.iter().map(time).collect();
    let size = number::count(result.plan.size_bytes as u64);
    format!("A {size}-byte UDP message takes {}", times.join(" and "))
}

fn verb(direction: Direction) -> &'static str {
    match direction {
        Direction::Tx => "send",
        Direction::Rx => "receive",
    }
}

/// Where most of the time goes, and how it was measured.
fn remarks(result: &StackResult) -> Vec<String> {
    let plan = &result.plan;
    let trials = result.summaries.first().map_or(0, |s| s.overall.trials);
    let over = if trials == 1 { "1 trial (no interval)".into() } else { format!("{trials} trials") };
    let (ends, tap) = (place(plan.place), result.tap.name());
    let how = format!("{over} of {}, {ends}, {tap} tap; {}", plan.profile, delivered(result));
    let most = result.summaries.iter().filter_map(most_of);
    let waits = contention::remarks(loads(result), waiting(result));
    waits.into_iter().chain(undisturbed(result)).chain(most).chain((trials > 0).then_some(how)).collect()
}

fn loads(result: &StackResult) -> impl Iterator<Item = &Load> {
    of_kind(result, TrialKind::Measured).map(|trial| &trial.load)
}

/// Such as `undisturbed messages (97 %) take 2.64 µs ± 0.03 to send and 17.2 µs ± 0.4 to receive`, where others had the
/// CPUs often enough to matter.
fn undisturbed(result: &StackResult) -> Option<String> {
    const LEAST_DISTURBED: f64 = 0.001;
    let of =
        result.summaries.iter().map(|s| Some((s, s.undisturbed.as_ref()?))).collect::<Option<Vec<_>>>()?;
    if !of.iter().all(|(_, u)| u.total.is_most()) {
        return None;
    }
    let share = |(_, u): &(&PathSummary, &Undisturbed)| u.total.times.n as f64 / u.total.judged.max(1) as f64;
    let least = of.iter().map(share).reduce(f64::min).filter(|share| *share < 1.0 - LEAST_DISTURBED)?;
    let times: Vec<String> = of
        .iter()
        .map(|(s, u)| {
            let time = number::interval(u.overall.mean_ns, u.overall.between_trials_ns);
            format!("{time} to {}", verb(s.direction))
        })
        .collect();
    Some(format!("undisturbed messages ({}) take {}", number::percent_down(least), times.join(" and ")))
}

/// What messages waited for the reader's processor.
fn waiting(result: &StackResult) -> Option<contention::Waiting> {
    let rx = result.summaries.iter().find(|s| s.direction == Direction::Rx)?;
    let share = rx.stages.iter().find(|s| s.stage == Stage::Runqueue)?.share?;
    Some(contention::Waiting { share, ns: share * rx.total.mean_ns * rx.total.n as f64 })
}

/// Such as `all 5,000 messages delivered`, of the measured trials.
fn delivered(result: &StackResult) -> String {
    let accountings = || of_kind(result, TrialKind::Measured).map(|trial| &trial.accounting);
    let sent: u64 = accountings().map(|a| a.sent).sum();
    let delivered: u64 = accountings().map(|a| a.count(&Fate::Delivered)).sum();
    match sent.checked_sub(delivered) {
        Some(0) => format!("all {} messages delivered", number::count(sent)),
        _ => format!("{} of {} messages delivered", number::count(delivered), number::count(sent)),
    }
}

/// Such as `87 % of the time to send is socket: system call, socket, UDP, IP and routing`.
fn most_of(summary: &PathSummary) -> Option<String> {
    let inside = summary.stages.iter().filter(|s| s.inside).filter_map(|s| Some((s.stage, s.share?)));
    let (stage, share) = inside.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|most| most.1 > 0.0)?;
    let verb = verb(summary.direction);
    Some(format!("{:.0} % of the time to {verb} is {}: {}", share * 100.0, stage.name(), stage.meaning()))
}
