//! When a run ends that has no fixed number of trials.

use netfathom_stats::{Interval, between_sequential_trials, between_trials};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PlanError, S, conflict, span};

/// When a run ends that has no fixed number of trials.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Until {
    /// Half the 95 % interval of each value that decides is at most this part of it.
    pub precision: f64,
    /// No trial, or round of trials, begins that would end after it, from the start of the run.
    pub time_limit_ns: u64,
}

impl Until {
    /// The fewest measured trials. With fewer, chance makes too many intervals narrow.
    pub const LEAST_TRIALS: u32 = 6;
    /// The widest precision; beyond it, intervals of skewed trials are too short after so few of them.
    const WIDEST: f64 = 0.2;
    const TIME_LIMIT_NS: (u64, u64) = (S, 86_400 * S);

    pub(super) fn validated(self) -> Result<(), PlanError> {
        if !(0.001..=Self::WIDEST).contains(&self.precision) {
            let sign = if self.precision >= 1.0 { "; it is written with its %, such as 5%" } else { "" };
            return conflict(format!("--precision: choose from 0.1% to 20%{sign}"));
        }
        span("time-limit", self.time_limit_ns, Self::TIME_LIMIT_NS)
    }

    /// The interval between the trials of a run: wider where it decides when the run ends.
    pub fn interval(until: Option<Self>) -> Interval {
        if until.is_some() { between_sequential_trials } else { between_trials }
    }
}
