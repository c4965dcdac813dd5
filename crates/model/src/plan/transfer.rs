//! The plan of `netfathom ttcp`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PlanError, range};

/// Bytes a buffer where nobody says otherwise: what the classic has.
pub const DEFAULT_BUFFER_BYTES: u64 = 8192;
/// Buffers where nobody says otherwise.
pub const DEFAULT_BUFFERS: u64 = 2048;
/// The port where nobody says otherwise.
pub const DEFAULT_PORT: u16 = 5001;
/// The alignment where nobody says otherwise.
pub const DEFAULT_ALIGN: u64 = 16_384;
/// How long nothing has to come before a receiver takes the end for lost.
pub const DEFAULT_IDLE_NS: u64 = 5_000_000_000;
/// A datagram of so many bytes or fewer is a mark of the start or the end.
pub const MARK_BYTES: u64 = 4;

/// A send call of more would be cut by the kernel at two gigabytes (MAX_RW_COUNT).
const MOST_BUFFER_BYTES: u64 = 1 << 30;
/// What fits into a UDP datagram over IPv6; over IPv4 it is 20 less, which the kernel tells.
const MOST_DATAGRAM_BYTES: u64 = 65_527;
/// Larger than the largest page there is.
const MOST_ALIGN: u64 = 1 << 30;
/// Each takes a thread and a buffer.
const MOST_STREAMS: u64 = 1024;

/// Which end of a transfer this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Connects and sends.
    Transmit,
    /// Listens and receives.
    Receive,
}

/// What carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// A stream.
    Tcp,
    /// Datagrams, which may be lost.
    Udp,
}

impl Protocol {
    /// As the classic writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

/// The plan of `netfathom ttcp`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TransferPlan {
    /// Which end.
    pub role: Role,
    /// What carries it.
    pub protocol: Protocol,
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
    /// How many buffers a transmitter sends that makes its data itself.
    pub buffers: u64,
    /// How long it sends instead of so many buffers.
    #[serde(default)]
    pub time_ns: Option<u64>,
    /// Whether the data is made up and thrown away, instead of standard input and output.
    pub made_up: bool,
    /// The buffer begins at a multiple of this, a power of two; 0 leaves it where it is.
    pub align: u64,
    /// And so many bytes behind it.
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
    #[serde(default)]
    pub checksum: bool,
    /// How long nothing must come over UDP, or move over TCP once all is acknowledged, before
    /// the end is taken for lost.
    pub idle_ns: u64,
    /// How many connections at once.
    #[serde(default = "one")]
    pub streams: u16,
    /// How often it is told how far the transfer is.
    #[serde(default)]
    pub interval_ns: Option<u64>,
    /// Whether the connection is watched, so that it can be told what held it up.
    #[serde(default)]
    pub explain: bool,
    /// Whether data that is made up goes without a copy (MSG_ZEROCOPY), and it is told how much
    /// of any data did.
    #[serde(default)]
    pub zero_copy: bool,
    /// The most that goes, of each stream; `None` for all there is.
    #[serde(default)]
    pub pace_bits_per_s: Option<u64>,
    /// The name of the congestion control (TCP_CONGESTION); `None` for the system's.
    #[serde(default)]
    pub congestion: Option<String>,
    /// Whether the processor time of softirqs is taken too.
    #[serde(default)]
    pub cost: bool,
    /// A receiver that takes sender after sender, until it is ended.
    #[serde(default)]
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

fn one() -> u16 {
    1
}

impl TransferPlan {
    /// What the classic does without options. Others are made from it by changing what is to
    /// be different.
    #[must_use]
    pub fn classic(role: Role) -> Self {
        Self {
            role,
            protocol: Protocol::Tcp,
            host: None,
            port: DEFAULT_PORT,
            buffer_bytes: DEFAULT_BUFFER_BYTES,
            buffer_named: false,
            buffers: DEFAULT_BUFFERS,
            time_ns: None,
            made_up: false,
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
            zero_copy: false,
            pace_bits_per_s: None,
            congestion: None,
            cost: false,
            serve: None,
        }
    }

