//! What was noticed, with its cause and what to do.

use netfathom_capture::packet::Resolution;
use netfathom_model::plan::{ClockChoice, JoinPlan, Numbering};
use netfathom_model::print;
use netfathom_model::record::PacketKind;
use netfathom_model::verdict::Finding;

use super::pair::Pair;
use super::spans::Span;

/// A mean of fewer steps of a clock is worth a word.
const FEWEST_STEPS: f64 = 20.0;

pub fn all(plan: &JoinPlan, pairs: &[Pair], spans: &[Span]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for pair in pairs {
        findings.extend(cut(plan, pair));
        // Of the logs of one capture, the first tells what is not about the log.
        if pair.log == 0 {
            findings.extend(twice(plan, pair));
            findings.extend(untimed(plan, pair));
        }
        if pair.capture == 0 {
            findings.extend(repeated(plan, pair));
        }
        findings.extend(strangers(plan, pair));
    }
    findings.extend(spans.iter().filter_map(negative));
    findings.extend(spans.iter().filter_map(|span| constant(plan, span)));
    findings.extend(spans.iter().filter_map(|span| coarse(plan, pairs, span)));
    findings.extend(apart(plan, pairs, spans));
    findings.dedup();
    findings
}

fn count(pair: &Pair, kind: PacketKind) -> u64 {
    pair.joined.kinds.of(kind)
}

fn twice(plan: &JoinPlan, pair: &Pair) -> Option<Finding> {
    let (joined, again) = (pair.joined_count(), count(pair, PacketKind::Duplicate));
    (again > joined / 2 && joined > 0 && pair.both_ways == 0).then(|| Finding {
        seen: format!("{} has most messages twice", plan.captures[pair.capture]),
        cause: "on a loopback device, or on -i any of some devices, a message is captured on its way out and again on its way in, and the file does not show which is which; the first one counts".into(),
        evidence: format!("{joined} joined, {again} duplicates"),
        remedy: "capture one way only (tcpdump -Q out, or -Q in for the way in), or with -i any, which notes the way".into(),
    })
}

fn repeated(plan: &JoinPlan, pair: &Pair) -> Option<Finding> {
    let (repeated, messages) = (pair.joined.repeated, pair.joined.messages);
    let all = print::count(messages + repeated);
    (repeated > 0).then(|| Finding {
        seen: format!("{} has messages more than once", plan.logs[pair.log]),
        cause: "records have the number of an earlier one; the first record of a message counts".into(),
        evidence: format!("{} of {all} records repeat an earlier one", print::count(repeated)),
        remedy: "log each message once; where numbers start again, use a log and a capture for each start"
            .into(),
    })
}

fn untimed(plan: &JoinPlan, pair: &Pair) -> Option<Finding> {
    let (untimed, packets) = (pair.joined.untimed, pair.joined.packets);
    (untimed > 0).then(|| Finding {
        seen: format!("{} has packets without a time", plan.captures[pair.capture]),
        cause: "simple packets of pcapng have no capture time".into(),
        evidence: format!("{untimed} of {packets} packets"),
        remedy: "capture with a program that notes times, such as tcpdump or dumpcap, and do not convert its file to simple packets".into(),
    })
}

fn cut(plan: &JoinPlan, pair: &Pair) -> Option<Finding> {
    let (cut, joined) = (count(pair, PacketKind::CutOff), pair.joined_count());
    (cut > joined / 100).then(|| Finding {
        seen: format!(
            "{} has packets that end before the number of their message",
            plan.captures[pair.capture]
        ),
        cause: "too few bytes of each packet were captured (snaplen)".into(),
        evidence: format!("{cut} cut off, {joined} joined"),
        remedy: "capture more of each packet: tcpdump -s 128".into(),
    })
}

fn strangers(plan: &JoinPlan, pair: &Pair) -> Option<Finding> {
    let (foreign, unknown) = (count(pair, PacketKind::Foreign), count(pair, PacketKind::NotInLog));
    (pair.joined_count() == 0 && pair.joined.messages > 0 && foreign + unknown > 0).then(|| {
        let (capture, log) = (&plan.captures[pair.capture], &plan.logs[pair.log]);
        let evidence = format!(
            "{foreign} foreign UDP, {unknown} with a number that the log has not, {} messages in the log",
            pair.joined.messages
        );
        let (cause, remedy) = if plan.numbering == Numbering::Netfathom && foreign > unknown {
            (
                "they do not begin with netfathom's header",
                "name where the number of a message lies, such as --number u32be@0, and which port: --port N",
            )
        } else {
            (
                "the log is of another run, or names no flow or another one, or the number lies elsewhere",
                "name the log of this capture; netfathom's messages need the column `flow` in CSV; with --number, check offset, width and byte order against tcpdump -X",
            )
        };
        Finding {
            seen: format!("no message of {log} is in {capture}, but UDP is"),
            cause: cause.into(),
            evidence,
            remedy: remedy.into(),
        }
    })
}

