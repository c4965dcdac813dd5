//! What a record says over time.

use netfathom_model::record::{Load, Measurement, Series};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::figures;

/// One series of one trial.
#[derive(Serialize, JsonSchema)]
pub struct Curve {
    pub name: String,
    pub unit: &'static str,
    pub trial: Option<u32>,
    /// Begin and end of each window in nanoseconds, how many fell into it, their value, the least and the most.
    #[schemars(with = "Vec<(u64, u64, Option<u64>, Option<f64>, Option<f64>, Option<f64>)>")]
    pub points: Vec<Point>,
}

#[derive(Default)]
pub struct Point {
    pub start_ns: u64,
    pub end_ns: u64,
    pub n: Option<u64>,
    pub value: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
}

/// Without names: there would be more of them than of numbers.
impl Serialize for Point {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (self.start_ns, self.end_ns, self.n, self.value, self.min, self.max).serialize(to)
    }
}

/// All of a run, from the start of each trial.
pub fn curves(measurement: &Measurement) -> Vec<Curve> {
    figures(measurement).curves()
}

impl Curve {
    /// Means of times; a window without any has no value.
    pub(super) fn times(name: String, trial: Option<u32>, series: &Series) -> Self {
        let bound = |column: &[i64], window: usize| column.get(window).map(|&ns| ns as f64);
        let point = |(window, &n): (usize, &u64)| Point {
            n: Some(n),
            value: series.mean_ns(window),
            min: bound(&series.min_ns, window).filter(|_| n > 0),
            max: bound(&series.max_ns, window).filter(|_| n > 0),
            ..window_of(series.window_ns, window)
        };
        Self { name, unit: "ns", trial, points: series.n.iter().enumerate().map(point).collect() }
    }

    pub(super) fn rate(name: String, trial: Option<u32>, window_ns: u64, counts: &[u64]) -> Self {
        let seconds = window_ns as f64 / 1e9;
        let point = |(window, &n): (usize, &u64)| Point {
            n: Some(n),
            value: (window_ns > 0).then(|| n as f64 / seconds),
            ..window_of(window_ns, window)
        };
        Self { name, unit: "per_s", trial, points: counts.iter().enumerate().map(point).collect() }
    }

    /// Departures of a trial and how late they were.
    pub(super) fn departures(prefix: &str, trial: u32, load: &Load) -> [Self; 2] {
        let series = &load.series;
        [
            Self::rate(format!("{prefix}rate"), Some(trial), series.window_ns, &series.n),
            Self::times(format!("{prefix}lag"), Some(trial), series),
        ]
    }
}

fn window_of(window_ns: u64, window: usize) -> Point {
    // Beyond what a clock tells, as only a foreign record says, the end of time is all that is known.
    let at = |window: usize| window_ns.saturating_mul(window as u64);
    Point { start_ns: at(window), end_ns: at(window + 1), ..Point::default() }
}
