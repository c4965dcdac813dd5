//! Everything one measurement produced. Renderers, comparisons and exports see only this.

use netfathom_stats as stats;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accounting::Accounting;
use crate::environment::Environment;
use crate::path::{Direction, Stage, Tap};
use crate::plan::StackPlan;
use crate::verdict::{Finding, Verdict};

/// The version this build writes. It rises when a field changes its meaning or goes;
/// a new field that old readers may ignore does not raise it.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything one measurement produced.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// [`SCHEMA_VERSION`] of the build that wrote it.
    pub schema_version: u32,
    /// `<UTC time>-<measurement>-<short id>`, the name of its directory.
    pub id: String,
    /// The build that wrote it, such as `netfathom 0.1.0`.
    pub tool: String,
    /// When it started, RFC 3339 in UTC.
    pub started_utc: String,
    /// Whether it is whole.
    pub state: State,
    /// Where it was taken.
    pub environment: Environment,
    /// What was measured: the plan and its result.
    pub measurement: Measurement,
    /// How far it can be trusted.
    pub verdict: Verdict,
    /// What was noticed, explained.
    pub findings: Vec<Finding>,
}

/// Whether a record is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Written while trials were still to come; what a killed run leaves.
    Partial,
    /// Ended early by the user; the finished trials are kept.
    Interrupted,
    /// All trials are there.
    Complete,
}

/// The measurements there are; each brings its own plan and result.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Measurement {
    /// `netfathom stack`
    Stack(Box<StackResult>),
}

impl Measurement {
    /// The name of the command that made it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Stack(_) => "stack",
        }
    }
}

/// What `netfathom stack` produced.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StackResult {
    /// What was asked for.
    pub plan: StackPlan,
    /// The tap that was used.
    pub tap: Tap,
    /// Taps that were left out, each with its reason.
    pub left_out: Vec<LeftOut>,
    /// Every trial, in the order in which they ran.
    pub trials: Vec<Trial>,
    /// One a direction.
    pub summaries: Vec<PathSummary>,
    /// The ruler's own cost; `None` where too few control trials were run.
    pub self_cost: Option<SelfCost>,
    /// What the other tap says; empty where there was none.
    pub witnesses: Vec<Witness>,
}

/// Something that could not be used, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// What.
    pub what: String,
    /// Why.
    pub reason: String,
    /// What would make it work.
    pub remedy: String,
}

/// What a trial is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrialKind {
    /// With the tap: the measurement itself.
    Measured,
    /// Without any tap: what the ruler costs.
    Control,
    /// With the other tap: a second opinion.
    Witness,
}

/// One run of the plan's load.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// Its place in the run, from 0.
    pub index: u32,
    /// What it is for.
    pub kind: TrialKind,
    /// The tap that was on; `None` in a control.
    pub tap: Option<Tap>,
    /// Start, from the start of the run.
    pub started_after_ns: u64,
    /// What the generator did.
    pub load: Load,
    /// One a direction that was measured; empty in a control.
    pub paths: Vec<PathTimes>,
    /// Where every message ended.
    pub accounting: Accounting,
    /// What the reader's thread took of its processor, per delivered message.
    pub reader_cpu_ns_per_message: Option<f64>,
    /// The highest rate that a short burst without pauses reached under the same tap.
    pub flat_out_per_s: Option<f64>,
    /// How far CLOCK_REALTIME moved against CLOCK_MONOTONIC during the trial; only where
    /// stamps had to be converted.
    pub clock_moved_ns: Option<i64>,
    /// How far this trial can be trusted.
    pub verdict: Verdict,
}

/// What the generator did in one trial.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// Messages in the plan.
    pub planned: u64,
    /// Messages that the operating system accepted.
    pub sent: u64,
    /// Messages that it refused, by error.
    pub refused: Vec<Refused>,
    /// Messages that were never tried, since the time was over or the run was stopped.
    pub unsent: u64,
    /// Messages that left after the next one was due.
    pub missed_slots: u64,
    /// From the first departure to the last.
    pub span_ns: u64,
    /// Actual minus intended departure.
    pub lag: Distribution,
    /// Lag in units of the wanted interval at that moment, 99th percentile.
    pub lag_p99_of_interval: f64,
    /// Time that the send call took.
    pub send_call: Distribution,
    /// Lag and departures over the trial.
    pub series: Series,
}

/// Messages that the operating system refused with one error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refused {
    /// The error, such as `ECONNREFUSED`.
    pub error: String,
    /// How many.
    pub count: u64,
}

