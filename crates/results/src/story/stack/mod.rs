//! `netfathom stack`: the two tables of the papers, the stages, and what stands for the
//! numbers.

mod cost;
mod lag;
mod over_run;
mod percentiles;
mod plan;
mod precision;
mod stages;
mod summary;
mod taps;
mod trials;
mod waterfall;

use crate::page::Page;
use netfathom_model::accounting::Fate;
use netfathom_model::path::{Direction, Stage};
use netfathom_model::plan::Place;
use netfathom_model::print::Scale;
use netfathom_model::record::{
    Estimate, Indicator, Load, PathSummary, PathTimes, StackResult, StageSummary, Trial, TrialKind,
};
use netfathom_model::verdict::Level;

use super::accounting::Kept;
use super::{
    Body, Story, accounting, contention, in_a_line, number,
    place::{Site, ends as place},
    sender,
};

/// A second stage with at least this part of what the largest takes is named, too.
const CLOSE_SECOND: f64 = 0.75;

/// The mean over messages may be off that of the answer, over trials, by this part without a word.
const SAME_MEAN: f64 = 0.01;

/// Up to this part the messages that others disturbed are too few for the answer.
const FEW_DISTURBED: f64 = 0.05;

impl Story for StackResult {
    fn body(&self) -> Body<'_> {
        let mut page = Page::default();
        for (i, summary) in self.summaries.iter().enumerate() {
            let answered = answered(summary);
            let all = answered.as_ref().map(|_| &summary.total);
            let messages = if all.is_some() { "the undisturbed messages" } else { "all messages" };
            let answered = answered.as_ref().unwrap_or(summary);
            page.main(&summary::title(summary.direction, all.is_some()));
            waterfall::draw(&mut page, answered, messages, self.plan.transport);
            stages::draw(&mut page, answered, all);
            precision::doubts(self, summary.direction).iter().for_each(|doubts| page.note(doubts));
            if let Some(mean_ns) = all.and(summary.stands_for_all()).map(|of| of.overall.mean_ns)
                && (mean_ns / answered.total.mean_ns - 1.0).abs() > SAME_MEAN
            {
                let mean = number::mean(mean_ns);
                page.note(&format!(
                    "the answer, {mean}, is the mean of the trials; here each message counts alike"
                ));
            }
            if i == 0 {
                cost::brief(self).iter().for_each(|brief| page.note(brief));
            }
            page.rest();
            if all.is_some() {
                page.text("All messages, the disturbed ones too:");
                stages::draw(&mut page, summary, None);
            }
            if i == 0 {
                let loads: Vec<_> = of_kind(self, TrialKind::Measured).map(|t| (t.index, &t.load)).collect();
                sender::rate(&mut page, &self.plan.profile, &loads);
            }
            over_run::draw(&mut page, self, summary.direction);
            trials::draw(&mut page, self, summary.direction);
            summary::draw(&mut page, summary);
        }
        percentiles::draw(&mut page, self);
        let kept = self.trials.iter().map(|t| Kept {
            index: t.index,
            kind: t.kind.name(),
            load: &t.load,
            accounting: &t.accounting,
            captured: &t.captured,
            verdict: &t.verdict,
        });
        accounting::draw(&mut page, &kept.collect::<Vec<_>>());
        taps::draw(&mut page, self);
        cost::self_cost(&mut page, self);
        cost::cross_checks(&mut page, self);
        lag::draw(&mut page, self);
        contention::draw(&mut page, loads(self).flat_map(|load| &load.contention));
        Body {
            title: "Time in the network stack".into(),
            done: finished(self),
            page,
            remarks: remarks(self),
            plan: plan::words(&self.plan),
            left_out: &self.left_out,
        }
    }

    /// Such as `A 64-byte UDP message takes 1.21 µs ± 0.04 to send and 8.4 µs ± 0.3 to receive`.
    fn answer(&self) -> String {
        if self.summaries.is_empty() {
            return "no measured trial is finished, so there is no answer yet".into();
        }
        let protocol = self.plan.transport.title();
        let some_disturbed = without_disturbed(self);
        let all_stand = self.summaries.iter().all(|s| s.stands_for_all().is_some());
        let undisturbed = all_stand && !some_disturbed.is_empty();
        let of = |s: &PathSummary| {
            let alone = !all_stand && some_disturbed.contains(&s.direction);
            (*indicator(s, !some_disturbed.is_empty()), alone)
        };
        if self.summaries.windows(2).any(|ways| ways[0].level != ways[1].level) {
            let way = |s: &&PathSummary| {
                let (of, alone) = of(s);
                let alone = if alone { " (undisturbed)" } else { "" };
                let is_none =
                    s.level == Level::Void && estimate(&of).is_some_and(|e| e.half_width > e.value.abs());
                let time = if is_none { "time".into() } else { duration(s, &of) };
                format!("{} {time}{alone} is {}", s.direction.verb(), s.level.name())
            };
            // The verdict of the run is that of the worst.
            let mut ways: Vec<&PathSummary> = self.summaries.iter().collect();
            ways.sort_by_key(|s| std::cmp::Reverse(s.level));
            let ways = ways.iter().map(way).collect::<Vec<_>>().join("; ");
            return format!("{}{protocol}: {ways}", if undisturbed { "Undisturbed " } else { "" });
        }
        let way = |s: &PathSummary| {
            let (of, alone) = of(s);
            format!("{}{}", time(s, &of), if alone { " undisturbed" } else { "" })
        };
        let times: Vec<String> = self.summaries.iter().map(way).collect();
        let size = number::count(self.plan.size_bytes as u64);
        match most_disturbed(self).filter(|_| undisturbed) {
            Some((way, share)) if share > FEW_DISTURBED => {
                let of = number::whole_percent(1.0 - share);
                let of_what = which(self, way).map_or("all".into(), |way| format!("those {way}"));
                let whole = format!("Undisturbed messages ({of} of {of_what}) take {}", times.join(", "));
                in_a_line(whole, || format!("Undisturbed ({of}): {}", brief(self)))
            }
            Some(_) => {
                let of = |what: &str| format!("Undisturbed {what} messages take {}", times.join(" and "));
                // The plan has the size.
                in_a_line(of(&format!("{size}-byte {protocol}")), || of(protocol))
            }
            None => format!("A {size}-byte {protocol} message takes {}", times.join(" and ")),
        }
    }

    /// Ways with different verdicts have them in the answer.
    fn is_of_values(&self) -> bool {
        !self.summaries.is_empty() && self.summaries.windows(2).all(|ways| ways[0].level == ways[1].level)
    }

    fn site(&self) -> Site {
        Site::At(self.plan.place)
    }
}

