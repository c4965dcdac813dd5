//! How far a join can be trusted.

use netfathom_capture::join::{Joined, Jump};
use netfathom_model::plan::{ClockChoice, JoinPlan};
use netfathom_model::print;
use netfathom_model::record::{ClockOffset, PacketKind};
use netfathom_model::verdict::{Level, Part, Verdict};

use super::between::Hop;
use super::pair::Pair;
use super::spans::{Constant, Span};
use crate::load::judge::{percent, share};

/// Beyond this share of messages that could not be joined a trial is VOID: our rule. Borodin's outgoing paper chose
/// conditions in which its capture lost no more than this.
const MOST_UNJOINED: f64 = 0.05;
/// No path takes negative time: if this share seems to, or the mean, none of the times means anything.
const MOST_NEGATIVE: f64 = 0.5;
/// A clock that moved by more moved what was measured.
const MOST_MOVED_NS: u64 = 1_000;
/// Logs of one host state beginnings that differ by less, unless its clock was set by more meanwhile; two hosts hardly
/// boot within the same second.
const SAME_BEGINNING_NS: u64 = 1_000_000_000;

pub fn run(plan: &JoinPlan, pairs: &[Pair], ways: &[Hop], spans: &[Span], clocks: &[ClockOffset]) -> Verdict {
    let mut verdict = Verdict::default();
    if pairs.is_empty() {
        verdict.lower(Level::Void, "nothing was joined: the run was ended before");
    }
    for pair in pairs {
        of_pair(plan, pair, &mut verdict);
    }
    for way in ways {
        let (from, to) = (&plan.captures[way.to - 1], &plan.captures[way.to]);
        of_files(from, to, &way.joined, &mut verdict);
    }
    for span in spans {
        of_span(span, &mut verdict);
        let constant = span.constant().filter(|_| plan.clock == ClockChoice::Stated);
        if let Some(Constant { least_ns, spread_ns, beyond_paths: true }) = constant {
            let text = format!(
                "the shortest time from {} is {}, and half of all differ by at most some {}: this is how far the clocks \
                 are apart, for no path takes so long; use --clock fitted",
                span.name(),
                print::time(least_ns as f64),
                print::time(spread_ns as f64)
            );
            verdict.lower_only(&[span.part()], Level::Degraded, text);
        }
    }
    if plan.clock == ClockChoice::Stated {
        of_hosts(plan, pairs, ways, &mut verdict);
    }
    let is_whole =
        pairs.len() == plan.captures.len() * plan.logs.len() && ways.len() + 1 == plan.captures.len();
    if spans.is_empty() && is_whole && verdict.level < Level::Void {
        verdict.lower(Level::Void, "no message has a time in both of two files: there is nothing to compare");
    }
    for clock in clocks {
        // What was fitted is a drift, which was taken out.
        let moved = clock.moved_ns.unwrap_or(0).unsigned_abs();
        if moved > MOST_MOVED_NS && clock.drift_ppm.is_none() {
            let text = format!(
                "the clock of {} was set by {moved} ns while messages were sent: times near that moment are wrong by as much",
                plan.logs[clock.log as usize]
            );
            verdict.lower(Level::Degraded, text);
        }
    }
    let answered = spans.iter().map(Span::part).filter(|part| *part != Part::Between);
    verdict.answered_by(&answered.collect::<Vec<_>>())
}

/// Clocks that are taken for one though nothing shows that they agree. A log that has both ends has one clock for them.
fn of_hosts(plan: &JoinPlan, pairs: &[Pair], ways: &[Hop], verdict: &mut Verdict) {
    let is_one_clock = pairs.iter().any(|pair| pair.columns.sent && pair.columns.received);
    for way in ways.iter().filter(|_| !is_one_clock) {
        let text = format!(
            "the clocks of {} and {} are taken for one, so the time between them includes their difference: `netfathom \
             fleet hosts` measures it, --clock fitted shows what lies above the shortest time",
            plan.captures[way.to - 1],
            plan.captures[way.to]
        );
        verdict.lower_only(&[Part::Between], Level::Degraded, text);
    }
    if plan.captures.len() == 1 && have_different_beginnings(pairs) {
        let text = "the logs are of two hosts, as their clocks began at different times, and there is one capture: the \
                    time to send or to receive includes the difference of their clocks; capture on both hosts";
        verdict.lower_only(&[Part::Tx, Part::Rx], Level::Degraded, text);
    }
}