fn negative(span: &Span) -> Option<Finding> {
    let times = &span.span.times;
    (2 * times.negative > times.n).then(|| Finding {
        seen: format!("most times from {} to {} are below zero", span.span.from, span.span.to),
        cause: "the clock of the log is not that of the capture, or messages went the other way".into(),
        evidence: format!("{} of {}, {} to {} ns", times.negative, times.n, times.min_ns, times.max_ns),
        remedy: "name captures in the order in which messages pass them; for clocks of two hosts use --clock fitted".into(),
    })
}

/// Clocks that are apart by a constant, or a path that is long: only who knows the path can say, unless none is so long.
fn constant(plan: &JoinPlan, span: &Span) -> Option<Finding> {
    let constant = span.constant().filter(|_| plan.clock == ClockChoice::Stated)?;
    let (least, spread) = (print::time(constant.least_ns as f64), print::time(constant.spread_ns as f64));
    let cause = if constant.beyond_paths {
        "the clock of the log is not that of the capture: no path takes so long and varies so little"
    } else {
        "the path has a constant delay, such as a satellite or a delay that was added; or the clocks of two hosts are \
         apart by about as much, which looks the same"
    };
    let remedy = if constant.beyond_paths {
        "use --clock fitted: it shows what lies above the shortest time"
    } else {
        "compare with half of a round trip (ping); if that is shorter, keep the clocks together (PTP, chronyc tracking), \
         or use --clock fitted, which shows what lies above the shortest time"
    };
    Some(Finding {
        seen: format!("the times from {} are all at least {least}, and differ by little", span.name()),
        cause: cause.into(),
        evidence: format!("shortest {least}, half of all within {spread}, {} times", span.span.times.n),
        remedy: remedy.into(),
    })
}

/// Times that are only some steps of the clocks that they come from.
fn coarse(plan: &JoinPlan, pairs: &[Pair], span: &Span) -> Option<Finding> {
    let (mean_ns, uncertainty_ns) = (span.span.times.mean_ns, span.span.uncertainty_ns);
    // Half a step is what each stamp may be off.
    let is_few = uncertainty_ns > 0.0 && mean_ns < FEWEST_STEPS * 2.0 * uncertainty_ns;
    let part = || format!(", {:.0} % of it", 100.0 * uncertainty_ns / mean_ns);
    let relative = if mean_ns > 0.0 { part() } else { String::new() };
    is_few.then(|| Finding {
        seen: format!(
            "the mean time from {}, {}, is uncertain by ±{}{relative}",
            span.name(),
            print::time(mean_ns),
            print::time(uncertainty_ns)
        ),
        cause: "stamps were cut to the steps of their clock; half a step was added to each, which is right on average"
            .into(),
        evidence: steps(plan, pairs).join(", "),
        remedy: "take stamps in nanoseconds: tcpdump --time-stamp-precision nano, and such a clock for the log".into(),
    })
}

/// Which files have stamps of more than a nanosecond, and of how much.
fn steps(plan: &JoinPlan, pairs: &[Pair]) -> Vec<String> {
    let of_pair = |pair: &Pair| {
        let steps_ns =
            |of: &[Resolution]| of.iter().map(|r| r.step_ns()).filter(|ns| *ns > 1).collect::<Vec<_>>();
        let files = [
            (&plan.captures[pair.capture], steps_ns(&pair.joined.resolutions)),
            (&plan.logs[pair.log], steps_ns(&[pair.joined.log_resolution])),
        ];
        let describe = |(file, steps_ns): (&String, Vec<u32>)| {
            let each = |ns: &u32| print::time(f64::from(*ns));
            let all = steps_ns.iter().map(each).collect::<Vec<_>>().join(" and ");
            (!steps_ns.is_empty()).then(|| format!("{file}: steps of {all}"))
        };
        files.map(describe)
    };
    let mut all: Vec<String> = pairs.iter().flat_map(of_pair).flatten().collect();
    all.sort();
    all.dedup();
    all
}

fn apart(plan: &JoinPlan, pairs: &[Pair], spans: &[Span]) -> Option<Finding> {
    let apart: u64 = spans.iter().map(|span| span.apart).sum();
    if apart == 0 || plan.clock == ClockChoice::Fitted {
        return None;
    }
    let unstated = pairs.iter().find(|pair| pair.joined.clock.statements == 0);
    let cause = match unstated {
        Some(pair) => format!(
            "{} does not state its clock, so its times were taken for such since 1970",
            plan.logs[pair.log]
        ),
        None => "the log states another clock than that of the capture".into(),
    };
    Some(Finding {
        seen: "times of more than an hour".into(),
        cause,
        evidence: format!("{apart} times"),
        remedy:
            "state the clock in the log (CSV: # clock=monotonic realtime_ahead_ns=N), or use --clock fitted"
                .into(),
    })
}