/// What one direction of one trial took.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PathTimes {
    /// Which way.
    pub direction: Direction,
    /// Stack time: application to link layer or back.
    pub total: Distribution,
    /// The same over the windows of highest intensity; `None` if no message left there.
    pub peak: Option<PeakTimes>,
    /// Every stage of the direction, in order.
    pub stages: Vec<StageTimes>,
    /// Stack time over the trial.
    pub series: Series,
}

/// The papers' peak indicators of one trial: the windows in which the plan wanted at least
/// 90 % of its highest rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeakTimes {
    /// Messages in those windows.
    pub count: u64,
    /// Mean stack time there.
    pub mean_ns: f64,
    /// Smallest.
    pub min_ns: i64,
    /// Largest.
    pub max_ns: i64,
    /// The papers' S, which assumes independent messages.
    pub mean_error_ns: Option<f64>,
    /// Messages a second that really left in those windows.
    pub reached_per_s: f64,
}

/// What one stage took, or why that is not known.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StageTimes {
    /// Which.
    pub stage: Stage,
    /// The times, or why there are none.
    pub times: StageOutcome,
}

/// The times of a stage, or why there are none.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StageOutcome {
    /// Over the messages that passed the stage.
    Measured {
        /// All of the trial.
        distribution: Box<Distribution>,
        /// Over the trial.
        series: Series,
    },
    /// Not measured, with the reason.
    Unavailable(String),
}

impl StageOutcome {
    /// The times, if there are any.
    #[must_use]
    pub fn distribution(&self) -> Option<&Distribution> {
        match self {
            Self::Measured { distribution, .. } => Some(distribution),
            Self::Unavailable(_) => None,
        }
    }
}

/// Moments per window of time, column by column. Merging is addition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Length of a window.
    pub window_ns: u64,
    /// Values in each window, by the message's actual departure.
    pub n: Vec<u64>,
    /// Their sums.
    pub sum_ns: Vec<i64>,
    /// The sums of their squares.
    pub sum_sq_ns2: Vec<f64>,
    /// The smallest, 0 where there is none.
    pub min_ns: Vec<i64>,
    /// The largest, 0 where there is none.
    pub max_ns: Vec<i64>,
}

impl Series {
    /// Writes windows of moments down, column by column.
    #[must_use]
    pub fn of(window_ns: u64, windows: &[stats::Moments]) -> Self {
        let filled = |value: fn(&stats::Moments) -> i64| -> Vec<i64> {
            windows.iter().map(|m| if m.n > 0 { value(m) } else { 0 }).collect()
        };
        Self {
            window_ns,
            n: windows.iter().map(|m| m.n).collect(),
            sum_ns: filled(|m| m.sum as i64),
            sum_sq_ns2: windows.iter().map(|m| m.sum_sq as f64).collect(),
            min_ns: filled(|m| m.min),
            max_ns: filled(|m| m.max),
        }
    }

    /// Mean of a window; `None` where it is empty or not there.
    #[must_use]
    pub fn mean_ns(&self, window: usize) -> Option<f64> {
        let n = *self.n.get(window)?;
        (n > 0).then(|| self.sum_ns[window] as f64 / n as f64)
    }

    /// Middle of a window in seconds from the start of the trial.
    #[must_use]
    pub fn middle_s(&self, window: usize) -> f64 {
        (window as f64 + 0.5) * self.window_ns as f64 / 1e9
    }
}

/// A set of times: exact moments, a histogram, and what readers want to see of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// How many.
    pub n: u64,
    /// How many of them were below zero.
    pub negative: u64,
    /// Sum, exact.
    pub sum_ns: i64,
    /// Sum of squares, exact, in decimal digits: it does not fit a JSON number.
    pub sum_sq_ns2: String,
    /// Mean; 0 if `n` is.
    pub mean_ns: f64,
    /// Smallest; 0 if `n` is.
    pub min_ns: i64,
    /// Largest; 0 if `n` is.
    pub max_ns: i64,
    /// Median.
    pub p50_ns: i64,
    /// 90th percentile.
    pub p90_ns: i64,
    /// 99th percentile.
    pub p99_ns: i64,
    /// 99.9th percentile.
    pub p999_ns: i64,
    /// The papers' S, which assumes independent messages.
    pub mean_error_ns: Option<f64>,
    /// `log2` of the buckets an octave: a bucket is `2^-grain` of its lower bound wide.
    pub grain: u32,
    /// The buckets that hold anything: index and count. Below `2^grain` the index is the
    /// value; above, bucket `i` starts at `(i % 2^grain + 2^grain) << (i / 2^grain - 1)`.
    pub buckets: Vec<(u32, u64)>,
}