/// Whether logs state clocks that began at different times, as CLOCK_MONOTONIC of two hosts does.
fn have_different_beginnings(pairs: &[Pair]) -> bool {
    let ahead = pairs.iter().map(|pair| pair.joined.clock.first_ahead_ns).filter(|ns| *ns != 0);
    let least_and_most = ahead.clone().min().zip(ahead.max());
    least_and_most.is_some_and(|(least, most)| most.abs_diff(least) > SAME_BEGINNING_NS)
}

fn of_pair(plan: &JoinPlan, pair: &Pair, verdict: &mut Verdict) {
    let (capture, log) = (&plan.captures[pair.capture], &plan.logs[pair.log]);
    let joined = &pair.joined;
    of_files(log, capture, joined, verdict);
    if joined.untimed > 0 {
        let part = share(joined.untimed, joined.packets);
        let text = format!("{} of the packets in {capture} have no time and are left out", percent(part));
        verdict.lower(level(part), text);
    }
    if pair.capture == 0 && pair.columns.sent && pair.unsent > 0 {
        let part = share(pair.unsent, pair.joined_count());
        let text = format!("{} of the messages in {log} have no send time and are left out", percent(part));
        verdict.lower(level(part), text);
    }
    if pair.columns.received && joined.received < joined.messages && pair.joined_count() > 0 {
        let lost = share(joined.messages - joined.received, joined.messages);
        let text = format!(
            "{} of the messages in {log} were not received; incoming times are those of the others only",
            percent(lost)
        );
        verdict.lower(Level::Degraded, text);
    }
}

fn level(part: f64) -> Level {
    if part > MOST_UNJOINED { Level::Void } else { Level::Degraded }
}

/// What one of two files has and the other has not. The first may be a log, or the capture before.
fn of_files(log: &str, capture: &str, joined: &Joined, verdict: &mut Verdict) {
    let count = joined.kinds.of(PacketKind::Joined);
    if count == 0 {
        let text = match (&joined.log_damage, &joined.capture_damage) {
            (Some(damage), _) if joined.messages == 0 => {
                format!("no message could be read from {log}: {damage}")
            }
            (_, Some(damage)) if joined.packets == 0 => {
                format!("no packet could be read from {capture}: {damage}")
            }
            (None, _) if joined.messages == 0 => format!("there is no message in {log}"),
            _ => format!("not one message of {log} was found in {capture}"),
        };
        return verdict.lower(Level::Void, text);
    }
    let missing = share(joined.missing, count + joined.missing);
    let missing_text = |part: f64, of: &str, not_in: &str| {
        format!("{} of the messages in {of} are not in {not_in}", percent(part))
    };
    let allowed =
        |part: f64| if part > MOST_UNJOINED { " (5 % allowed)" } else { "; times are those of the others" };
    // It may be why messages are missing.
    let unlogged = share(joined.unlogged, count + joined.unlogged);
    for (name, damage) in [(capture, &joined.capture_damage), (log, &joined.log_damage)] {
        if let Some(damage) = damage {
            let level = level(missing).max(level(unlogged));
            verdict.lower(level, format!("{name} was not read to its end: {damage}"));
        }
    }
    if joined.missing > 0 {
        verdict.lower(level(missing), missing_text(missing, log, capture) + allowed(missing));
    }
    if joined.unlogged > 0 {
        verdict.lower(level(unlogged), missing_text(unlogged, capture, log) + allowed(unlogged));
    }
}

fn of_span(span: &Span, verdict: &mut Verdict) {
    let (from, to, times) = (&span.span.from, &span.span.to, &span.span.times);
    let apart = share(span.apart, span.apart + times.n);
    if span.apart > 0 {
        let text = format!(
            "{} of the times from {from} to {to} are beyond an hour and left out: the clocks do not match",
            percent(apart)
        );
        verdict.lower_only(&[span.part()], level(apart), text);
    }
    if let Some(Jump { after_ns, by_ns }) = span.jump {
        let text = format!(
            "the shortest times from {from} to {to} change by {} at once, {} after the first message: a clock was set \
             meanwhile, the path changed, or a queue stays full; join the parts before and after it separately",
            print::time(by_ns as f64),
            print::time(after_ns as f64)
        );
        verdict.lower_only(&[span.part()], Level::Degraded, text);
    }
    if times.negative > 0 {
        let part = share(times.negative, times.n);
        let impossible = part > MOST_NEGATIVE || times.mean_ns < 0.0;
        let why = if impossible {
            ": the clocks do not match, or the captures are not named in the order in which messages pass them"
        } else {
            ""
        };
        let text = format!(
            "{} of the times from {from} to {to} are below zero, down to {} ns{why}",
            percent(part),
            times.min_ns
        );
        let level = if impossible { Level::Void } else { Level::Degraded };
        verdict.lower_only(&[span.part()], level, text);
    }
}
