//! What `netfathom ttcp` has transferred.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CpuWaits;
use super::explanation::{CallTimes, Explanation, TransferSample};
use crate::plan::TransferPlan;

/// What `netfathom ttcp` has transferred.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TransferResult {
    /// What was asked for.
    pub plan: TransferPlan,
    /// This end, `ADDRESS:PORT`.
    pub local: String,
    /// The other end; `None` if no peer connected.
    pub peer: Option<String>,
    /// Where the buffer begins in memory.
    pub buffer_address: u64,
    /// What the socket's buffer was granted, where one was asked for, in the measure of the plan.
    pub granted_buffer_bytes: Option<u32>,
    /// How the bytes went.
    pub way: TransferMethod,
    /// How it came to its end: of several streams, the worst.
    pub end: TransferEnd,
    /// Each stream; one unless more were asked for. Of a service, the last ones that ended.
    pub streams: Vec<TransferStream>,
    /// The congestion control that the kernel used.
    pub congestion: Option<String>,
    /// What a receiver did that served.
    pub served: Option<Served>,
    /// What it cost the CPUs of this host, where that was asked for.
    pub cost: Option<TransferCost>,
    /// What held it up, where that was asked for.
    pub explanation: Option<Explanation>,
    /// Packets of the first stream, where they were asked for.
    pub packets: Option<Packets>,
}

/// Packets of a connection, captured at the device of the end that sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Packets {
    /// Packets examined, from the beginning on.
    pub seen: u64,
    /// Those of them with data.
    pub segments: u64,
    /// The median segment.
    pub segment_bytes: u64,
    /// Segments with PSH.
    pub pushed: u64,
    /// From a segment to the next.
    pub between: Option<Spread>,
    /// From a segment to the acknowledgment that covers it.
    pub acknowledged: Option<Spread>,
    /// As many as were asked for, from the middle on.
    pub shown: Vec<Packet>,
}

/// Times between packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The median.
    pub p50_ns: u64,
    /// The longest.
    pub longest_ns: u64,
}

/// A packet of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Packet {
    /// After the first one that was captured.
    pub at_ns: u64,
    /// From the end that sends the data.
    pub sent: bool,
    /// Whether PSH is set.
    pub push: bool,
    /// Its data.
    pub bytes: u32,
    /// Of what is sent, the number of its first byte; those of the connection count from 1.
    pub first_byte: u64,
    /// Of what comes back, the byte that is expected next.
    pub acknowledged: u64,
}

impl TransferResult {
    /// Bytes of all streams.
    pub fn bytes(&self) -> u64 {
        self.streams.iter().map(|s| s.bytes).sum()
    }

    /// From the beginning of the first stream to the end of the last.
    pub fn duration_ns(&self) -> u64 {
        self.streams.iter().map(|s| s.began_ns + s.duration_ns).max().unwrap_or(0)
    }

    /// From the beginning of the first stream until the receiver had all of each, as a transmitter learns when it closes;
    /// `None` where it did not learn it.
    pub fn received_ns(&self) -> Option<u64> {
        let closed = self.streams.iter().map(|s| Some(s.began_ns + s.closed_ns?));
        closed.collect::<Option<Vec<u64>>>()?.into_iter().max()
    }

    /// Bytes a second over that time; `None` where it is not known, or no time passed.
    pub fn received_per_s(&self) -> Option<f64> {
        let ns = self.received_ns()?;
        (ns > 0).then(|| self.bytes() as f64 / (ns as f64 / 1e9))
    }

    /// Bytes a second of all streams; `None` where no time passed.
    pub fn bytes_per_s(&self) -> Option<f64> {
        let ns = self.duration_ns();
        (ns > 0).then(|| self.bytes() as f64 / (ns as f64 / 1e9))
    }
}

/// A checksum over all the data of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Checksum {
    /// SHA-256 of what this end sent or received, in hexadecimal digits.
    pub sha256: String,
    /// Whether the other end has the same; a transmitter knows by its answer.
    pub agrees: bool,
}

/// How bytes came from where they were to where they went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransferMethod {
    /// Through a buffer of the program.
    Copied,
    /// From pipe to socket or back, without one (splice).
    Spliced,
    /// From a file, without one (sendfile).
    SentAsFile,
    /// Never out of the kernel (MSG_TRUNC).
    Discarded,
}

named! { TransferMethod:
    Copied = "copied through a buffer", Spliced = "spliced between pipe and socket",
    SentAsFile = "sent from a file by sendfile", Discarded = "discarded in the kernel"
}

