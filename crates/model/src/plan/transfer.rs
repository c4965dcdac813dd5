//! The plan of `netfathom ttcp`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Transport;

mod checks;

/// Default bytes of a buffer, as in the classic ttcp.
pub const DEFAULT_BUFFER_BYTES: u64 = 8192;
/// Default number of buffers.
pub const DEFAULT_BUFFERS: u64 = 2048;
/// Default port.
pub const DEFAULT_PORT: u16 = 5001;
/// Default alignment.
pub const DEFAULT_ALIGN: u64 = 16_384;
/// Default idle time after which a receiver takes the end for lost.
pub const DEFAULT_IDLE_NS: u64 = 5_000_000_000;
/// A datagram of this size or less marks the start or the end.
pub const MARK_BYTES: u64 = 4;

/// Which end of a transfer this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Connects and sends.
    Transmit,
    /// Listens and receives.
    Receive,
}

/// The plan of `netfathom ttcp`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TransferPlan {
    /// Which end.
    pub role: Role,
    /// What carries it.
    pub protocol: Transport,
    /// Whom to send to, by name or address; of a receiver, which own address to listen on,
    /// `None` for all.
    pub host: Option<String>,
    /// The receiver's port.
    pub port: u16,
    /// Bytes of one write or read.
    pub buffer_bytes: u64,
    /// Whether the user named that size; otherwise more may go at once where pages are moved
    /// and no buffer is there.
    pub buffer_named: bool,
    /// How many buffers a transmitter sends that generates its data itself.
    pub buffers: u64,
    /// How long it sends, instead of a number of buffers.
    pub time_ns: Option<u64>,
    /// Whether the data is generated and discarded, instead of standard input and output.
    #[serde(rename = "made_up")]
    pub generated: bool,
    /// The buffer begins at a multiple of this, a power of two; 0 leaves it where it is.
    pub align: u64,
    /// Bytes added to that address.
    pub offset: u64,
    /// Size of the socket's buffer to ask for; `None` leaves it to the kernel.
    pub socket_buffer_bytes: Option<u32>,
    /// TCP_NODELAY
    pub no_delay: bool,
    /// SO_DEBUG
    pub debug: bool,
    /// Whether a receiver writes whole buffers only, except for the last.
    pub full_blocks: bool,
    /// Whether each byte that was received is looked at.
    pub touch: bool,
    /// Whether a receiver that throws its data away may leave it in the kernel.
    pub discard: bool,
    /// Whether the data is followed by its checksum, which the receiver compares and confirms.
    pub checksum: bool,
    /// How long nothing must come over UDP, or move over TCP once all is acknowledged, before
    /// the end is taken for lost.
    pub idle_ns: u64,
    /// How many connections at once.
    pub streams: u16,
    /// How often progress is reported.
    pub interval_ns: Option<u64>,
    /// Whether the connection is sampled, to show what limited it.
    pub explain: bool,
    /// Whether packets of the first connection are captured, and how many of them are shown.
    pub packets: Option<u32>,
    /// Whether generated data is sent without a copy (MSG_ZEROCOPY), and the report shows how much
    /// of any data was.
    pub zero_copy: bool,
    /// The most that goes, of each stream; `None` for all there is.
    pub pace_bits_per_s: Option<u64>,
    /// The name of the congestion control (TCP_CONGESTION); `None` for the system's.
    pub congestion: Option<String>,
    /// Whether the CPU time of softirqs is taken too.
    pub cost: bool,
    /// A receiver that takes sender after sender, until it is ended.
    pub serve: Option<Service>,
}

/// What a receiver grants that takes one sender after the other, and several at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Service {
    /// How many senders at once; those beyond are cut off.
    pub most_clients: u32,
    /// Bytes of one connection, after which it is cut; `None` for no limit.
    pub most_bytes: Option<u64>,
    /// How long a sender may send nothing before it is cut off.
    pub timeout_ns: u64,
}

impl TransferPlan {
    /// What the classic does without options. Others are made from it by changing what is to
    /// be different.
    pub fn classic(role: Role) -> Self {
        Self {
            role,
            protocol: Transport::Tcp,
            host: None,
            port: DEFAULT_PORT,
            buffer_bytes: DEFAULT_BUFFER_BYTES,
            buffer_named: false,
            buffers: DEFAULT_BUFFERS,
            time_ns: None,
            generated: false,
            align: DEFAULT_ALIGN,
            offset: 0,
            socket_buffer_bytes: None,
            no_delay: false,
            debug: false,
            full_blocks: false,
            touch: false,
            discard: false,
            checksum: false,
            idle_ns: DEFAULT_IDLE_NS,
            streams: 1,
            interval_ns: None,
            explain: false,
            packets: None,
            zero_copy: false,
            pace_bits_per_s: None,
            congestion: None,
            cost: false,
            serve: None,
        }
    }

    /// Bytes that a transmitter sends which makes its data itself, over all its streams.
    pub fn planned_bytes(&self) -> Option<u64> {
        let known = self.role == Role::Transmit && self.generated && self.time_ns.is_none();
        known.then(|| self.buffer_bytes.saturating_mul(self.buffers).saturating_mul(self.streams.into()))
    }
}

#[cfg(test)]
mod tests;
