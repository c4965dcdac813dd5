//! What `netfathom stack` produces: trials, and what follows from them.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Contention, Distribution, Estimate, Precision, Series};
use crate::accounting::Accounting;
use crate::path::{Direction, Stage, Tap};
use crate::plan::StackPlan;
use crate::verdict::{Level, Verdict};

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
    /// The overhead of the tap; `None` where too few baseline trials were run.
    pub self_cost: Option<SelfCost>,
    /// The cross-check with another tap; empty where there was none.
    #[serde(rename = "witnesses")]
    pub cross_checks: Vec<CrossCheck>,
    /// Every tap that ran, beside each other.
    pub taps: Vec<TapRow>,
    /// How narrow the intervals are; `None` of a run with a fixed number of trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrialKind {
    /// With the tap: the measurement itself.
    #[default]
    Measured,
    /// The baseline, without any tap: it measures the overhead of the tap.
    #[serde(rename = "control")]
    Baseline,
    /// The cross-check, with another tap.
    #[serde(rename = "witness")]
    CrossCheck,
    /// With the other tap, while the programs of the main one are attached and removed alternately: what they
    /// add to the times that they report.
    Alternating,
}

named! { TrialKind:
    Measured = "measured", Baseline = "baseline", CrossCheck = "cross-check", Alternating = "alternating"
}

/// One run of the plan's load.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// Its place in the run, from 0.
    pub index: u32,
    /// What it is for.
    pub kind: TrialKind,
    /// The tap that was on; `None` in a baseline trial.
    pub tap: Option<Tap>,
    /// Start, from the start of the run.
    pub started_after_ns: u64,
    /// What the generator did.
    pub load: Load,
    /// One a direction that was measured; empty in a baseline trial.
    pub paths: Vec<PathTimes>,
    /// Where every message ended.
    pub accounting: Accounting,
    /// CPU time of the reader's thread, per delivered message.
    pub reader_cpu_ns_per_message: Option<f64>,
    /// The highest rate that a short burst without pauses reached under the same tap.
    pub flat_out_per_s: Option<f64>,
    /// What the pcap tap captured, one a device; empty of other taps.
    pub captured: Vec<Captured>,
    /// The number of this trial in its messages' headers.
    pub flow: u32,
    /// Where its messages came from, a socket a sender; empty where the senders are on another
    /// host.
    pub from: Vec<SocketAddr>,
    /// Where they went.
    pub to: Option<SocketAddr>,
    /// How far CLOCK_REALTIME moved against CLOCK_MONOTONIC during the trial; only where
    /// stamps had to be converted.
    pub clock_moved_ns: Option<i64>,
    /// Of an alternating trial: what the main tap adds, one a direction.
    pub added: Vec<Added>,
    /// How far this trial can be trusted.
    pub verdict: Verdict,
}

/// What the main tap adds to the times of one direction, by an alternating trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Added {
    /// Which way.
    pub direction: Direction,
    /// Mean time with the main tap attached minus that without, a value a round of blocks.
    pub differences_ns: Vec<f64>,
    /// Of sending: how far behind the main tap's link layer the other tap has its own, on the same messages.
    pub behind_ns: Option<f64>,
}

/// What a capture of one trial held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Captured {
    /// The direction that was captured.
    pub direction: Direction,
    /// The device.
    pub device: String,
    /// What captured, such as `packet ring` or `tcpdump 4.99.3`.
    pub by: String,
    /// Packets in the capture.
    pub packets: u64,
    /// Packets that the kernel dropped because the capture had no room (PACKET_STATISTICS).
    pub dropped: u64,
    /// Packets that the device itself dropped, if it reports that.
    pub dropped_by_device: Option<u64>,
    /// Packets with a timestamp from before the capture, because a program on the host
    /// requested packet timestamps (SO_TIMESTAMP); `None` if unknown.
    pub stamped_early: Option<u64>,
    /// Messages of the trial that were captured more than once.
    pub duplicates: u64,
    /// Packets that were none of the trial's messages.
    pub others: u64,
    /// The file within the run's directory, where it was kept.
    pub file: Option<String>,
}

