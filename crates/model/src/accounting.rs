//! Where every message ended. Each has exactly one outcome, and all messages are accounted for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a message ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It reached the application.
    Delivered,
    /// The socket's receive buffer was full.
    SocketBufferFull,
    /// It came to the reader's host damaged: its checksum was wrong.
    ChecksumError,
    /// The queue between driver and stack was full.
    BacklogFull,
    /// The driver dropped it.
    DeviceDrop,
    /// A queue (qdisc) of the sender's host dropped it: it never came to the device.
    QueueDrop,
    /// It was sent by this host and did not reach the other one.
    OnTheWay,
    /// The kernel dropped it for another reason, which it names.
    KernelDrop(String),
    /// Whether it arrived is unknown: the receiving end does not report it.
    #[serde(rename = "untold")]
    Unknown,
    /// No hook or counter shows where it ended: a gap in the accounting.
    Unexplained,
}

impl Fate {
    /// As it is written in tables.
    pub fn name(&self) -> String {
        match self {
            Self::Delivered => "delivered".into(),
            Self::SocketBufferFull => "socket buffer full".into(),
            Self::ChecksumError => "checksum error".into(),
            Self::BacklogFull => "backlog full".into(),
            Self::DeviceDrop => "device drop".into(),
            Self::QueueDrop => "queue drop".into(),
            Self::OnTheWay => "lost on the way".into(),
            Self::KernelDrop(reason) => format!("kernel drop: {reason}"),
            Self::Unknown => "unknown".into(),
            Self::Unexplained => "unexplained".into(),
        }
    }
}

/// How many messages ended in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FateCount {
    /// Where they ended.
    pub fate: Fate,
    /// How many.
    pub count: u64,
}

/// A count that something other than the measurement kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CounterCheck {
    /// Which counter, such as `lab sender: device packets out`.
    pub counter: String,
    /// What it should have gained, by our own count.
    pub expected: u64,
    /// What it gained.
    pub observed: u64,
    /// Whether strangers may move it too; then it may only be too high.
    pub shared: bool,
}

impl CounterCheck {
    /// Whether counter and count tell the same story.
    pub fn agrees(&self) -> bool {
        self.observed == self.expected || (self.shared && self.observed > self.expected)
    }
}

/// What one hook saw of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookCount {
    /// The tracepoint or stamp.
    pub hook: String,
    /// Our messages that it timed.
    pub events: u64,
    /// Those it saw but could not keep: the slot was taken by another message. Of `sched_switch`: switches of the reader
    /// that it did not see, which the stages do not need.
    pub lost: u64,
}

/// The accounting of one trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Accounting {
    /// Messages that the operating system accepted.
    pub sent: u64,
    /// Where they ended, in order of [`Fate`]; the counts add up to `sent`.
    pub fates: Vec<FateCount>,
    /// Received more than once.
    pub duplicates: u64,
    /// Received after a later one.
    pub reordered: u64,
    /// Received, but not of this trial.
    pub foreign: u64,
    /// Received, ours by its first bytes, but cut off before its end.
    pub truncated: u64,
    /// Received, and no message at all.
    pub garbage: u64,
    /// Segments of TCP that were sent again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retransmitted: u64,
    /// Measured messages without a send time.
    pub unjoined_tx: u64,
    /// Delivered messages without a receive time.
    pub unjoined_rx: u64,
    /// Delivered messages with a receive time that could not be split into stages: a reader that is
    /// awake may take a message before the kernel signals it.
    pub unstaged_rx: u64,
    /// What each hook saw.
    pub hooks: Vec<HookCount>,
    /// What others counted.
    pub counters: Vec<CounterCheck>,
}

pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Accounting {
    /// How many ended in that way.
    pub fn count(&self, fate: &Fate) -> u64 {
        self.fates.iter().filter(|f| f.fate == *fate).map(|f| f.count).sum()
    }

    /// `sent` minus the sum over all fates: 0 when the sum closes.
    pub fn gap(&self) -> i64 {
        let ended = self.fates.iter().fold(0u64, |sum, f| sum.saturating_add(f.count));
        self.sent.saturating_sub(ended) as i64 - ended.saturating_sub(self.sent) as i64
    }
}
