//! What `netfathom message` found.

mod compared;
mod per_message;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Contention, Distribution, Estimate, Precision};
use crate::layer::{Layer, Side};
use crate::plan::{MessagePlan, Placement};
use crate::verdict::{Level, Verdict};

/// What `netfathom message` found.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MessageResult {
    /// What was asked for.
    pub plan: MessagePlan,
    /// The pairs of CPUs that the ends were on, in order.
    pub pairs: Vec<ProcessorPair>,
    /// One a combination of placement, CPUs, size and layer that has a trial.
    pub cells: Vec<MessageCell>,
    /// What was asked for and cannot be, with what is nearest to it.
    pub absent: Vec<AbsentCell>,
    /// The remedies of stalls that were recognized, side by side with what they remedy.
    pub remedies: Vec<Remedied>,
    /// Who had the CPUs of the ends, in the trials in which system calls were counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contention: Vec<Contention>,
    /// The host of the server, where that was reached by its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerHost>,
    /// How narrow the intervals are; `None` of a run with a fixed number of trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
}

impl MessageResult {
    /// One without cells.
    pub fn empty(plan: MessagePlan) -> Self {
        Self {
            plan,
            pairs: Vec::new(),
            cells: Vec::new(),
            absent: Vec::new(),
            remedies: Vec::new(),
            contention: Vec::new(),
            server: None,
            precision: None,
        }
    }
}

/// The host that the server ran on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerHost {
    /// Its own name, where the kernel shows it.
    pub host: Option<String>,
    /// Kernel release and build.
    pub kernel: String,
    /// The build of netfathom there.
    pub tool: String,
    /// Whether it is the client's host too.
    pub same_host: bool,
}

/// The CPUs of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessorPair {
    /// What they share.
    pub shares: Shares,
    /// The client's.
    pub client: usize,
    /// The server's.
    pub server: usize,
}

/// What two CPUs share, from most to least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shares {
    /// They are one.
    Same,
    /// A core.
    Core,
    /// The last level of cache.
    Cache,
    /// No more than the machine.
    Nothing,
    /// Not even that: they are of two hosts.
    Hosts,
}

named! { Shares: Same = "same CPU", Core = "same core", Cache = "same cache", Nothing = "apart", Hosts = "two hosts" }

/// One layer with one size, one placement and one pair of CPUs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MessageCell {
    /// What carried the messages.
    pub layer: Layer,
    /// Bytes of a body, or of a reply.
    pub bytes: u64,
    /// Which ends were in the kernel.
    pub placement: Placement,
    /// Its place among the pairs.
    pub pair: usize,
    /// The trials, in the order in which they ran.
    pub trials: Vec<MessageTrial>,
    /// Messages, round trips or replies a second, over the trials.
    pub rate: Option<MessageRate>,
    /// Rate as a multiple of the first layer's in the same trials, with its 95 % interval between
    /// trials; `None` of that layer itself, and below two trials.
    pub ratio: Option<Estimate>,
    /// Of all trials together: the time of a round trip, from request to whole reply, or from send
    /// to arrival of a sample of the messages. Open loop: from the intended departure.
    pub times: Distribution,
    /// Round trips at a rate: from when messages left, not from when they were to. How long a message
    /// takes is seen here, and in `times` how long one who needs it waits.
    pub service: Option<Distribution>,
    /// How late messages left (open loop).
    pub lag: Option<Distribution>,
    /// System calls a message at each end, counted in a trial of its own; or why they were not.
    pub calls: Counted,
    /// How far it can be trusted, but for what is wrong with the whole run.
    #[serde(default, skip_serializing_if = "Verdict::is_valid")]
    pub verdict: Verdict,
}

/// System calls, counted by the kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Of the client and of the server, by name: calls a message, most frequent first.
    Calls(Vec<CallCount>),
    /// They could not be, and why.
    Not(String),
}

/// How often one system call was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallCount {
    /// By which end.
    pub end: Side,
    /// The call.
    pub name: String,
    /// Calls a message.
    pub per_message: f64,
}

/// How fast the trials of a cell were.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageRate {
    /// The median of the trials, in messages a second.
    pub median_per_s: f64,
    /// The slowest trial.
    pub lowest_per_s: f64,
    /// The fastest trial.
    pub highest_per_s: f64,
    /// Mean of the trials with its 95 % interval; `None` below two trials.
    pub mean_per_s: Option<Estimate>,
}

