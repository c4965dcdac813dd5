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
        }
    }

    /// Bytes that a transmitter sends which makes its data itself.
    #[must_use]
    pub fn planned_bytes(&self) -> Option<u64> {
        let known = self.role == Role::Transmit && self.made_up && self.time_ns.is_none();
        known.then(|| self.buffer_bytes.saturating_mul(self.buffers))
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
        if self.discard && (!self.made_up || self.touch || self.checksum || self.protocol == Protocol::Udp) {
            return conflict(
                "--discard leaves the data in the kernel: it needs --source-sink and TCP, and cannot --touch or --checksum"
                    .into(),
            );
        }
        Ok(())
    }

    fn datagrams(&self) -> Result<(), PlanError> {
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
mod tests {
    use super::*;

    fn to(change: impl FnOnce(&mut TransferPlan)) -> Result<TransferPlan, PlanError> {
        let mut plan = TransferPlan::classic(Role::Transmit);
        plan.host = Some("localhost".into());
        change(&mut plan);
        plan.validated()
    }

    #[test]
    fn the_classic_defaults_are_a_plan() {
        let plan = to(|p| p.made_up = true).unwrap();
        assert_eq!((plan.planned_bytes(), plan.port, plan.align), (Some(16 << 20), 5001, 16_384));
        assert!(TransferPlan::classic(Role::Receive).validated().is_ok());
        assert!(to(|p| (p.align, p.offset) = (4096, 4095)).is_ok());
        assert!(to(|p| p.align = 0).is_ok());
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_could() {
        type Change = fn(&mut TransferPlan);
        let cases: [(Change, &str); 11] = [
            (|p| p.buffer_bytes = 0, "from 1 to 1073741824"),
            (|p| p.buffer_bytes = 2 << 30, "from 1 to 1073741824"),
            (|p| p.buffers = 0, "--count 0"),
            (|p| p.port = 0, "from 1 to 65535"),
            (|p| p.align = 3, "choose 2 or 4"),
            (|p| p.offset = 16_384, "choose less"),
            (|p| p.full_blocks = true, "give it with -r"),
            (|p| p.host = None, "needs the host"),
            (|p| (p.protocol, p.made_up, p.buffer_bytes) = (Protocol::Udp, true, 4), "at least 5"),
            (|p| (p.protocol, p.buffer_bytes) = (Protocol::Udp, 65_528), "at most 65507"),
            (|p| p.socket_buffer_bytes = Some(0), "--socket-buffer 0"),
        ];
        for (change, said) in cases {
            let error = to(change).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
