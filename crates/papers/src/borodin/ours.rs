//! What was measured here, in the terms of the papers.

use std::cmp::Ordering;

use netfathom_model::path::Direction;
use netfathom_model::profile::{Piece, Profile};
use netfathom_model::record::{
    Cell, FigurePoint, Measured, PathSummary, PathTimes, ReproducedRun, Series, StackResult, Trial,
    TrialKind, Undisturbed, UndisturbedTimes,
};
use netfathom_stats::{between_trials, mean};

use crate::beside::{plain, point};

const RATES: usize = 32;

/// The measurement of the stack among the parts.
pub fn stack(runs: &[ReproducedRun]) -> Option<&StackResult> {
    runs.iter().find_map(|run| StackResult::of(&run.measurement))
}

pub fn measured(result: &StackResult) -> impl Iterator<Item = &Trial> {
    result.trials.iter().filter(|trial| trial.kind == TrialKind::Measured)
}

/// The run with its undisturbed messages alone, and what part they are of those that could be judged, in the direction with
/// the fewest; `None` where they do not stand for the others (docs/stack.md), or are all. A trial in which they do not has no
/// times: fewer than half at some rate may be those that met the processors in a better state.
pub fn undisturbed(result: &StackResult) -> Option<(StackResult, f64)> {
    let stand: Vec<&Undisturbed> =
        result.summaries.iter().map(PathSummary::stands_for_all).collect::<Option<_>>()?;
    let fewer = stand.iter().filter(|undisturbed| undisturbed.total.are_fewer());
    let share = fewer.map(|undisturbed| 1.0 - undisturbed.total.disturbed_share()).reduce(f64::min)?;
    let mut alone = result.clone();
    for trial in &mut alone.trials {
        trial.paths =
            trial.paths.iter().filter_map(|path| undisturbed_path(path, &result.plan.profile)).collect();
    }
    let left = |direction| 2 * paths(&alone, direction).len() >= paths(result, direction).len();
    result.summaries.iter().all(|summary| left(summary.direction)).then_some((alone, share))
}

fn undisturbed_path(path: &PathTimes, profile: &Profile) -> Option<PathTimes> {
    let undisturbed = path.undisturbed.clone().filter(UndisturbedTimes::stand)?;
    let alone = PathTimes {
        total: undisturbed.times,
        peak: undisturbed.peak,
        series: undisturbed.series,
        ..path.clone()
    };
    let stand_on = |slope| {
        let [all, left] = [path, &alone].map(|path| by_rate(path, profile, Some(slope)));
        all.iter().zip(&left).all(|(all, left)| 2 * left.n >= all.n)
    };
    [Slope::Rising, Slope::Falling].into_iter().all(stand_on).then_some(alone)
}

/// The times of a direction in one trial; `None` where there are none.
pub fn path(trial: &Trial, direction: Direction) -> Option<&PathTimes> {
    trial.paths.iter().find(|path| path.direction == direction && path.total.n > 0)
}

/// The times of a direction, trial by trial.
pub fn paths(result: &StackResult, direction: Direction) -> Vec<&PathTimes> {
    measured(result).filter_map(|trial| path(trial, direction)).collect()
}

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slope {
    Rising,
    Falling,
}

impl Slope {
    fn of(piece: &Piece) -> Option<Self> {
        match piece.to_per_s.total_cmp(&piece.from_per_s) {
            Ordering::Greater => Some(Self::Rising),
            Ordering::Less => Some(Self::Falling),
            Ordering::Equal => None,
        }
    }
}

/// A window of time: the rate that the plan had for its middle, and the messages in it.
struct Window {
    rate_per_s: f64,
    slope: Option<Slope>,
    n: u64,
    sum_ns: i64,
}

/// The windows of a trial, on one slope or on all, without those after the plan's end: a sender that fell
/// behind goes on, at a rate that the plan does not name.
fn windows(path: &PathTimes, profile: &Profile, slope: Option<Slope>) -> Vec<Window> {
    let (series, pieces) = (&path.series, profile.pieces());
    let window = |i: usize| {
        let at_s = series.middle_s(i);
        let piece = pieces.iter().find(|p| (p.start_s..=p.start_s + p.length_s).contains(&at_s));
        Window {
            rate_per_s: profile.rate_at_s(at_s),
            slope: piece.and_then(Slope::of),
            n: series.n[i],
            sum_ns: series.sum_ns[i],
        }
    };
    let wanted = |w: &Window| w.n > 0 && w.rate_per_s > 0.0 && (slope.is_none() || w.slope == slope);
    (0..series.n.len()).map(window).filter(wanted).collect()
}

/// The lowest and the highest rate of a profile.
fn range_per_s(profile: &Profile) -> (f64, f64) {
    let lowest = profile.pieces().iter().fold(f64::INFINITY, |low, p| low.min(p.from_per_s).min(p.to_per_s));
    (lowest, profile.peak_per_s())
}

