//! What `netfathom join` found in captures and logs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Distribution, Series};
use crate::path::Direction;
use crate::plan::JoinPlan;

/// What `netfathom join` found.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JoinResult {
    /// What was asked for.
    pub plan: JoinPlan,
    /// The captures, in the order given.
    pub captures: Vec<CaptureFile>,
    /// The logs, in the order given.
    pub logs: Vec<LogFile>,
    /// How the clocks were put together, one a pair of capture and log.
    pub clocks: Vec<ClockOffset>,
    /// Times between two places, in the order in which a message passes them.
    pub spans: Vec<JoinedSpan>,
}

/// One capture, and what was in it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CaptureFile {
    /// As given.
    pub name: String,
    /// Such as `pcap, nanoseconds` or `pcapng, gzip`.
    pub format: String,
    /// The link types in it, such as `Ethernet`.
    pub links: Vec<String>,
    /// What its times count in, one for each resolution among its packets (pcapng: among its interfaces).
    pub steps_ns: Vec<u32>,
    /// Packets that were read.
    pub packets: u64,
    /// Their captured bytes.
    pub bytes: u64,
    /// First to last packet.
    pub span_ns: u64,
    /// What the packets were to the log with which most were joined; the counts add up to `packets`.
    pub kinds: Vec<KindCount>,
    /// The same for each of several logs: what one log has not, another one may have. Empty where
    /// there is one log.
    pub by_log: Vec<LogKinds>,
    /// Packets captured before the one before them.
    pub backwards: u64,
    /// Packets without a time in the capture, such as simple packets
    /// of pcapng. They are joined, but give no times.
    pub untimed: u64,
    /// Where and why reading ended before the end of the file.
    pub damage: Option<String>,
}

/// What the packets of a capture were to one of several logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogKinds {
    /// The log, by its place among them.
    pub log: u32,
    /// The kinds; their counts add up to all packets of the capture.
    pub kinds: Vec<KindCount>,
}

/// How many packets were of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KindCount {
    /// Which.
    pub kind: PacketKind,
    /// How many.
    pub count: u64,
}

/// What a packet of a capture was to the join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PacketKind {
    /// A message of the log, the first sight of it.
    Joined,
    /// A message of the log, seen before.
    Duplicate,
    /// A message that the log has not; of several logs, that one.
    NotInLog,
    /// UDP, but no message.
    Foreign,
    /// No UDP at all.
    NotUdp,
    /// A part of a fragmented packet.
    Fragment,
    /// Cut off before the message's number.
    CutOff,
    /// Headers that contradict each other.
    Malformed,
    /// Of a link type that cannot be read.
    UnknownLink,
}

named! { PacketKind:
    Joined = "joined", Duplicate = "duplicates", NotInLog = "not in the log", Foreign = "foreign UDP",
    NotUdp = "not UDP", Fragment = "fragments", CutOff = "cut off", Malformed = "malformed",
    UnknownLink = "unknown link type"
}

/// One log, and what was in it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LogFile {
    /// As given.
    pub name: String,
    /// Such as `netfathom log` or `CSV, zstd`.
    pub format: String,
    /// Messages in it, each counted once.
    pub messages: u64,
    /// Which times it has: of sending, of receiving, or both.
    pub has_sent: bool,
    /// See `has_sent`.
    pub has_received: bool,
    /// Its clock, in words.
    pub clock: String,
    /// What the coarsest of its times count in.
    pub step_ns: u32,
    /// Of its messages, those that a capture has not, one count a capture.
    pub missing: Vec<u64>,
    /// Of its messages, those that a capture has after one with a higher number, one count a capture.
    pub reordered: Vec<u64>,
    /// Records with the number of an earlier one, which counts.
    pub unusable: u64,
    /// Where and why reading ended before the end of the file.
    pub damage: Option<String>,
}

/// How the clock of a log was put on that of a capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockOffset {
    /// The capture, by its place among them.
    pub capture: u32,
    /// The log, by its place among them.
    pub log: u32,
    /// What was added to the log's times at its begin.
    pub offset_ns: i64,
    /// How much that changed until its end; `None` where only one statement is there.
    pub moved_ns: Option<i64>,
    /// Drift in parts per million, where it can be estimated.
    pub drift_ppm: Option<f64>,
    /// Where that comes from, in words.
    pub how: String,
}

/// The times between two places that messages pass.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JoinedSpan {
    /// Where it begins: the application or a capture, in words.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// The way of the stack that it measures; `None` between two captures.
    pub direction: Option<Direction>,
    /// The times. Stamps that were cut to the steps of their clock were put into the middle of such a step before.
    pub times: Distribution,
    /// How far that leaves the mean uncertain, either way: half a step of both clocks; with clocks that were fitted,
    /// twice that. 0 where all stamps are in nanoseconds.
    pub uncertainty_ns: f64,
    /// The same over time, by the time of the first place.
    pub series: Series,
    /// Messages a second over the same windows, highest.
    pub peak_per_s: f64,
}