fn paths(result: &StackResult, direction: Direction) -> Vec<(&Trial, &PathTimes)> {
    of_kind(result, TrialKind::Measured)
        .filter_map(|t| t.paths.iter().find(|p| p.direction == direction).map(|p| (t, p)))
        .collect()
}

fn of_kind(result: &StackResult, kind: TrialKind) -> impl Iterator<Item = &Trial> {
    result.trials.iter().filter(move |t| t.kind == kind)
}

fn finished(result: &StackResult) -> String {
    let done = of_kind(result, TrialKind::Measured).count();
    let least = if result.plan.until.is_some() { "at least " } else { "" };
    format!("{done} of {least}{} measured trials are finished", result.plan.trials)
}

/// What the answer is of: the undisturbed messages where they stand for all, if some were disturbed.
fn indicator(summary: &PathSummary, some_disturbed: bool) -> &Indicator {
    summary.stands_for_all().filter(|_| some_disturbed).map_or(&summary.overall, |u| &u.overall)
}

fn estimate(of: &Indicator) -> Option<Estimate> {
    of.between_trials_ns.map(|half_width| Estimate { value: of.mean_ns, half_width })
}

/// Such as `1.21 µs ± 0.04 to send`.
fn time(summary: &PathSummary, of: &Indicator) -> String {
    format!("{} to {}", duration(summary, of), summary.direction.verb())
}