/// Mean times of a trial in the lowest, the middle and the highest third of the rates, in microseconds; `None` where no
/// message was sent.
pub fn thirds_us(
    result: &StackResult,
    direction: Direction,
    slope: Option<Slope>,
) -> impl Iterator<Item = [Option<f64>; 3]> {
    let profile = &result.plan.profile;
    let (from, to) = thirds_per_s(profile);
    let of = move |path: &PathTimes| {
        let mut thirds = [Heap::default(); 3];
        for window in windows(path, profile, slope) {
            let rate_per_s = window.rate_per_s;
            thirds[usize::from(rate_per_s > from) + usize::from(rate_per_s >= to)].add(&window);
        }
        thirds.map(|third| third.mean_us())
    };
    paths(result, direction).into_iter().map(of)
}

/// The same of the lowest and the highest third, of trials that have both.
pub fn ends_us(result: &StackResult, direction: Direction, slope: Option<Slope>) -> Vec<(f64, f64)> {
    thirds_us(result, direction, slope).filter_map(|[low, _, high]| low.zip(high)).collect()
}

/// Where the lowest third of the rates ends, and where the highest begins.
pub fn thirds_per_s(profile: &Profile) -> (f64, f64) {
    let (lowest, highest) = range_per_s(profile);
    let third = (highest - lowest) / 3.0;
    (lowest + third, highest - third)
}

/// The messages of a trial by the wanted rate.
fn by_rate(path: &PathTimes, profile: &Profile, slope: Option<Slope>) -> Vec<Heap> {
    let (lowest, highest) = range_per_s(profile);
    let step = ((highest - lowest) / RATES as f64).max(f64::MIN_POSITIVE);
    let mut heaps = vec![Heap::default(); RATES];
    for window in windows(path, profile, slope) {
        let place = ((window.rate_per_s - lowest) / step) as usize;
        heaps[place.min(RATES - 1)].add(&window);
    }
    heaps
}

/// Mean time in microseconds over the wanted rate, all trials merged, with the interval between them.
pub fn over_rate(result: &StackResult, direction: Direction, slope: Option<Slope>) -> Vec<FigurePoint> {
    let paths = paths(result, direction);
    let heaps: Vec<Vec<Heap>> = paths.iter().map(|path| by_rate(path, &result.plan.profile, slope)).collect();
    (0..RATES).filter_map(|i| rate_point(heaps.iter().map(|of_trial| &of_trial[i]))).collect()
}

/// Time on the falling slope as a multiple of that on the rising one at the same rates, trial by trial:
/// geometric mean over the rates.
pub fn falling_over_rising(result: &StackResult, direction: Direction) -> Vec<f64> {
    let of = |path: &&PathTimes| {
        let [rising, falling] =
            [Slope::Rising, Slope::Falling].map(|slope| by_rate(path, &result.plan.profile, Some(slope)));
        let both =
            rising.iter().zip(&falling).filter_map(|(up, down)| Some((up.mean_us()?, down.mean_us()?)));
        let logs: Vec<f64> =
            both.filter(|&(up, down)| up > 0.0 && down > 0.0).map(|(up, down)| (down / up).ln()).collect();
        (!logs.is_empty()).then(|| mean(&logs).exp())
    };
    paths(result, direction).iter().filter_map(of).collect()
}

pub struct TimePoint {
    /// Its middle.
    pub at_s: f64,
    /// Messages a second, mean of the trials.
    pub rate_per_s: f64,
    /// Mean time of all trials' messages; `None` where there were none.
    pub mean_us: Option<f64>,
}

/// Rate and mean time over the trial, as the papers draw them.
pub fn over_time(result: &StackResult, direction: Direction) -> Vec<TimePoint> {
    let paths = paths(result, direction);
    let Some(series) = paths.first().map(|path| &path.series) else { return Vec::new() };
    let length_s = result.plan.profile.duration_ns() as f64 / 1e9;
    let point = |i: usize| {
        let (n, sum_ns) = window(paths.iter().map(|path| &path.series), i);
        TimePoint {
            at_s: series.middle_s(i),
            rate_per_s: n as f64 / paths.len() as f64 * 1e9 / series.window_ns.max(1) as f64,
            mean_us: (n > 0).then(|| sum_ns as f64 / n as f64 / 1e3),
        }
    };
    (0..series.n.len()).map(point).filter(|point| point.at_s < length_s).collect()
}

/// The messages and the sum of their times in one window of some trials.
pub fn window<'a>(trials: impl Iterator<Item = &'a Series>, i: usize) -> (u64, i64) {
    let of = |series: &Series| Some((*series.n.get(i)?, *series.sum_ns.get(i)?));
    trials.filter_map(of).fold((0, 0), |(n, sum), (more, ns)| (n + more, sum + ns))
}

fn rate_point<'a>(trials: impl Iterator<Item = &'a Heap>) -> Option<FigurePoint> {
    let mut all = Heap::default();
    let mut means = Vec::new();
    for heap in trials {
        all.n += heap.n;
        all.sum_ns += heap.sum_ns;
        all.rate_sum += heap.rate_sum;
        means.extend(heap.mean_us());
    }
    let half_width = between_trials(&means).map(|e| e.half_width);
    Some(point(all.rate_per_s(), Cell { half_width, ..plain(all.mean_us()?) }))
}