/// How a transfer came to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum TransferEnd {
    /// All data was sent, and the other end confirmed it: it closed, or its mark came.
    #[default]
    Whole,
    /// The peer's kernel has acknowledged everything, but its program did not close: whether it
    /// has read all of it cannot be known.
    Acknowledged,
    /// Over UDP there is no confirmation.
    Unconfirmed,
    /// No mark of the end came, and nothing else did for the idle time.
    Idle,
    /// A service was ended by its user, which is how it ends.
    Stopped,
    /// Its time was over, and what lay in the send buffer took too long to arrive.
    CutOff {
        /// What the peer had not acknowledged by then.
        unacknowledged_bytes: u64,
    },
    /// The user ended it.
    Interrupted,
    /// It broke off.
    Broken {
        /// What happened, and what to do.
        why: String,
    },
}

/// One stream of a transfer.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct TransferStream {
    /// The other end, `ADDRESS:PORT`; `None` if no peer connected.
    pub peer: Option<String>,
    /// When it began, after the first.
    pub began_ns: u64,
    /// How it came to its end.
    pub end: TransferEnd,
    /// What the ends made of the checksum, where one was asked for and the data came to its end.
    pub checksum: Option<Checksum>,
    /// Payload that was handed to the kernel, or taken from it.
    pub bytes: u64,
    /// System calls on the socket that moved some.
    pub calls: u64,
    /// From the connection, or the mark of the start, to the last call.
    pub duration_ns: u64,
    /// Until the peer had closed, where a transmitter waited for that.
    pub closed_ns: Option<u64>,
    /// CPU time of its thread in the program.
    pub user_ns: u64,
    /// In the kernel, in its name: over loopback much of the peer's receive path too.
    pub system_ns: u64,
    /// The kernel's account of the connection at the end.
    pub tcp: Option<TcpState>,
    /// What came over UDP besides the data.
    pub udp: Option<UdpCounts>,
    /// How much went without a copy, where that was asked for.
    pub zero_copy: Option<ZeroCopied>,
    /// Where its time went, where it was watched.
    pub calls_took: Option<CallTimes>,
    /// Who had the CPUs that its thread waited for, where it was watched and the kernel shows that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<CpuWaits>,
    /// How it went on, where it was watched: at most 1024 looks, evenly spread.
    pub samples: Vec<TransferSample>,
}

impl TransferStream {
    /// CPU time of its thread, ns.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns.saturating_add(self.system_ns)
    }
}

/// How many bytes the kernel took without a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ZeroCopied {
    /// It reported so, or it cannot do otherwise.
    pub uncopied_bytes: u64,
    /// It reported that it had to copy after all.
    pub copied_bytes: u64,
    /// Unknown.
    pub unknown_bytes: u64,
}

/// What a receiver did that serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Served {
    /// Streams that came to their end.
    pub whole: u64,
    /// Streams that broke off, or had sent nothing for too long.
    pub broken: u64,
    /// Streams that were cut after as many bytes as one may send.
    pub too_long: u64,
    /// Senders that found as many others there as there may be.
    pub turned_away: u64,
    /// The most at once.
    pub most_at_once: u32,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// CPU time that a transfer took on this host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TransferCost {
    /// Of this process, from the beginning of the first stream until all is closed.
    pub process_ns: u64,
    /// Of network softirqs that the kernel charged to whatever ran at the time: another process,
    /// ksoftirqd, or the idle task. It includes softirqs of other traffic of the host.
    pub softirq_ns: Option<u64>,
    /// Of network softirqs that ran on top of this process. It is part of
    /// `process_ns`, unless the kernel counts interrupts apart (CONFIG_IRQ_TIME_ACCOUNTING).
    pub own_softirq_ns: Option<u64>,
    /// All of it for 1024 bytes.
    pub ns_per_kib: f64,
    /// Why softirqs could not be counted.
    pub left_out: Option<String>,
}

/// The kernel's account of a connection at its end; `None` if the kernel is too old to report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpState {
    /// Largest segment.
    pub mss_bytes: u32,
    /// Segments sent again.
    pub retransmits: u32,
    /// Smoothed round trip.
    pub rtt_us: u32,
    /// Its variation.
    pub rttvar_us: u32,
    /// Shortest round trip.
    pub min_rtt_us: Option<u32>,
    /// Congestion window, in segments.
    pub cwnd: u32,
    /// The window that the peer offered.
    pub peer_window_bytes: Option<u32>,
    /// Time in which there was something to send.
    pub busy_us: Option<u64>,
    /// Of that, the time in which the peer's window was full.
    pub window_limited_us: Option<u64>,
    /// Of that, the time in which the send buffer was too small.
    pub buffer_limited_us: Option<u64>,
}

/// What a UDP end counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UdpCounts {
    /// Datagrams of data.
    pub datagrams: u64,
    /// Marks of start and end.
    pub marks: u64,
    /// Datagrams of other senders than the first, which were left out.
    pub foreign: u64,
    /// Datagrams longer than the buffer, which lost their rest.
    pub truncated: u64,
    /// Datagrams of data that the socket's buffer had no room for.
    pub dropped: u64,
    /// How often the device had no room, and the datagram was tried again.
    pub retried: u64,
}
