//! What was noticed, with its cause and what to do.

use netfathom_model::plan::{ClockChoice, JoinPlan, Numbering};
use netfathom_model::record::PacketKind;
use netfathom_model::verdict::Finding;

use super::pair::Pair;
use super::spans::Span;

/// Everything worth a word.
pub fn all(plan: &JoinPlan, pairs: &[Pair], spans: &[Span]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for pair in pairs {
        findings.extend(cut(plan, pair));
        // Of the logs of one capture, the first tells what is not about the log.
        if pair.log == 0 {
            findings.extend(twice(plan, pair));
            findings.extend(untimed(plan, pair));
        }
        findings.extend(strangers(plan, pair));
    }
    findings.extend(spans.iter().filter_map(negative));
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
        cause: "on a loopback device, or on -i any of some devices, a message is captured on its way out and again on its way in, and the file does not say which is which; the first one counts".into(),
        evidence: format!("{joined} joined, {again} duplicates"),
        remedy: "capture one way only (tcpdump -Q out, or -Q in for the way in), or with -i any, which notes the way".into(),
    })
}

fn untimed(plan: &JoinPlan, pair: &Pair) -> Option<Finding> {
    let (untimed, packets) = (pair.joined.untimed, pair.joined.packets);
    (untimed > 0).then(|| Finding {
        seen: format!("{} has packets without a time", plan.captures[pair.capture]),
        cause: "simple packets of pcapng do not say when they were captured".into(),
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
                "say where the number of a message lies, such as --number u32be@0, and which port: --port N",
            )
        } else {
            (
                "the log is of another run, or says of no flow or another one, or the number lies elsewhere",
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

fn apart(plan: &JoinPlan, pairs: &[Pair], spans: &[Span]) -> Option<Finding> {
    let apart: u64 = spans.iter().map(|span| span.apart).sum();
    if apart == 0 || plan.clock == ClockChoice::Fitted {
        return None;
    }
    let unstated = pairs.iter().find(|pair| pair.joined.clock.statements == 0);
    let cause = match unstated {
        Some(pair) => {
            format!(
                "{} does not state its clock, so its times were taken for such since 1970",
                plan.logs[pair.log]
            )
        }
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