impl From<&stats::Distribution> for Distribution {
    fn from(d: &stats::Distribution) -> Self {
        let m = &d.moments;
        let quantile = |q| d.quantile(q).unwrap_or(0);
        Self {
            n: m.n,
            negative: d.histogram.negative(),
            sum_ns: m.sum as i64,
            sum_sq_ns2: m.sum_sq.to_string(),
            mean_ns: m.mean().unwrap_or(0.0),
            min_ns: if m.n > 0 { m.min } else { 0 },
            max_ns: if m.n > 0 { m.max } else { 0 },
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            mean_error_ns: m.mean_error(),
            grain: d.histogram.grain(),
            buckets: d.histogram.buckets().map(|(i, c)| (i as u32, c)).collect(),
        }
    }
}

impl From<&Distribution> for stats::Distribution {
    fn from(d: &Distribution) -> Self {
        let mut histogram = stats::Histogram::new(d.grain.min(16));
        histogram.add_negative(d.negative);
        // A bucket that no value has can only come from a foreign record.
        let last = stats::bucket_index(u64::MAX, histogram.grain()) as u32;
        let known = d.buckets.iter().filter(|b| b.0 <= last);
        known.for_each(|&(i, c)| histogram.add_bucket(i as usize, c));
        let moments = if d.n == 0 {
            stats::Moments::default()
        } else {
            stats::Moments {
                n: d.n,
                sum: d.sum_ns.into(),
                sum_sq: d.sum_sq_ns2.parse().unwrap_or(0),
                min: d.min_ns,
                max: d.max_ns,
            }
        };
        Self { moments, histogram }
    }
}

/// A row of the papers' summary table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Indicator {
    /// Trials behind it.
    pub trials: u32,
    /// Mean of the trial means.
    pub mean_ns: f64,
    /// Smallest time of all trials.
    pub min_ns: i64,
    /// Largest time of all trials.
    pub max_ns: i64,
    /// Half the 95 % interval between trials, Student's t; `None` of a single trial.
    pub between_trials_ns: Option<f64>,
}

/// One direction over all measured trials.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PathSummary {
    /// Which way.
    pub direction: Direction,
    /// Over everything.
    pub overall: Indicator,
    /// Over the windows of highest intensity.
    pub peak: Option<Indicator>,
    /// 1 / mean time at peak: the load that the paper infers (Borodin 2014).
    pub theoretical_per_s: Option<f64>,
    /// The highest rate that really left, mean over trials, in the same windows.
    pub reached_per_s: Option<f64>,
    /// All trials merged.
    pub total: Distribution,
    /// All trials merged, stage by stage.
    pub stages: Vec<StageSummary>,
}

/// One stage over all measured trials.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StageSummary {
    /// Which.
    pub stage: Stage,
    /// Whether it is part of the stack time.
    pub inside: bool,
    /// Its part of the stack time, 0 to 1; of a stage outside, in the same unit.
    pub share: Option<f64>,
    /// The times of the messages that passed it, or why there are none.
    pub times: StageSummaryTimes,
}

/// The merged times of a stage, or why there are none.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StageSummaryTimes {
    /// Over the messages that passed the stage.
    Measured(Box<Distribution>),
    /// Not measured, with the reason.
    Unavailable(String),
}

/// An estimate with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The estimate itself.
    pub value: f64,
    /// Half the width of the 95 % interval.
    pub half_width: f64,
}

impl From<stats::Estimate> for Estimate {
    fn from(e: stats::Estimate) -> Self {
        Self { value: e.value, half_width: e.half_width }
    }
}

impl Estimate {
    /// Whether the interval holds `x`: the difference to it cannot be told.
    #[must_use]
    pub fn holds(&self, x: f64) -> bool {
        (self.value - x).abs() <= self.half_width
    }
}

/// The ruler's own cost: trials with the tap against trials without.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelfCost {
    /// Longer send calls, per message. On one machine the receiver's kernel half runs
    /// inside them.
    pub send_call_ns: Estimate,
    /// More processor time of the reader, per message.
    pub reader_cpu_ns: Option<Estimate>,
    /// Share of the flat-out rate that the tap takes, 0 to 1.
    pub rate_lost: Option<Estimate>,
}

/// What the other tap says of the same quantity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Witness {
    /// Which way.
    pub direction: Direction,
    /// The other tap.
    pub tap: Tap,
    /// Its mean stack time over its trials.
    pub mean_ns: f64,
    /// The main tap's mean minus its own.
    pub difference_ns: f64,
    /// Half the 95 % interval of that difference between trials; `None` below two of either.
    pub half_width_ns: Option<f64>,
    /// Whether they agree.
    pub agreement: Agreement,
}

/// Whether two taps agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// Within the larger of 15 % and 300 ns.
    Agree,
    /// Beyond that, and beyond what the trials of one tap differ among themselves.
    Disagree,
    /// Beyond that, but the trials of one tap differ as much among themselves.
    CannotTell,
}