/// What the generator did in one trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// Messages in the plan.
    pub planned: u64,
    /// Messages that the operating system accepted.
    pub sent: u64,
    /// Messages that it refused, by error.
    pub refused: Vec<Refused>,
    /// Messages that were never tried, since the time was over or the run was stopped.
    pub unsent: u64,
    /// Messages that were sent after the next one was due.
    pub missed_slots: u64,
    /// From the first message that was sent to the last.
    pub span_ns: u64,
    /// Actual minus intended send time.
    pub lag: Distribution,
    /// Lag in send slots, 99th percentile: a send slot is the wanted interval at that moment, times the
    /// messages that the engine sends together. Not a time: 0.1 is a tenth of a send slot.
    pub lag_p99_of_interval: f64,
    /// Time that the send call took.
    pub send_call: Distribution,
    /// Lag and messages sent over the trial.
    pub series: Series,
    /// Who had the CPUs of the threads of the load; empty where that was not observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contention: Vec<Contention>,
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
    /// The same over the windows of highest intensity; `None` if no message was sent there.
    pub peak: Option<PeakTimes>,
    /// Of the messages that found nothing foreign on the CPUs that they needed (docs/stack.md); `None` where that was not observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undisturbed: Option<UndisturbedTimes>,
    /// Every stage of the direction, in order.
    pub stages: Vec<StageTimes>,
    /// Stack time over the trial.
    pub series: Series,
}

/// The stack times of messages that found nothing foreign on the CPUs that they needed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UndisturbedTimes {
    /// Messages that could be judged as disturbed or not.
    pub judged: u64,
    /// Those that were not.
    pub times: Distribution,
    /// Their stages, as far as they could be divided; empty where that was not kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageSummary>,
    /// As in [`PathTimes`], with the rate of all departures; `None` of several trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<PeakTimes>,
    /// Their times over the trial; empty of several trials.
    #[serde(default, skip_serializing_if = "Series::is_empty")]
    pub series: Series,
    /// Of those, the ones that were sent after the next message was due.
    pub missed_slots: u64,
    /// As in [`Load`], of the undisturbed messages; of several trials the worst.
    pub lag_p99_of_interval: f64,
}

impl UndisturbedTimes {
    /// Fewer do not stand for a trial.
    pub const LEAST: u64 = 100;

    /// Whether they stand for the others: fewer than half are those that met the CPUs in a better state.
    pub fn stand(&self) -> bool {
        self.disturbed_share() <= 0.5 && self.times.n >= Self::LEAST
    }

    /// Whether enough were disturbed to say so: 0.1 %.
    pub fn are_fewer(&self) -> bool {
        self.disturbed_share() >= 0.001
    }

    /// The part of the messages that were disturbed, 0 to 1.
    pub fn disturbed_share(&self) -> f64 {
        self.judged.saturating_sub(self.times.n) as f64 / self.judged.max(1) as f64
    }
}

/// The outgoing paper's (Borodin 2014) indicators at peak, of one trial. Ours is what counts as peak: the windows in which
/// the plan wanted at least 90 % of its highest rate.
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
    /// Messages a second that were sent in those windows.
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
    pub fn distribution(&self) -> Option<&Distribution> {
        match self {
            Self::Measured { distribution, .. } => Some(distribution),
            Self::Unavailable(_) => None,
        }
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
    /// Half the 95 % interval between trials, Student's t; wider where the number of trials depends on it (docs/stack.md).
    /// `None` of a single trial.
    pub between_trials_ns: Option<f64>,
}

/// One direction over all measured trials.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PathSummary {
    /// Which way.
    pub direction: Direction,
    /// How far its time can be trusted: that of the undisturbed messages if they stand for the others, else of all.
    pub level: Level,
    /// Over everything.
    pub overall: Indicator,
    /// Over the windows of highest intensity.
    pub peak: Option<Indicator>,
    /// 1 / mean time at peak: the load that the paper infers (Borodin 2014). `None` of receiving, where
    /// messages overlap.
    pub theoretical_per_s: Option<f64>,
    /// The highest rate that was sent, mean over trials, in the same windows.
    pub reached_per_s: Option<f64>,
    /// All trials merged.
    pub total: Distribution,
    /// All trials merged, stage by stage.
    pub stages: Vec<StageSummary>,
    /// Of the undisturbed messages; `None` where a trial has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undisturbed: Option<Undisturbed>,
}

