//! A run that goes on until its intervals are narrow: what they are, when it ends, and what a wide one makes of the
//! verdict (docs/decisions/0031-until-narrow.md).
//!
//! The rule is that of Chow & Robbins (1965), for a width relative to the mean as Nadas (1969) has it: look after each
//! trial, and end with the first interval that is narrow. Such intervals hold the mean less often than Student's do of
//! a number of trials that was fixed beforehand. Two corrections are ours: a minimum of trials, and a higher level of
//! the interval, both for the end and in the result. `tests.rs` simulates what they achieve.

use netfathom_model::path::Direction;
use netfathom_model::plan::Until;
use netfathom_model::record::{
    Distribution, Ended, Estimate, LoadThread, PathTimes, Precision, StackResult, Trial, TrialKind, Value,
    Width,
};
use netfathom_model::verdict::{Level, Verdict};
use netfathom_stats::{between_sequential_trials, bucket_bounds, bucket_index};

use crate::load::judge::occupied;
use crate::load::precision;

/// Fewer messages have a 99th percentile that is one of the longest few.
const LEAST_FOR_P99: u64 = 1000;

/// How narrow the intervals are by now; `None` of a run with a fixed number of trials.
pub fn reached(result: &StackResult, after_ns: u64) -> Option<Precision> {
    result.plan.until?;
    let ways = result.summaries.iter();
    let widths = ways.flat_map(|summary| {
        let direction = Some(summary.direction);
        let answered = answered(result, summary.direction, summary.stands_for_all().is_some());
        let halves = [(Value::Mean, Some(of_means(&answered))), (Value::P99, of_p99s(&answered))];
        halves.into_iter().filter_map(move |(of, half)| Some(Width { direction, of, half: half? }))
    });
    Some(Precision { after_ns, widths: widths.collect(), ended: None })
}

/// Trial by trial, the messages that the answer is of.
fn answered<'a>(result: &'a StackResult, direction: Direction, undisturbed: bool) -> Vec<&'a Distribution> {
    let paths = measured(result).flat_map(|trial| &trial.paths);
    let of_way = paths.filter(|path| path.direction == direction && path.total.n > 0);
    let times = |path: &'a PathTimes| {
        let alone = path.undisturbed.as_ref().filter(|_| undisturbed);
        alone.map_or(&path.total, |alone| &alone.times)
    };
    of_way.map(times).collect()
}

fn measured(result: &StackResult) -> impl Iterator<Item = &Trial> {
    result.trials.iter().filter(|trial| trial.kind == TrialKind::Measured)
}

fn of_means(trials: &[&Distribution]) -> Option<f64> {
    half(&trials.iter().map(|times| times.mean_ns).collect::<Vec<_>>())
}

/// `None` where a trial has too few messages; never narrower than the bucket that a percentile is the middle of.
fn of_p99s(trials: &[&Distribution]) -> Option<Option<f64>> {
    if trials.iter().any(|times| times.n < LEAST_FOR_P99 || times.p99_ns <= 0) {
        return None;
    }
    let bucket = |times: &&Distribution| {
        let (low, high) = bucket_bounds(bucket_index(times.p99_ns as u64, times.grain), times.grain);
        (high - low) as f64 / 2.0 / times.p99_ns as f64
    };
    let least = trials.iter().map(bucket).fold(0.0, f64::max);
    let half = half(&trials.iter().map(|times| times.p99_ns as f64).collect::<Vec<_>>());
    Some(half.map(|half| half.max(least)))
}

/// Half the interval as a part of the value.
fn half(values: &[f64]) -> Option<f64> {
    Estimate::from(between_sequential_trials(values)?).relative()
}

/// Whether the run ends with the trials that are there. `round` is the number of trials of all kinds that it has at least.
pub fn ended(result: &StackResult, round: usize) -> Option<Ended> {
    let (until, precision) = (result.plan.until?, result.precision.as_ref()?);
    let first = result.trials.first()?;
    precision.end(until, result.trials.len(), round, first.started_after_ns)
}

/// A value that is known less well than asked lowers the trust in itself; the answer is of means.
pub fn judge(verdict: &mut Verdict, result: &StackResult) {
    let trials = measured(result).count() as u32;
    let free = || {
        let threads = measured(result).flat_map(|trial| &trial.load.contention);
        occupied(threads, &[LoadThread::Sender, LoadThread::Reader], 0.0)
    };
    let (Some(until), Some(precision)) = (result.plan.until, &result.precision) else {
        return judge_fixed(verdict, result, trials, free);
    };
    if trials < Until::LEAST_TRIALS && trials > 0 {
        let (planned, least) = (result.plan.trials, Until::LEAST_TRIALS);
        let text = format!(
            "{trials} of at least {planned} measured trials were finished, and intervals require {least}: raise --time-limit"
        );
        verdict.lower(Level::Degraded, text);
    }
    for width in &precision.widths {
        let Some(direction) = width.direction else { continue };
        if let Some((level, text)) = precision::judged(precision, width, until, free) {
            verdict.lower_value(direction.into(), width.of, level, text);
        }
    }
}

/// With a fixed number of trials no precision is asked for; a mean with an interval that includes 0 is no value all the same,
/// unless they are few.
fn judge_fixed(verdict: &mut Verdict, result: &StackResult, trials: u32, free: impl Fn() -> Option<String>) {
    for summary in &result.summaries {
        let of = summary.stands_for_all().map_or(&summary.overall, |undisturbed| &undisturbed.overall);
        let relative = |half_width| Estimate { value: of.mean_ns, half_width }.relative();
        let direction = Some(summary.direction);
        let width = Width { direction, of: Value::Mean, half: of.between_trials_ns.and_then(relative) };
        let Some(half) = width.half.filter(|_| width.includes_zero()) else { continue };
        let (level, remedy) = match trials < precision::ENOUGH_TRIALS {
            true => (Level::Degraded, Some("raise --trials".into())),
            false => (Level::Void, free()),
        };
        let text = precision::no_value(width.of, half, remedy);
        verdict.lower_value(summary.direction.into(), width.of, level, text);
    }
}

#[cfg(test)]
mod tests;
