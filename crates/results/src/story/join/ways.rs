//! The ways that were joined, and how far the clocks carry.

use netfathom_model::path::Direction;
use netfathom_model::plan::{ClockChoice, JoinPlan, Numbering};
use netfathom_model::print;
use netfathom_model::record::{JoinResult, JoinedSpan, LogFile};

/// One way of the stack, as the answer needs it.
pub(super) struct JoinedWay<'a> {
    pub direction: Direction,
    pub span: &'a JoinedSpan,
    /// Messages in the logs that have a time at its end.
    pub logged: u64,
}

/// The ways that were measured and have times.
pub(super) fn ways(result: &JoinResult) -> Vec<JoinedWay<'_>> {
    let logged = |direction| {
        let has = |l: &&LogFile| match direction {
            Direction::Tx => l.has_sent,
            Direction::Rx => l.has_received,
        };
        result.logs.iter().filter(has).map(|l| l.messages).sum()
    };
    let known = result.spans.iter().filter(|s| s.times.n > 0);
    let ways = known.filter_map(|span| Some((span.direction?, span)));
    ways.map(|(direction, span)| JoinedWay { direction, span, logged: logged(direction) }).collect()
}

/// What a time is where the clocks were fitted; nothing otherwise.
pub(super) fn above_shortest(result: &JoinResult, span: &JoinedSpan) -> &'static str {
    match result.plan.clock {
        ClockChoice::Stated => "",
        ClockChoice::Fitted if is_by_way_out(result, span) => " (with the shortest time to send)",
        ClockChoice::Fitted => " (above the shortest)",
    }
}

/// Whether the clocks of a way in were fitted by the way out: its log has both. What that took from the way out is in it.
pub(super) fn is_by_way_out(result: &JoinResult, span: &JoinedSpan) -> bool {
    let is_its = |name: &str| span.to == "application" || span.to == format!("application ({name})");
    let has_both = |log: &LogFile| log.has_sent && log.has_received && is_its(&log.name);
    span.direction == Some(Direction::Rx) && result.logs.iter().any(has_both)
}

/// How far the mean is uncertain by the steps of the clocks that its stamps come from, where these are not nanoseconds.
pub(super) fn uncertainty(span: &JoinedSpan) -> Option<f64> {
    (span.times.n > 0 && span.uncertainty_ns > 0.0).then_some(span.uncertainty_ns)
}

/// The same, where it is a part of the mean that is worth a word beside it: the mean is less than 20 steps.
pub(super) fn doubt(span: &JoinedSpan) -> Option<f64> {
    uncertainty(span).filter(|ns| span.times.mean_ns < 40.0 * ns)
}

/// What times count in, where that is not nanoseconds alone.
pub(super) fn steps(steps_ns: &[u32]) -> Option<String> {
    let steps = steps_ns.iter().map(|&ns| print::time(f64::from(ns))).collect::<Vec<_>>().join(" and ");
    let is_coarse = steps_ns.iter().any(|ns| *ns > 1);
    is_coarse.then(|| format!("times in steps of {steps}; half a step was added to each"))
}

/// How many messages of each log a capture has out of order; nothing of a log in order.
pub(super) fn out_of_order(result: &JoinResult, capture: usize) -> impl Iterator<Item = String> + '_ {
    let of_log = move |log: &LogFile| {
        let n = log.reordered.get(capture).copied().filter(|n| *n > 0)?;
        Some(format!("messages of {} out of order: {}", log.name, print::count(n)))
    };
    result.logs.iter().filter_map(of_log)
}

/// Where a message's number lies.
pub(super) fn numbering(plan: &JoinPlan) -> String {
    match plan.numbering {
        Numbering::Netfathom => "the header of netfathom's own messages".into(),
        Numbering::Field { offset, width, little_endian } => format!(
            "{width} bytes at {offset} of the payload, {} byte first",
            if little_endian { "lowest" } else { "highest" }
        ),
    }
}

pub(super) fn clock(plan: &JoinPlan) -> &'static str {
    match plan.clock {
        ClockChoice::Stated => "as stated by the logs",
        ClockChoice::Fitted => "fitted: the shortest time is zero",
    }
}