/// One trial of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageTrial {
    /// Its place among all trials of the run, from 0.
    pub index: u32,
    /// Which round of trials it was in, from 0: trials of a round are compared with each other.
    pub round: u32,
    /// Messages, round trips or replies that were whole.
    pub messages: u64,
    /// Messages or requests that the client sent, those among them that did not come.
    pub sent: u64,
    /// Messages that were sent and did not come (UDP).
    pub lost: u64,
    /// From the first send to the last arrival. One way between hosts: what all messages take at the rate of those that
    /// came after the first.
    pub duration_ns: u64,
    /// Whether it ran out of time before it had its messages.
    pub cut_short: bool,
    /// Median of its times.
    pub p50_ns: i64,
    /// 99th percentile of its times.
    pub p99_ns: i64,
    /// 99.9th percentile of its times; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_ns: Option<i64>,
    /// The longest of its times; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<i64>,
    /// What the client took.
    pub client: EndCost,
    /// What the server took.
    pub server: EndCost,
    /// CPU time of the kernel's own workers (kworker, ksoftirqd) while it ran, whoever they
    /// worked for; `None` where it could not be read.
    pub kernel_workers_ns: Option<u64>,
    /// What the kernel counted of TCP in both hosts while it ran.
    pub tcp: Option<TcpCounts>,
}

/// What an end took. Of an end in the kernel there is no thread, and all is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EndCost {
    /// CPU time of its threads, kernel work in their name included.
    pub cpu_ns: Option<u64>,
    /// How often its threads gave their CPU up to wait.
    pub waits: Option<u64>,
    /// How often it was taken from them.
    pub preemptions: Option<u64>,
    /// How long its threads were ready and waited for a CPU.
    pub run_delay_ns: Option<u64>,
    /// TCP segments that it sent, with data or without.
    pub segments: Option<u64>,
}

/// What the kernel counted of TCP (/proc/net/netstat, /proc/net/snmp).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpCounts {
    /// Delayed ACKs that were sent when their timer expired.
    pub delayed_acks: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Segments that were sent again.
    pub retransmitted: u64,
}

/// What was asked for and cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AbsentCell {
    /// Where.
    pub placement: Placement,
    /// The layer; `None` for all.
    pub layer: Option<Layer>,
    /// Why not.
    pub why: String,
    /// What is nearest to it; empty where nothing is.
    pub nearest: String,
}

/// A stall that was recognized, and what helps against it, measured in the same run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Remedied {
    /// The layer that stalled.
    pub layer: Layer,
    /// Bytes of a body.
    pub bytes: u64,
    /// On which pair of CPUs, by its place among them; both ends are in user space.
    pub pair: usize,
    /// What it was recognized as.
    pub stall: Stall,
    /// The stalled one first, then each remedy.
    pub rows: Vec<RemedyRow>,
}

/// What keeps messages waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stall {
    /// Two writes a message, Nagle's algorithm at both ends and delayed ACKs: twice
    /// 40 ms a round trip.
    NagleBoth,
    /// The same at one end: 40 ms.
    NagleOne,
    /// Retransmission time-outs: 200 ms and more.
    Timeouts,
    /// A thread that is ready and gets no CPU.
    WakeUps,
}

named! { Stall:
    NagleBoth = "delayed ACKs, both ends", NagleOne = "delayed ACKs, one end",
    Timeouts = "retransmission time-outs", WakeUps = "wake-up spikes"
}

/// One way of sending beside the others.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RemedyRow {
    /// How messages were sent.
    pub layer: Layer,
    /// What is done about it, such as `TCP_NODELAY at both ends`; `as it was` of the stalled one.
    pub remedy: String,
    /// Its times.
    pub times: Distribution,
    /// Delayed ACKs a message.
    pub delayed_acks_per_message: Option<f64>,
    /// Whether the stall is gone.
    pub gone: bool,
}

impl MessageCell {
    /// Whether its values are of no use.
    pub fn is_void(&self) -> bool {
        self.verdict.level == Level::Void
    }
}

impl MessageTrial {
    /// Messages, round trips or replies a second.
    pub fn per_s(&self) -> Option<f64> {
        (self.duration_ns > 0 && self.messages > 0)
            .then(|| self.messages as f64 / (self.duration_ns as f64 / 1e9))
    }
}
