//! What the application takes between its read and its answer.

use netfathom_model::record::{Distribution, WatchResult};

use super::who;
use crate::story::number;

/// Such as `from its read to its answer the application takes 44.6 µs, p99 162 µs`, with what to do where that is most.
pub(super) fn remark(result: &WatchResult) -> Option<String> {
    let times = times(result)?;
    let (mean, p99) = (number::mean(times.mean_ns), number::time(times.p99_ns));
    let advice = if takes_most(result) { advice(&who::pid(result)) } else { String::new() };
    Some(format!("from its read to its answer the application takes {mean}, p99 {p99}{advice}"))
}

fn advice(pid: &str) -> String {
    format!(
        ", longer than its messages take: find out what it computes (perf top -p {pid}) or waits for (strace -f -T -p {pid})"
    )
}

/// Whether it takes longer than a message, either way. Of a client it is the time between two requests, a part of neither.
pub(super) fn takes_most(result: &WatchResult) -> bool {
    let Some(times) = times(result) else { return false };
    let asks = result.answer.as_ref().is_some_and(|answers| answers.n > times.n / 2);
    let totals = [Some(&result.total), result.send.as_ref().map(|send| &send.total)];
    let means = totals.into_iter().flatten().filter(|total| total.n > 0).map(|total| total.mean_ns);
    !asks && means.reduce(f64::max).is_some_and(|most| most < times.mean_ns)
}

fn times(result: &WatchResult) -> Option<&Distribution> {
    result.application.as_ref().filter(|times| times.n > 0)
}
