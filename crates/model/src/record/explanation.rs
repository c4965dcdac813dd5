//! What was seen of a transfer that was watched, and what held it up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the time of a stream's thread went, taken around each call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallTimes {
    /// In calls on the socket.
    pub socket_ns: u64,
    /// Waiting for standard input, or for whoever reads standard output.
    pub standard_ns: u64,
    /// Ready to run, and waiting for a CPU, in calls and between them.
    pub runqueue_ns: u64,
    /// The median of a call on the socket.
    pub p50_ns: u64,
    /// 99 of 100 calls were shorter.
    pub p99_ns: u64,
    /// The longest.
    pub longest_ns: u64,
    /// Calls that took 30 to 60 ms: about the time by which Linux delays an ACK (40 ms).
    pub delayed_calls: u64,
}

/// One look at a stream. Bytes and counts are those since its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransferSample {
    /// Since the first stream began.
    pub at_ns: u64,
    /// Bytes moved so far.
    pub bytes: u64,
    /// Calls so far.
    pub calls: u64,
    /// What waits in the kernel: of a transmitter what is not acknowledged, of a receiver what
    /// is not read.
    pub queued_bytes: u32,
    /// Of a transmitter, what waits and was not sent yet.
    pub unsent_bytes: u32,
    /// Segments in flight.
    pub in_flight: u32,
    /// Segments sent again so far.
    pub retransmits: u32,
    /// Smoothed round trip; of a receiver as it estimates it from the data.
    pub rtt_us: u32,
    /// Congestion window, in segments.
    pub cwnd: u32,
    /// The window that the peer offers.
    pub peer_window_bytes: u32,
    /// The window that this end offers.
    pub window_bytes: u32,
    /// Whether something was lost that is being made good.
    pub recovering: bool,
    /// Time so far in which there was something to send.
    pub busy_us: u64,
    /// Of that, the peer's window was full.
    pub window_limited_us: u64,
    /// Of that, the send buffer was too small.
    pub buffer_limited_us: u64,
}

/// What held a transfer up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Nothing that could be mended.
    Nothing,
    /// This end ran, or waited for a CPU, all the time.
    Processor,
    /// This end ran, or waited for a CPU, or waited for a receiver that took the data no faster.
    BothProcessors,
    /// This end ran, or waited for a CPU, and most of it went to write calls that moved little each.
    SmallWrites,
    /// The same of read calls.
    SmallReads,
    /// The send buffer is smaller than a write, or than what is in flight at the full rate.
    SendBuffer,
    /// The sender waits for delayed ACKs of the receiver.
    DelayedAcknowledgement,
    /// The sender holds a small segment back until what was sent before is acknowledged.
    Nagle,
    /// The receiver's window is smaller than what the path holds.
    ReceiveWindow,
    /// The program at the sending end has nothing to send.
    SlowSender,
    /// The program at the receiving end does not read what is there.
    SlowReceiver,
    /// Segments were lost.
    Loss,
    /// The path is full: its bottleneck, or the congestion window.
    Path,
    /// The pace that the user set.
    Pace,
    /// Of a receiver: data came no faster, and its own window was not the reason.
    Elsewhere,
    /// It was too short for an explanation.
    TooShort,
}

named! { Cause:
    Nothing = "no fault found", Processor = "CPU", BothProcessors = "CPUs of both ends", SmallWrites = "small writes",
    SmallReads = "small reads", SendBuffer = "send buffer",
    DelayedAcknowledgement = "delayed ACKs", Nagle = "Nagle", ReceiveWindow = "receiver's window",
    SlowSender = "sending program", SlowReceiver = "receiving program", Loss = "loss",
    Path = "path", Pace = "--pace", Elsewhere = "sender or path", TooShort = "too short to tell"
}

/// What held a transfer up, with what makes us think so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// The one thing that matters most.
    pub cause: Cause,
    /// The share of the time that it took, 0 to 1.
    pub share: f64,
    /// In a sentence.
    #[serde(rename = "said")]
    pub text: String,
    /// What was seen.
    pub evidence: Vec<String>,
    /// What to do.
    pub remedy: String,
    /// What else took time: cause and share, the largest first.
    pub others: Vec<(Cause, f64)>,
}