impl PathSummary {
    /// The undisturbed messages, if they stand for the others.
    pub fn stands_for_all(&self) -> Option<&Undisturbed> {
        self.undisturbed.as_ref().filter(|undisturbed| undisturbed.total.stand())
    }
}

/// Undisturbed messages over all measured trials.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Undisturbed {
    /// Over everything.
    pub overall: Indicator,
    /// All trials merged.
    pub total: UndisturbedTimes,
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

impl StageSummaryTimes {
    /// The times, if there are any.
    pub fn distribution(&self) -> Option<&Distribution> {
        match self {
            Self::Measured(distribution) => Some(distribution),
            Self::Unavailable(_) => None,
        }
    }
}

/// The overhead of a tap: trials with it against trials without. Differences of means over trials, with their interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelfCost {
    /// Longer send calls, per message. On one machine the receiver's kernel half runs
    /// inside them.
    pub send_call_ns: Estimate,
    /// The same as a part of the send call without a tap: 0.1 is a tenth longer.
    pub send_call_share: Option<Estimate>,
    /// What of it lies within the time to send that the tap reports, by alternating trials.
    pub within_tx_ns: Option<Estimate>,
    /// The same of the time to receive.
    pub within_rx_ns: Option<Estimate>,
    /// More CPU time of the reader, per message.
    pub reader_cpu_ns: Option<Estimate>,
    /// Share of the flat-out rate that the tap takes, 0 to 1.
    pub rate_lost: Option<Estimate>,
}

/// What a tap may make of the sender, as a part of its send calls or of its highest rate. Borodin's
/// outgoing paper limited only lost packets; a capture of today loses none and slows the sender instead.
pub const DISTORTION: f64 = 0.1;

/// Whether a tap makes more of the sender than [`DISTORTION`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distorts {
    /// More, and it is not chance.
    Yes,
    /// Less, with all of the interval.
    No,
    /// The trials differ too much among themselves.
    CannotTell,
}

impl Distorts {
    /// From a part of the send call, or of the rate, and its interval.
    pub fn of(share: Estimate) -> Self {
        if share.value.abs() > DISTORTION && !share.holds(0.0) {
            Self::Yes
        } else if share.value.abs() + share.half_width <= DISTORTION {
            Self::No
        } else {
            Self::CannotTell
        }
    }
}

/// One tap beside the others, on the same load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TapRow {
    /// Which.
    pub tap: Tap,
    /// Trials behind it.
    pub trials: u32,
    /// Mean time to send over its trials, with the interval between them where there are
    /// two; `None` where that was not measured.
    pub tx_ns: Option<Estimate>,
    /// The same to receive: of timestamping from the arrival from the driver, of the others
    /// from the link layer.
    pub rx_ns: Option<Estimate>,
    /// Its mean time to send minus that of the first tap of the table; `None` of the first.
    pub tx_bias_ns: Option<Estimate>,
    /// The same to receive, over the span that both of them see; `None` where there is none.
    pub rx_bias_ns: Option<Estimate>,
    /// Messages that it could not time, 0 to 1.
    pub lost: f64,
    /// What it costs against the trials without any tap; `None` of too few.
    pub cost: Option<SelfCost>,
}

/// What another tap measures of the same load: the cross-check.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Witness")]
pub struct CrossCheck {
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
    /// How far behind the main tap's hook its stamp lies on the same messages, where alternating trials tell: the
    /// kernel copies a packet before it stamps it. Part of the difference.
    pub behind_ns: Option<f64>,
    /// Whether they agree.
    pub agreement: Agreement,
}

/// Whether two taps agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// The interval of the difference lies within the larger of 15 % and 300 ns.
    Agree,
    /// The interval lies wholly beyond that, and that of the medians too.
    Disagree,
    /// The interval lies partly within and partly beyond, the means differ and not the medians, or the trials are too few.
    Inconclusive,
}
