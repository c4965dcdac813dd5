//! Many simulated runs: how often the interval in the result holds the mean.

use netfathom_model::plan::Until;
use netfathom_model::random::SplitMix64;
use netfathom_stats::{Estimate, Interval, batches, between_sequential_trials, between_trials, mean};

const RUNS: usize = 4000;
/// Trials that a time limit leaves room for.
const MOST_TRIALS: usize = 40;
/// Of trials, their standard deviation as a part of the mean.
const VARIATIONS: [f64; 6] = [0.02, 0.05, 0.1, 0.2, 0.3, 0.6];
/// Correlation of a trial with the one before it: 0.1 for sending and 0.3 for receiving were measured on an idle virtual
/// machine.
const ALIKE: f64 = 0.3;
const PRECISIONS: [f64; 4] = [0.02, 0.05, 0.1, 0.2];

/// How the means of trials differ; all have the mean 1.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Normal,
    /// With a long tail, as times on a busy machine.
    Lognormal,
    /// Normal around a mean that moves by a standard deviation over the most trials.
    Drifting,
    /// Normal, each correlated by [`ALIKE`] with the one before, as on a machine with neighbors.
    Alike,
}

impl Shape {
    fn draw(self, random: &mut SplitMix64, variation: f64, before: &[f64]) -> f64 {
        let (a, b) = (random.next_unit(), random.next_unit());
        // Box and Muller.
        let normal = (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos();
        match self {
            Self::Normal => 1.0 + variation * normal,
            Self::Lognormal => {
                let square = (1.0 + variation * variation).ln();
                (square.sqrt() * normal - square / 2.0).exp()
            }
            Self::Drifting => {
                let part = (before.len() as f64 + 0.5) / MOST_TRIALS as f64 - 0.5;
                1.0 + variation * (normal + part)
            }
            Self::Alike => match before.last() {
                None => 1.0 + variation * normal,
                Some(last) => 1.0 + ALIKE * (last - 1.0) + (1.0 - ALIKE * ALIKE).sqrt() * variation * normal,
            },
        }
    }
}

/// The standard deviation.
fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64).sqrt()
}

/// When to end, and which interval is the result's.
struct Rule {
    least_trials: usize,
    /// Half the interval by the number of trials, where their standard deviation is 1.
    halves: Vec<f64>,
    /// Whether trials close in time may be alike.
    batched: bool,
}

impl Rule {
    fn ours() -> Self {
        Self { batched: true, ..Self::new(Until::LEAST_TRIALS, between_sequential_trials) }
    }

    /// The quantiles of an interval once, for they take longer than all the rest.
    fn new(least_trials: u32, interval: Interval) -> Self {
        let half = |n: usize| {
            let trials: Vec<f64> = (0..n).map(|i| (i % 2) as f64).collect();
            interval(&trials).map_or(f64::INFINITY, |e| e.half_width / deviation(&trials))
        };
        let halves = (0..=MOST_TRIALS).map(half).collect();
        Self { least_trials: least_trials as usize, halves, batched: false }
    }

    /// The interval of one run, after its last trial.
    fn run(&self, shape: Shape, random: &mut SplitMix64, variation: f64, precision: f64) -> Estimate {
        let mut trials = Vec::with_capacity(MOST_TRIALS);
        loop {
            trials.push(shape.draw(random, variation, &trials));
            let n = trials.len();
            if n < self.least_trials {
                continue;
            }
            let value = mean(&trials);
            let batches = batches(&trials);
            let batched =
                if batches.is_empty() { 0.0 } else { self.halves[batches.len()] * deviation(&batches) };
            let half_width =
                (self.halves[n] * deviation(&trials)).max(if self.batched { batched } else { 0.0 });
            if half_width <= precision * value || n == MOST_TRIALS {
                return Estimate { value, half_width };
            }
        }
    }

    /// In what part of the runs the interval holds the mean.
    fn coverage(&self, shape: Shape, variation: f64, precision: f64) -> f64 {
        let mut random = SplitMix64::new(1);
        let holds = |_: &usize| self.run(shape, &mut random, variation, precision).holds(1.0);
        (0..RUNS).filter(holds).count() as f64 / RUNS as f64
    }

    /// The least of all variations and precisions, printed one by one.
    fn least_coverage(&self, shape: Shape) -> f64 {
        let pairs = PRECISIONS.iter().flat_map(|&p| VARIATIONS.map(|v| (p, v)));
        pairs
            .map(|(precision, variation)| {
                let coverage = self.coverage(shape, variation, precision);
                println!("{shape:?}, ± {precision}, trials differ by {variation}: {coverage:.3}");
                coverage
            })
            .fold(1.0, f64::min)
    }
}

#[test]
fn intervals_of_95_percent_hold_the_mean_that_often_although_they_end_the_run() {
    for shape in [Shape::Normal, Shape::Lognormal] {
        let least = Rule::ours().least_coverage(shape);
        assert!(least >= 0.94, "{shape:?}: {least}");
    }
}

#[test]
fn students_interval_does_not_once_the_run_ends_with_it() {
    for shape in [Shape::Normal, Shape::Lognormal] {
        let least = |trials, interval| Rule::new(trials, interval).least_coverage(shape);
        let naive = least(2, between_trials);
        assert!(naive < 0.91, "{shape:?}: {naive}");
        // Neither of the two corrections is enough.
        let minimum = least(Until::LEAST_TRIALS, between_trials);
        assert!(minimum < 0.94, "{shape:?}: {minimum}");
        let level = least(2, between_sequential_trials);
        assert!(level < 0.94, "{shape:?}: {level}");
    }
}

#[test]
fn trials_that_are_like_those_before_them_need_the_batches() {
    let least = Rule::ours().least_coverage(Shape::Alike);
    let plain = Rule { batched: false, ..Rule::ours() }.least_coverage(Shape::Alike);
    println!("{least} with batches, {plain} without");
    assert!(least > plain + 0.01);
}

/// For information: docs/decisions/0031-until-narrow.md has the figures.
#[test]
fn what_drifts_is_not_held_that_often() {
    let least = Rule::ours().least_coverage(Shape::Drifting);
    assert!(least < 0.94, "{least}: the decision says less");
}
