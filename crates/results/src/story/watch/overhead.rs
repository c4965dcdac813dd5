//! What netfathom's own programs took.

use netfathom_model::print::Scale;
use netfathom_model::record::{WatchPrograms, WatchResult};
use netfathom_stats::Estimate;

use super::way::totals;
use crate::story::number;

/// From these parts of a CPU, and of the mean time, on, what the programs take changes how to read the times.
const MUCH_OF_CPU: f64 = 0.05;
const MUCH_OF_MEAN: f64 = 0.1;
/// Calls for a message, at most: with more, most are for packets and threads of others, and their share is all there is.
const MOST_CALLS: f64 = 100.0;

/// With slow messages they are counted once, perhaps while none came.
pub(super) fn programs(result: &WatchResult) -> impl Iterator<Item = &WatchPrograms> {
    result.programs.iter().filter(|of| of.messages > 0 || result.slow.is_none())
}

pub(super) fn distorts(programs: &WatchPrograms, result: &WatchResult) -> bool {
    let sums = totals(result).map(|of| (of.sum_ns as f64, of.n as f64));
    let (sum_ns, n) = sums.fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    let is_much = |each: Estimate| each.value * n > MUCH_OF_MEAN * sum_ns;
    !are_for_others(programs, result)
        && (programs.share() > MUCH_OF_CPU || programs.each_message().is_some_and(is_much))
}

/// Whether most calls of the whole run are for others: a sample may have few messages.
fn are_for_others(programs: &WatchPrograms, result: &WatchResult) -> bool {
    let samples = result.followed_ns() as f64 / programs.sampled_ns.max(1) as f64;
    programs.runs as f64 * samples > MOST_CALLS * result.messages() as f64
}

/// What they took, and when.
pub(super) fn own(programs: &WatchPrograms, result: &WatchResult) -> String {
    let share = number::percent(programs.share());
    let each = programs.each_message().filter(|_| !are_for_others(programs, result));
    let message = each.map_or_else(String::new, |Estimate { value, half_width }| {
        let time = Scale::Time.interval(value, Some(half_width));
        let calls = Scale::Ratio.text(programs.runs as f64 / programs.messages as f64);
        format!(", {time} in {calls} calls per message")
    });
    let attached = result.sampling.map_or_else(String::new, |sampling| {
        let part = sampling.attached_ns as f64 / result.watched_ns.max(1) as f64;
        format!("; they were attached for {} of the time", number::percent(part))
    });
    let meanwhile = if attached.is_empty() { "" } else { " while they were attached" };
    format!(
        "netfathom's BPF programs took {share} of a CPU{message}{meanwhile}; the cost of calling them is not included{attached}"
    )
}
