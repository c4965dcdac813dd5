//! What is to be measured, validated: nothing in a plan can still be wrong by form.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::message::HEADER_BYTES;
use crate::units::format_duration;

mod capacity;
mod cost;
mod fleet;
mod join;
mod load;
mod message;
mod reproduce;
mod reverse;
mod stack;
mod sweep;
mod transfer;
mod watch;
mod wire;

pub use capacity::CapacityPlan;
pub use cost::{
    Benchmark, BenchmarkKind, CostLevel, CostLoad, CostPlan, Interception, LEVEL_WORD, MarkMeans, MarkSource,
    PAPER_FRAME_BYTES, Subject, WhenEnded,
};
pub use fleet::{FleetPlan, FleetTest, MOST_HOSTS, as_name, is_name};
pub use join::{ClockChoice, JoinPlan, Numbering};
pub use load::{EngineChoice, LoadPlan, ReceiveChoice, Spin};
pub use message::{Carrier, MessagePlan, MessageTest, Placement, ProcessorChoice};
pub use reproduce::{Project, ReproducePlan};
pub use reverse::{ReversePlan, Variant};
pub use stack::{InsertedDelay, PcapPlan, StackPlan, StageSet, TapChoice, Until};
pub use sweep::{Combination, SweepEnds, SweepPlan};
pub use transfer::{
    DEFAULT_ALIGN, DEFAULT_BUFFER_BYTES, DEFAULT_BUFFERS, DEFAULT_IDLE_NS, DEFAULT_PORT, MARK_BYTES, Role,
    Service, TransferPlan,
};
pub use watch::{SlowBound, WatchPlan, WatchTarget};
pub use wire::{DEFAULT_QUEUE_BYTES, Wire};

/// Where the two ends of a measurement stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Two network namespaces of our own, joined by a veth pair.
    Lab,
    /// The loopback device of this host.
    Loopback,
    /// From this host to a sink on another.
    To(SocketAddr),
    /// On this host, of what another one sends.
    Listen(SocketAddr),
}

impl Place {
    /// As it is written in tables and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lab => "lab",
            Self::Loopback => "loopback",
            Self::To(_) => "to another host",
            Self::Listen(_) => "from another host",
        }
    }

    /// The largest packet that is never split, headers of IP included.
    pub fn mtu(self) -> usize {
        match self {
            Self::Lab | Self::To(_) | Self::Listen(_) => 1500,
            // The loopback device has 65536, but above 15 KiB the kernel puts a message
            // into pages where the hooks cannot read who it is.
            Self::Loopback => 15_000,
        }
    }
}

/// The version of the Internet Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// IP version 4.
    Ipv4,
    /// IP version 6.
    Ipv6,
}

impl Family {
    /// Bytes of the IP and UDP headers.
    pub fn header_bytes(self) -> usize {
        match self {
            Self::Ipv4 => 20 + 8,
            Self::Ipv6 => 40 + 8,
        }
    }
}

/// The protocol that carries messages or data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// Datagrams, which may be lost; a message each.
    #[default]
    Udp,
    /// A stream; of messages: one connection a sender, with TCP_NODELAY.
    Tcp,
}

named! { Transport: Udp = "udp", Tcp = "tcp" }

impl Transport {
    /// As people write it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Udp => "UDP",
            Self::Tcp => "TCP",
        }
    }
}

/// Why something cannot be a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Smaller than what a message must carry.
    #[error(
        "--size {size}: a message carries {HEADER_BYTES} bytes of its own; choose at least {HEADER_BYTES}"
    )]
    SizeBelowHeader {
        /// As asked for.
        size: usize,
    },
    /// Would be split into fragments.
    #[error("--size {size}: beyond the MTU of {place}, where at most {most} bytes of payload fit into one packet", place = device(*.place))]
    SizeBeyondMtu {
        /// As asked for.
        size: usize,
        /// The most that fits.
        most: usize,
        /// Where.
        place: Place,
    },
    /// A number out of its range.
    #[error("--{flag} {value}: choose from {least} to {most}")]
    Range {
        /// The flag.
        flag: &'static str,
        /// As asked for.
        value: u64,
        /// Smallest that can be.
        least: u64,
        /// Largest that can be.
        most: u64,
    },
    /// A length of time out of its range.
    #[error("--{flag} {}: choose from {} to {}", format_duration(*.value_ns), format_duration(*.least_ns), format_duration(*.most_ns))]
    Span {
        /// The flag.
        flag: &'static str,
        /// As asked for.
        value_ns: u64,
        /// Shortest that can be.
        least_ns: u64,
        /// Longest that can be.
        most_ns: u64,
    },
    /// What was asked for does not go together.
    #[error("{0}")]
    Conflict(String),
    /// Only the lab's devices are ours to put programs on.
    #[error(
        "--insert-delay puts a program on a network device, which only the lab's own devices allow: add --lab"
    )]
    DelayOutsideLab,
}

fn range(flag: &'static str, value: u64, least: u64, most: u64) -> Result<(), PlanError> {
    if (least..=most).contains(&value) { Ok(()) } else { Err(PlanError::Range { flag, value, least, most }) }
}

/// The same of a length of time, which is written back as it is typed: `500ms`, not `(s) 0`.
fn span(flag: &'static str, value_ns: u64, (least_ns, most_ns): (u64, u64)) -> Result<(), PlanError> {
    let fits = (least_ns..=most_ns).contains(&value_ns);
    if fits { Ok(()) } else { Err(PlanError::Span { flag, value_ns, least_ns, most_ns }) }
}

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// More than a segment holds, so that one that is cut is measured too.
const LARGEST_OVER_TCP: usize = 16_384;

/// Checks that a payload holds a message and fits into one packet.
/// What a packet crosses there, in a sentence.
fn device(place: Place) -> &'static str {
    match place {
        Place::Lab => "the lab",
        Place::Loopback => "the loopback",
        Place::To(_) | Place::Listen(_) => "Ethernet",
    }
}

fn size(size: usize, place: Place, family: Family, transport: Transport) -> Result<(), PlanError> {
    if transport == Transport::Tcp && size > HEADER_BYTES {
        return range("size", size as u64, HEADER_BYTES as u64, LARGEST_OVER_TCP as u64);
    }
    let most = place.mtu() - family.header_bytes();
    if size < HEADER_BYTES {
        return Err(PlanError::SizeBelowHeader { size });
    }
    if size > most {
        return Err(PlanError::SizeBeyondMtu { size, most, place });
    }
    Ok(())
}
