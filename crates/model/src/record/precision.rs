//! How narrow the intervals of a run are that goes on until they are narrow enough.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::Direction;
use crate::plan::Until;
use crate::verdict::Level;

/// How narrow the intervals of a run are, and why no trial followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Precision {
    /// From the start of the run to this.
    pub after_ns: u64,
    /// Of `stack` mean and p99 of each way, of the messages that its answer is of; of `message` the figures of the answer's first
    /// sentence.
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
    /// Another trial, or round of trials, would have ended after the time limit.
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
    /// The mean of the trials' messages or replies a second.
    Rate,
    /// The mean of the trials' median times.
    MedianTime,
    /// A rate or a median time as a multiple of the first layer's in the same rounds.
    Ratio,
}

named! { Value: Mean = "mean", P99 = "p99", Rate = "rate", MedianTime = "median time", Ratio = "ratio" }

/// How narrow one interval is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Width {
    /// Which way; `None` of a value that has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// Of what.
    pub of: Value,
    /// Half the 95 % interval, as a part of the value; `None` of a single trial, and of a value that is unknown.
    pub half: Option<f64>,
}

impl Width {
    /// A little wider than asked is not worth a word; that of `cost` is the same.
    const ALMOST: f64 = 1.5;

    /// How far the value can be trusted where that precision was asked: with an interval that includes 0 it is no value.
    pub fn level(&self, asked: f64) -> Level {
        match self.half {
            _ if self.includes_zero() => Level::Void,
            Some(half) if half > Self::ALMOST * asked => Level::Degraded,
            _ => Level::Valid,
        }
    }

    /// Whether it is as wide as its value.
    pub fn includes_zero(&self) -> bool {
        self.half.is_some_and(|half| half >= 1.0)
    }

    /// Whether it is as narrow as asked.
    pub fn is_within(&self, precision: f64) -> bool {
        self.half.is_some_and(|half| half <= precision)
    }

    /// Such as `rx p99`.
    pub fn name(&self) -> String {
        let of = self.of.name();
        self.direction.map_or_else(|| of.into(), |direction| format!("{} {of}", direction.name()))
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

    /// Why nothing is to follow the `done` trials, or rounds of trials, that began after `begun_ns`; `None` while the run
    /// goes on. It has at least `least` of them, unless its time is up.
    pub fn end(&self, until: Until, done: usize, least: usize, begun_ns: u64) -> Option<Ended> {
        if done >= least && self.is_within(until.precision) {
            return Some(Ended::Narrow);
        }
        let next_ns = self.after_ns.saturating_sub(begun_ns) / done.max(1) as u64;
        (self.after_ns + next_ns > until.time_limit_ns).then_some(Ended::TimeLimit)
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
        let width = |half| Width { direction: Some(Direction::Rx), of: Value::P99, half };
        let until = Until { precision: 0.05, time_limit_ns: 30_000_000_000 };
        let advised = |half| {
            let so_far = Precision { after_ns: 29_000_000_000, widths: vec![width(half)], ended: None };
            so_far.time_limit_ns(&so_far.widths[0], until).map(|ns| ns / 1_000_000_000)
        };
        assert_eq!([Some(0.1), Some(0.06), Some(2.0), None].map(advised), [Some(120), Some(60), None, None]);
        let levels = [Some(0.075), Some(0.08), Some(1.0), None].map(|half| width(half).level(0.05));
        assert_eq!(levels, [Level::Valid, Level::Degraded, Level::Void, Level::Valid]);
        assert_eq!(width(None).name(), "rx p99");
        assert_eq!(Width { direction: None, ..width(None) }.name(), "p99");
        let of = |halves: &[Option<f64>]| Precision {
            after_ns: 1,
            widths: halves.iter().copied().map(width).collect(),
            ended: None,
        };
        assert!(of(&[Some(0.05), Some(0.01)]).is_within(0.05) && !of(&[Some(0.01), None]).is_within(0.05));
        assert_eq!(of(&[Some(0.05), None, Some(3.0)]).widest().unwrap().half, None);
    }

    #[test]
    fn a_run_ends_when_it_is_narrow_or_the_next_trial_would_be_late() {
        let until = Until { precision: 0.05, time_limit_ns: 1000 };
        let end = |half, after_ns, done| {
            let width = Width { direction: None, of: Value::Ratio, half };
            Precision { after_ns, widths: vec![width], ended: None }.end(until, done, 6, 100)
        };
        assert_eq!(end(Some(0.05), 700, 6), Some(Ended::Narrow));
        assert_eq!(end(Some(0.051), 700, 6), None);
        // One that is narrow by chance.
        assert_eq!(end(Some(0.01), 600, 5), None);
        assert_eq!(end(None, 700, 6), None);
        // Six took 800: the next one ends at 1033.
        assert_eq!(end(Some(0.051), 900, 6), Some(Ended::TimeLimit));
        assert_eq!(end(Some(0.01), 900, 5), Some(Ended::TimeLimit));
        assert_eq!(end(Some(0.01), 5000, 6), Some(Ended::Narrow));
    }
}
