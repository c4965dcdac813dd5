//! What `netfathom reverse` produced.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Contention, Estimate, LeftOut, Series, ServerHost};
use crate::path::{Stage, Tap};
use crate::plan::{ReversePlan, Variant};
use crate::verdict::{Level, Verdict};

/// The plan and everything that came of it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReverseResult {
    /// What was asked for.
    pub plan: ReversePlan,
    /// How stack times were taken, if they were.
    pub tap: Option<Tap>,
    /// What does not work here.
    pub left_out: Vec<LeftOut>,
    /// Whether incoming packets were handled on the sender's CPU.
    pub steered: bool,
    /// One a variant, in the plan's order.
    pub variants: Vec<VariantResult>,
    /// The other hosts, in the plan's order; `None` in the lab.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<ServerHost>>,
}

/// One variant: its trials and what they say together.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct VariantResult {
    /// What became of the incoming messages.
    pub variant: Variant,
    /// Every trial.
    pub trials: Vec<ReverseTrial>,
    /// Over the trials; `None` before the first.
    pub summary: Option<ReverseSummary>,
}

impl VariantResult {
    /// The summary, unless half of the trials behind it are VOID.
    pub fn usable(&self) -> Option<&ReverseSummary> {
        let void = self.trials.iter().filter(|trial| trial.verdict.level == Level::Void).count();
        self.summary.as_ref().filter(|_| void == 0 || 2 * void < self.trials.len())
    }
}

/// The four parts of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Nothing comes in.
    Before,
    /// The inbound load rises.
    Rise,
    /// It is at its peak.
    Peak,
    /// It is off again.
    After,
}

named! { Phase: Before = "before", Rise = "rise", Peak = "peak", After = "after" }

/// One trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReverseTrial {
    /// Its place among the trials of its variant, from 0.
    pub index: u32,
    /// Length of a window of the series below.
    pub window_ns: u64,
    /// Messages that left in each window.
    pub outgoing: Vec<u64>,
    /// Messages that came in from the far end, in each window.
    pub inbound: Vec<u64>,
    /// Stack time of the outgoing messages over the trial; `None` without a tap.
    pub stack: Option<Series>,
    /// The four parts, in order.
    pub phases: Vec<PhaseTimes>,
    /// Outgoing messages that the operating system accepted.
    pub sent: u64,
    /// Those that the device of the far end counted; between hosts those that came to its socket, read or not.
    pub arrived: u64,
    /// Messages that the far end sent in.
    pub inbound_sent: u64,
    /// Those that an application of this host read.
    pub inbound_read: u64,
    /// Where the rest of the messages ended; `None` in the lab, where devices count all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<BetweenHosts>,
    /// Who had the CPUs of its threads; empty where that was not observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contention: Vec<Contention>,
    /// How far this trial can be trusted.
    pub verdict: Verdict,
}

/// Messages between hosts that were neither read nor came to the socket of the other host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BetweenHosts {
    /// Outgoing messages that the kernel accepted and the device of this host did not send.
    pub not_sent: u64,
    /// Outgoing messages that were lost between the hosts: sent = arrived + `not_sent` + `lost`.
    pub lost: u64,
    /// Inbound messages that the socket on this host had no room for.
    pub inbound_overflowed: u64,
    /// Inbound messages that were left in it at the end, unread.
    pub inbound_left: u64,
    /// Inbound messages that were lost on the way: sent = read + `inbound_overflowed` + `inbound_left` + this.
    pub inbound_lost: u64,
    /// The shortest round trip to a host before the trial, of the farthest: half of it is how far its clock may be off.
    pub round_trip_ns: u64,
}

/// One part of a trial.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PhaseTimes {
    /// Which.
    pub phase: Phase,
    /// Start, from the start of the trial.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Messages a second that left.
    pub outgoing_per_s: f64,
    /// Messages a second that came in.
    pub inbound_per_s: f64,
    /// Mean stack time of the outgoing messages.
    pub stack_mean_ns: Option<f64>,
    /// The same by stage.
    pub stages: Vec<StageMean>,
    /// What the sender's CPU did.
    pub processor: ProcessorShares,
    /// The part of the time in which the sender's thread was ready but did not run.
    pub sender_waited: f64,
}

/// The mean of one stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageMean {
    /// Which.
    pub stage: Stage,
    /// Mean over the messages that passed it.
    pub mean_ns: f64,
}

/// What a CPU did, as parts of the time, 0 to 1 (/proc/stat).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessorShares {
    /// In user space.
    pub user: f64,
    /// In the kernel, for a thread.
    pub system: f64,
    /// In hardware interrupts.
    pub irq: f64,
    /// In soft interrupts: where packets come in.
    pub softirq: f64,
    /// Nothing to do.
    pub idle: f64,
    /// The hypervisor gave it to others.
    pub steal: f64,
}

/// One variant over its trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReverseSummary {
    /// Trials behind it.
    pub trials: u32,
    /// Outgoing messages a second, mean of the trials, in each phase.
    pub outgoing_per_s: [f64; 4],
    /// Inbound messages a second, mean of the trials, in each phase.
    pub inbound_per_s: [f64; 4],
    /// The part of the outgoing rate that the inbound load took: 1 - peak / before.
    pub drop: f64,
    /// Its 95 % interval between trials; `None` of a single trial.
    pub drop_interval: Option<Estimate>,
    /// What came back when it was off: after / before.
    pub recovery: f64,
    /// Its 95 % interval between trials; `None` of a single trial.
    pub recovery_interval: Option<Estimate>,
    /// Mean stack time in each phase, where it was taken.
    pub stack_mean_ns: Option<[f64; 4]>,
    /// Each stage before and at the peak.
    pub stages: Vec<StageChange>,
    /// What the sender's CPU did in each phase, mean of the trials.
    pub processor: [ProcessorShares; 4],
    /// The part of the time in which the sender waited for its CPU, in each phase.
    pub sender_waited: [f64; 4],
}

/// A stage without and with the inbound load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageChange {
    /// Which.
    pub stage: Stage,
    /// Mean before.
    pub before_ns: f64,
    /// Mean at the peak.
    pub peak_ns: f64,
}