/// Such as `send 1.21 µs ± 0.04, receive 8.4 µs ± 0.3`, of undisturbed messages.
fn brief(result: &StackResult) -> String {
    let way = |s: &PathSummary| format!("{} {}", s.direction.verb(), duration(s, indicator(s, true)));
    result.summaries.iter().map(way).collect::<Vec<_>>().join(", ")
}

fn duration(summary: &PathSummary, of: &Indicator) -> String {
    match summary.total.n {
        0 => "n/a".into(),
        _ => Scale::Time.interval(of.mean_ns, of.between_trials_ns),
    }
}

/// The stages of the messages that the answer is of, where some were disturbed.
fn answered(summary: &PathSummary) -> Option<PathSummary> {
    let of =
        &summary.stands_for_all().filter(|of| of.total.are_fewer() && !of.total.stages.is_empty())?.total;
    let stage = |all: &StageSummary| {
        let undisturbed = of.stages.iter().find(|s| s.stage == all.stage);
        undisturbed.or((all.times.distribution().is_none()).then_some(all)).cloned()
    };
    let stages = summary.stages.iter().filter_map(stage).collect();
    Some(PathSummary { total: of.times.clone(), stages, ..summary.clone() })
}

/// The directions with an answer of undisturbed messages, where some were disturbed.
fn without_disturbed(result: &StackResult) -> Vec<Direction> {
    let some = |s: &&PathSummary| s.stands_for_all().is_some_and(|u| u.total.are_fewer());
    result.summaries.iter().filter(some).map(|s| s.direction).collect()
}

/// What changes how to read the answer, where most of the time goes, what disturbed, and how it was measured.
fn remarks(result: &StackResult) -> Vec<String> {
    let plan = &result.plan;
    let trials = result.summaries.first().map_or(0, |s| s.overall.trials);
    let over = if trials == 1 { "1 trial (no interval)".into() } else { format!("{trials} trials") };
    let (ends, tap) = (place(plan.place), result.tap.name());
    let how = format!("{over} of {}, {ends}, {tap} tap; {}", plan.profile, delivered(result));
    let rates = plan.fits.then(|| {
        format!(
            "measured {} at up to {}, which the sender keeps on schedule (--profile)",
            between(plan.place),
            number::rate(plan.profile.peak_per_s())
        )
    });
    let waits = contention::remarks(loads(result).flat_map(|load| &load.contention), waiting(result));
    let measured: Vec<String> = rates.into_iter().chain(precision::remark(result)).collect();
    cost::distortion(result)
        .into_iter()
        .chain(plan::inserted(plan))
        .chain(disturbed(result))
        .chain(send_call(result))
        .chain(largest_stages(result))
        .chain((!measured.is_empty()).then(|| measured.join("; ")))
        .chain(waits)
        .chain((trials > 0).then_some(how))
        .collect()
}

fn between(ends: Place) -> String {
    match ends {
        Place::Lab => "between two network namespaces".into(),
        Place::Loopback => "over loopback".into(),
        other => place(other),
    }
}

fn loads(result: &StackResult) -> impl Iterator<Item = &Load> {
    of_kind(result, TrialKind::Measured).map(|trial| &trial.load)
}

/// Such as `perl (pid 3121) and others delayed 3 % of the received messages (disturbed); all messages: 3.1 µs ± 1.2 to send and 86 µs ± 120 to receive`.
fn disturbed(result: &StackResult) -> Option<String> {
    let ways = without_disturbed(result);
    let of = result.summaries.iter().filter(|s| ways.contains(&s.direction));
    let all: Vec<String> = of.map(|s| format!("{}{}", time(s, &s.overall), faster(s))).collect();
    let (way, share) = most_disturbed(result)?;
    let share = number::percent(share);
    let messages = which(result, way).map_or("messages".into(), |way| format!("{way} messages"));
    let who = contention::longest(loads(result).flat_map(|load| &load.contention));
    let who = who.map_or("other programs or interrupts".into(), |who| format!("{who} and others"));
    Some(format!("{who} delayed {share} of the {messages} (disturbed); all messages: {}", all.join(" and ")))
}

