//! What was measured here, in the terms of the papers.

use netfathom_model::path::Direction;
use netfathom_model::profile::Profile;
use netfathom_model::record::{
    Measurement, PathSummary, PathTimes, ReproducedRun, StackResult, Trial, TrialKind,
};
use netfathom_stats::between_trials;

/// Points of a line over the rate.
const RATES: usize = 32;

/// The measurement of the stack among the parts.
pub fn stack(runs: &[ReproducedRun]) -> Option<&StackResult> {
    runs.iter().find_map(|run| match &run.measurement {
        Measurement::Stack(result) => Some(&**result),
        _ => None,
    })
}

/// The trials that count.
pub fn measured(result: &StackResult) -> impl Iterator<Item = &Trial> {
    result.trials.iter().filter(|trial| trial.kind == TrialKind::Measured)
}

/// The times of a direction in one trial; `None` where there are none.
pub fn path(trial: &Trial, direction: Direction) -> Option<&PathTimes> {
    trial.paths.iter().find(|path| path.direction == direction && path.total.n > 0)
}

/// The times of a direction, trial by trial.
pub fn paths(result: &StackResult, direction: Direction) -> Vec<&PathTimes> {
    measured(result).filter_map(|trial| path(trial, direction)).collect()
}

/// A direction over all trials.
pub fn summary(result: &StackResult, direction: Direction) -> Option<&PathSummary> {
    result.summaries.iter().find(|summary| summary.direction == direction)
}

/// Mean times of both ways, trial by trial, in microseconds: out, in.
pub fn pairs_us(result: &StackResult) -> Vec<(f64, f64)> {
    let mean = |trial, direction| Some(path(trial, direction)?.total.mean_ns / 1e3);
    measured(result).filter_map(|t| Some((mean(t, Direction::Tx)?, mean(t, Direction::Rx)?))).collect()
}

/// Incoming over outgoing time, trial by trial.
pub fn growths(result: &StackResult) -> Vec<f64> {
    pairs_us(result).iter().filter(|(out, _)| *out > 0.0).map(|(out, into)| into / out).collect()
}

/// Messages and their time at about one rate.
#[derive(Clone, Copy, Debug, Default)]
struct Heap {
    n: u64,
    sum_ns: i64,
    rate_sum: f64,
}

impl Heap {
    fn add(&mut self, window: &Window) {
        self.n += window.n;
        self.sum_ns += window.sum_ns;
        self.rate_sum += window.rate_per_s * window.n as f64;
    }

    fn mean_us(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum_ns as f64 / self.n as f64 / 1e3)
    }

    fn rate_per_s(&self) -> f64 {
        self.rate_sum / self.n.max(1) as f64
    }
}

/// A window of time: the rate that the plan had for its middle, and the messages in it.
struct Window {
    rate_per_s: f64,
    n: u64,
    sum_ns: i64,
}

/// The windows of a trial, without those after the plan's end: a sender that fell behind goes
/// on, and nobody can say at which rate.
fn windows(path: &PathTimes, profile: &Profile) -> Vec<Window> {
    let series = &path.series;
    let window = |i: usize| Window {
        rate_per_s: profile.rate_at_s(series.middle_s(i)),
        n: series.n[i],
        sum_ns: series.sum_ns[i],
    };
    (0..series.n.len()).map(window).filter(|w| w.n > 0 && w.rate_per_s > 0.0).collect()
}

/// The lowest and the highest rate of a profile.
fn range_per_s(profile: &Profile) -> (f64, f64) {
    let lowest = profile.pieces().iter().fold(f64::INFINITY, |low, p| low.min(p.from_per_s).min(p.to_per_s));
    (lowest, profile.peak_per_s())
}

/// Mean times of a trial in the lowest and in the highest third of the rates, in microseconds.
pub fn thirds_us(result: &StackResult, direction: Direction) -> Vec<(f64, f64)> {
    let profile = &result.plan.profile;
    let (from, to) = thirds_per_s(profile);
    let of = |path: &&PathTimes| {
        let (mut low, mut high) = (Heap::default(), Heap::default());
        for window in windows(path, profile) {
            if window.rate_per_s <= from {
                low.add(&window);
            } else if window.rate_per_s >= to {
                high.add(&window);
            }
        }
        Some((low.mean_us()?, high.mean_us()?))
    };
    paths(result, direction).iter().filter_map(of).collect()
}

/// Where the lowest third of the rates ends, and where the highest begins.
pub fn thirds_per_s(profile: &Profile) -> (f64, f64) {
    let (lowest, highest) = range_per_s(profile);
    let third = (highest - lowest) / 3.0;
    (lowest + third, highest - third)
}

/// A point of a line over the rate.
pub struct RatePoint {
    /// Mean wanted rate of the messages in it.
    pub rate_per_s: f64,
    /// Mean time of all trials' messages.
    pub mean_us: f64,
    /// Half the interval between trials; `None` below two.
    pub half_width_us: Option<f64>,
}

/// Mean time over the wanted rate, all trials merged.
pub fn over_rate(result: &StackResult, direction: Direction) -> Vec<RatePoint> {
    let profile = &result.plan.profile;
    let (lowest, highest) = range_per_s(profile);
    let step = ((highest - lowest) / RATES as f64).max(f64::MIN_POSITIVE);
    let heaps: Vec<Vec<Heap>> = paths(result, direction)
        .iter()
        .map(|path| {
            let mut heaps = vec![Heap::default(); RATES];
            for window in windows(path, profile) {
                let place = ((window.rate_per_s - lowest) / step) as usize;
                heaps[place.min(RATES - 1)].add(&window);
            }
            heaps
        })
        .collect();
    (0..RATES).filter_map(|i| rate_point(heaps.iter().map(|of_trial| &of_trial[i]))).collect()
}

fn rate_point<'a>(trials: impl Iterator<Item = &'a Heap>) -> Option<RatePoint> {
    let mut all = Heap::default();
    let mut means = Vec::new();
    for heap in trials {
        all.n += heap.n;
        all.sum_ns += heap.sum_ns;
        all.rate_sum += heap.rate_sum;
        means.extend(heap.mean_us());
    }
    Some(RatePoint {
        rate_per_s: all.rate_per_s(),
        mean_us: all.mean_us()?,
        half_width_us: between_trials(&means).map(|e| e.half_width),
    })
}
