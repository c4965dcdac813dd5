//! How narrow the intervals of a run are that goes on until they are narrow enough.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::Direction;
use crate::plan::Until;

/// How narrow the intervals of a run are, and why no trial followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Precision {
    /// From the start of the run to this.
    pub after_ns: u64,
    /// Mean and p99 of each way, of the messages that its answer is of.
    pub widths: Vec<Width>,
    /// Why the run ended; `None` while it lasts, and if the user ended it.
    pub ended: Option<Ended>,
}

/// Why a run ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// All intervals are as narrow as asked.
    Narrow,
    /// Another trial would have ended after the time limit.
    TimeLimit,
}

/// A value that has an interval between trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// The mean of the trials' means.
    Mean,
    /// The mean of the trials' 99th percentiles.
    P99,
}

named! { Value: Mean = "mean", P99 = "p99" }

/// How narrow one interval is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Width {
    /// Which way.
    pub direction: Direction,
    /// Of what.
    pub of: Value,
    /// Half the 95 % interval, as a part of the value; `None` of a single trial.
    pub half: Option<f64>,
}

impl Width {
    /// Whether it is as narrow as asked.
    pub fn is_within(&self, precision: f64) -> bool {
        self.half.is_some_and(|half| half <= precision)
    }

    /// Such as `rx p99`.
    pub fn name(&self) -> String {
        format!("{} {}", self.direction.name(), self.of.name())
    }
}

impl Precision {
    /// Time limits to advise, in seconds.
    const LIMITS_S: [u64; 5] = [30, 60, 120, 300, 600];

    /// Whether all are as narrow as asked.
    pub fn is_within(&self, precision: f64) -> bool {
        self.widths.iter().all(|width| width.is_within(precision))
    }

    /// The widest interval.
    pub fn widest(&self) -> Option<&Width> {
        let half = |width: &Width| width.half.unwrap_or(f64::INFINITY);
        self.widths.iter().max_by(|a, b| half(a).total_cmp(&half(b)))
    }

    /// A time limit in which that interval is as narrow as asked if trials go on to differ as they do: an interval
    /// is half as wide after four times as many. `None` beyond ten minutes.
    pub fn time_limit_ns(&self, width: &Width, until: Until) -> Option<u64> {
        let needed_ns = self.after_ns as f64 * (width.half? / until.precision).powi(2);
        Self::LIMITS_S.into_iter().map(|s| s * 1_000_000_000).find(|&limit| limit as f64 >= needed_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_times_the_trials_halve_an_interval() {
        let width = |half| Width { direction: Direction::Rx, of: Value::P99, half };
        let until = Until { precision: 0.05, time_limit_ns: 30_000_000_000 };
        let advised = |half| {
            let so_far = Precision { after_ns: 29_000_000_000, widths: vec![width(half)], ended: None };
            so_far.time_limit_ns(&so_far.widths[0], until).map(|ns| ns / 1_000_000_000)
        };
        assert_eq!([Some(0.1), Some(0.06), Some(2.0), None].map(advised), [Some(120), Some(60), None, None]);
        assert_eq!(width(None).name(), "rx p99");
        let of = |halves: &[Option<f64>]| Precision {
            after_ns: 1,
            widths: halves.iter().copied().map(width).collect(),
            ended: None,
        };
        assert!(of(&[Some(0.05), Some(0.01)]).is_within(0.05) && !of(&[Some(0.01), None]).is_within(0.05));
        assert_eq!(of(&[Some(0.05), None, Some(3.0)]).widest().unwrap().half, None);
    }
}