/// That all messages take less than the undisturbed ones, and why they can (docs/decisions/0030-verdict-per-way.md).
fn faster(summary: &PathSummary) -> &'static str {
    let undisturbed = summary.stands_for_all().map_or(0.0, |u| u.overall.mean_ns);
    match summary.direction {
        Direction::Tx if summary.overall.mean_ns < undisturbed => {
            " (the disturbed ones took less: late messages can follow each other at once, with warm caches)"
        }
        _ => "",
    }
}

/// The part of the messages that the answer leaves out, of the way that has more of them.
fn most_disturbed(result: &StackResult) -> Option<(Direction, f64)> {
    let ways = without_disturbed(result);
    let of = result.summaries.iter().filter(|s| ways.contains(&s.direction));
    let shares = of.filter_map(|s| Some((s.direction, s.stands_for_all()?.total.disturbed_share())));
    shares.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// What the messages of a direction are called, where there are two.
fn which(result: &StackResult, direction: Direction) -> Option<&'static str> {
    (result.summaries.len() > 1).then_some(match direction {
        Direction::Tx => "sent",
        Direction::Rx => "received",
    })
}

/// What a program waits for, as it calls send(): more than the time to the link layer.
fn send_call(result: &StackResult) -> Option<String> {
    result.summaries.iter().find(|summary| summary.direction == Direction::Tx)?;
    let calls = || loads(result).map(|load| &load.send_call);
    let n: u64 = calls().map(|call| call.n).sum();
    let mean_ns = calls().map(|call| call.sum_ns).sum::<i64>() as f64 / n as f64;
    let receiving = match result.plan.place {
        Place::Lab | Place::Loopback => " and, as both ends are on this host, the kernel's receive work",
        _ => "",
    };
    let mean = number::mean(mean_ns);
    (n > 0).then(|| {
        let delay = if result.plan.inserted_delay.is_some() { ", the inserted delay included" } else { "" };
        format!("the whole send call takes {mean}{delay}: after the link layer it runs the driver{receiving}")
    })
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
        _ if sent == 0 => "no message sent".into(),
        Some(0) => format!("all {} messages delivered", number::count(sent)),
        _ => format!("{} of {} messages delivered", number::count(delivered), number::count(sent)),
    }
}

/// Such as `largest stages: socket, 89 % of the time to send; wakeup (waking the sleeping reader), 71 % of the
/// time to receive`.
fn largest_stages(result: &StackResult) -> Option<String> {
    let longest = result.summaries.iter().max_by(|a, b| a.overall.mean_ns.total_cmp(&b.overall.mean_ns))?;
    let way = |summary: &PathSummary| {
        let all = largest(answered(summary).as_ref().unwrap_or(summary));
        let (stage, share) = *all.first()?;
        let second = all.get(1).filter(|(_, second)| *second >= CLOSE_SECOND * share);
        let second = second.map_or_else(String::new, |(stage, share)| {
            format!(", and {}, {}", stage.name(), number::whole_percent(*share))
        });
        let (verb, share) = (summary.direction.verb(), number::whole_percent(share));
        // There is no room for what both are.
        let meaning = match summary.direction == longest.direction {
            true => format!(" ({})", stage.meaning(result.plan.transport)),
            false => String::new(),
        };
        Some(format!("{}{meaning}, {share} of the time to {verb}{second}", stage.name()))
    };
    let ways: Vec<String> = result.summaries.iter().filter_map(way).collect();
    // Records of before have no stages of the undisturbed ones.
    let ways_without = without_disturbed(result);
    let lacks = |s: &PathSummary| ways_without.contains(&s.direction) && answered(s).is_none();
    let of_all = if result.summaries.iter().any(lacks) { " of all messages" } else { "" };
    (!ways.is_empty()).then(|| format!("largest stages{of_all}: {}", ways.join("; ")))
}

/// The stages with their parts of the time, the largest first.
fn largest(summary: &PathSummary) -> Vec<(Stage, f64)> {
    let inside = summary.stages.iter().filter(|s| s.inside).filter_map(|s| Some((s.stage, s.share?)));
    let mut all: Vec<_> = inside.filter(|(_, share)| *share > 0.0).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}