    /// Bytes that a transmitter sends which makes its data itself, over all its streams.
    #[must_use]
    pub fn planned_bytes(&self) -> Option<u64> {
        let known = self.role == Role::Transmit && self.made_up && self.time_ns.is_none();
        known.then(|| self.buffer_bytes.saturating_mul(self.buffers).saturating_mul(self.streams.into()))
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// The first thing that is wrong, with what would be right.
    pub fn validated(self) -> Result<Self, PlanError> {
        range("buffer-size", self.buffer_bytes, 1, MOST_BUFFER_BYTES)?;
        range("port", self.port.into(), 1, u16::MAX.into())?;
        range("count", self.buffers, 1, u64::MAX / self.buffer_bytes)?;
        if let Some(bytes) = self.socket_buffer_bytes {
            range("socket-buffer", bytes.into(), 1, 1 << 30)?;
        }
        range("idle", self.idle_ns / 1_000_000, 1, 86_400_000)?;
        self.buffer_place()?;
        self.ends()?;
        self.streams()?;
        self.watched()?;
        match self.protocol {
            Protocol::Tcp => {}
            Protocol::Udp => self.datagrams()?,
        }
        Ok(self)
    }

    fn buffer_place(&self) -> Result<(), PlanError> {
        let (align, offset) = (self.align, self.offset);
        range("align", align, 0, MOST_ALIGN)?;
        if align != 0 && !align.is_power_of_two() {
            let below = align.next_power_of_two() / 2;
            return conflict(format!(
                "--align {align}: a buffer is aligned to a power of two: choose {below} or {}, or 0 to leave it where \
                 it is",
                below * 2
            ));
        }
        if offset > 0 && offset >= align {
            return conflict(format!(
                "--offset {offset}: the buffer begins that far behind a multiple of --align, which is {align}: choose \
                 less than that"
            ));
        }
        Ok(())
    }

    fn ends(&self) -> Result<(), PlanError> {
        if self.role == Role::Transmit && self.host.is_none() {
            return conflict("--transmit needs the host that receives: netfathom ttcp -t HOST".into());
        }
        if let Some(ns) = self.time_ns {
            range("time", ns / 1_000_000, 1, 86_400_000)?;
            if self.role == Role::Receive || !self.made_up {
                return conflict(
                    "--time is for a transmitter that makes its data up: add --transmit and --source-sink"
                        .into(),
                );
            }
        }
        if self.role == Role::Transmit && (self.full_blocks || self.discard) {
            let flag = if self.discard { "discard" } else { "full-blocks" };
            return conflict(format!("--{flag} is for the receiver: give it with -r"));
        }
        let sees = self.touch || self.checksum || self.protocol == Protocol::Udp;
        // That --zero-copy cannot either is told by its own name.
        if self.discard && (!self.made_up || (sees && !self.zero_copy)) {
            return conflict(
                "--discard leaves the data in the kernel: it needs --source-sink and TCP, and cannot --touch or --checksum"
                    .into(),
            );
        }
        Ok(())
    }

    fn streams(&self) -> Result<(), PlanError> {
        range("parallel", self.streams.into(), 1, MOST_STREAMS)?;
        if self.streams > 1 && !self.made_up {
            return conflict(
                "--parallel: standard input and output are one stream each: add --source-sink, or leave it out".into(),
            );
        }
        let Some(service) = &self.serve else { return Ok(()) };
        range("max-clients", service.most_clients.into(), 1, MOST_STREAMS)?;
        range("max-bytes", service.most_bytes.unwrap_or(1), 1, u64::MAX)?;
        range("timeout", service.timeout_ns / 1_000_000, 1, 86_400_000)?;
        if self.role == Role::Transmit {
            return conflict("--serve is for the receiver: give it with -r".into());
        }
        if !self.made_up {
            return conflict(
                "--serve: several senders cannot share standard output: add --source-sink to throw the data away".into(),
            );
        }
        if self.explain || self.cost {
            let flag = if self.explain { "explain" } else { "cost" };
            return conflict(format!(
                "--{flag} is for one transfer: a service has many, and waits between them: leave --serve out"
            ));
        }
        if self.streams > 1 {
            return conflict(
                "--parallel: a receiver that serves takes any number of streams: leave it out, --max-clients is the limit"
                    .into(),
            );
        }
        Ok(())
    }

    fn watched(&self) -> Result<(), PlanError> {
        if let Some(ns) = self.interval_ns {
            range("interval", ns / 1_000_000, 10, 86_400_000)?;
        }
        if let Some(bits) = self.pace_bits_per_s {
            range("pace", bits, 8_000, 1_000_000_000_000)?;
            if self.role == Role::Receive {
                return conflict("--pace is for the transmitter: give it with -t".into());
            }
        }
        if self.zero_copy && self.checksum {
            return conflict("--zero-copy: a checksum needs to see the bytes: leave --checksum out".into());
        }
        if self.zero_copy && self.role == Role::Receive && (self.full_blocks || self.touch) {
            return conflict(
                "--zero-copy: whole blocks are put together in a buffer, and bytes that are looked at are copied: \
                 leave --full-blocks and --touch out"
                    .into(),
            );
        }
        Ok(())
    }

    fn datagrams(&self) -> Result<(), PlanError> {
        let for_tcp = [
            (self.streams > 1, "parallel"),
            (self.serve.is_some(), "serve"),
            (self.explain, "explain"),
            (self.zero_copy, "zero-copy"),
            (self.congestion.is_some(), "congestion"),
        ];
        if let Some((_, flag)) = for_tcp.iter().find(|(on, _)| *on) {
            return conflict(format!("--{flag} is for TCP: leave it out, or --udp"));
        }
        if self.checksum {
            return conflict(
                "--checksum is for TCP: what UDP loses is missing anyway; leave one of them out".into(),
            );
        }
        if self.no_delay {
            return conflict("--no-delay is for TCP: a datagram always goes at once; leave it out".into());
        }
        if self.made_up && self.buffer_bytes <= MARK_BYTES {
            return conflict(format!(
                "--buffer-size {}: a datagram of {MARK_BYTES} bytes or fewer marks the start or the end: choose at \
                 least {}",
                self.buffer_bytes,
                MARK_BYTES + 1
            ));
        }
        if self.buffer_bytes > MOST_DATAGRAM_BYTES {
            return conflict(format!(
                "--buffer-size {}: a UDP datagram holds at most 65507 bytes over IPv4, {MOST_DATAGRAM_BYTES} over \
                 IPv6: choose less",
                self.buffer_bytes
            ));
        }
        Ok(())
    }
}

fn conflict(text: String) -> Result<(), PlanError> {
    Err(PlanError::Conflict(text))
}

#[cfg(test)]
mod tests;
