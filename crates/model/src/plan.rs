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
mod path_text;
mod reproduce;
mod reverse;
mod stack;
mod sweep;
mod transfer;
mod until;
mod watch;
mod wire;

pub use capacity::CapacityPlan;
pub use cost::{
    Benchmark, BenchmarkKind, CostLevel, CostLoad, CostPlan, Interception, LEVEL_WORD, MarkMeans, MarkSource,
    ONE_LOAD, PAPER_FRAME_BYTES, Subject, WhenEnded,
};
pub use fleet::{FleetPlan, FleetTest, MOST_HOSTS, as_name, is_name};
pub use join::{ClockChoice, JoinPlan, Numbering};
pub use load::{EngineChoice, LoadPlan, ReceiveChoice, Spin};
pub use message::{Carrier, MessagePlan, MessageTest, Placement, ProcessorChoice};
pub use reproduce::{Project, ReproducePlan};
pub use reverse::{ReversePlan, Variant};
pub use stack::{InsertedDelay, PcapPlan, StackPlan, StageSet, TapChoice};
pub use sweep::{Combination, SweepEnds, SweepPlan};
pub use transfer::{
    DEFAULT_ALIGN, DEFAULT_BUFFER_BYTES, DEFAULT_BUFFERS, DEFAULT_IDLE_NS, DEFAULT_PORT, MARK_BYTES, Role,
    Service, TransferPlan,
};
pub use until::Until;
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

/// Why something cannot be a plan, and what could.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub String);

fn conflict<T>(text: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError(text.into()))
}

fn range(flag: &str, value: u64, least: u64, most: u64) -> Result<(), PlanError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    conflict(format!("--{flag} {value}: choose from {least} to {most}"))
}

/// The same of a length of time, which is written back as it is typed: `500ms`, not `(s) 0`.
fn span(flag: &str, value_ns: u64, bounds: (u64, u64)) -> Result<(), PlanError> {
    span_with(flag, "", value_ns, bounds)
}

/// The same under a condition, such as ` with --budget`.
fn span_with(
    flag: &str,
    condition: &str,
    value_ns: u64,
    (least_ns, most_ns): (u64, u64),
) -> Result<(), PlanError> {
    if (least_ns..=most_ns).contains(&value_ns) {
        return Ok(());
    }
    let [value, least, most] = [value_ns, least_ns, most_ns].map(format_duration);
    conflict(format!("--{flag} {value}{condition}: choose from {least} to {most}"))
}

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// More than a segment holds, so that one that is cut is measured too.
const LARGEST_OVER_TCP: usize = 16_384;

/// What a packet crosses there, in a sentence.
fn device(place: Place) -> &'static str {
    match place {
        Place::Lab => "the lab",
        Place::Loopback => "the loopback",
        Place::To(_) | Place::Listen(_) => "Ethernet",
    }
}

/// Checks that a payload holds a message and fits into one packet.
fn size(size: usize, place: Place, family: Family, transport: Transport) -> Result<(), PlanError> {
    if transport == Transport::Tcp && size > HEADER_BYTES {
        return range("size", size as u64, HEADER_BYTES as u64, LARGEST_OVER_TCP as u64);
    }
    if size < HEADER_BYTES {
        return conflict(format!(
            "--size {size}: a message carries {HEADER_BYTES} bytes of its own; choose at least {HEADER_BYTES}"
        ));
    }
    let most = place.mtu() - family.header_bytes();
    if size > most {
        return conflict(format!(
            "--size {size}: beyond the MTU of {}, where at most {most} bytes of payload fit into one packet",
            device(place)
        ));
    }
    Ok(())
}
