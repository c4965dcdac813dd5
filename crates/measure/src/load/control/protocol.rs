//! What sender and sink say to each other, and how: one JSON object a line.

use std::fmt;
use std::time::Duration;

use netfathom_model::engine::Receive;
use serde::{Deserialize, Serialize};

use crate::load::tally::Read;

/// The version of the conversation. Both sides must speak the same one: a count that one of
/// them understands otherwise would be a wrong measurement.
pub const VERSION: u32 = 1;

/// What a host can count during a load, of anything: a day of 200 million a second.
pub const MOST_COUNTED: u64 = 1 << 44;
/// Of datagrams: 400 Gb/s carry 595 million frames of the shortest kind.
const MOST_PER_S: f64 = 600e6;
/// What the threads of a sink can take of their processors: two years.
const MOST_CPU_NS: u64 = 1 << 56;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum FromSender {
    Hello(Hello),
    /// The load is about to begin.
    Begin {
        /// First departure, by the sender's CLOCK_MONOTONIC.
        start_ns: u64,
    },
    /// A sign of life, the answer to each [`FromSink::Seen`].
    Alive,
    End(SendTotals),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum FromSink {
    Welcome(Welcome),
    Refused {
        why: Why,
    },
    Ready,
    Seen {
        /// Messages of this conversation that have arrived so far.
        delivered: u64,
    },
    Tally(Tally),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`VERSION`] of the sender.
    pub version: u32,
    /// UDP payload.
    pub size_bytes: usize,
    pub lanes: u32,
    /// Whether each message is to be answered with itself.
    pub echo: bool,
    /// Messages, all lanes together.
    pub planned: u64,
    pub duration_ns: u64,
}

/// The load may come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The sink's cookie, random: only messages that carry it, and come from the address of
    /// this conversation's sender, are counted as its or answered.
    pub flow: u32,
    pub receive: Receive,
    /// The build, such as `netfathom 0.1.0`.
    pub tool: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendTotals {
    pub tried: u64,
    /// Those that the operating system accepted.
    pub accepted: u64,
    pub refused: u64,
}

impl SendTotals {
    /// Names a count that no sender of `planned` messages can have, if there is one.
    pub fn excess(&self, planned: u64) -> Option<String> {
        let Self { tried, accepted, refused } = *self;
        let counts = [(tried, "tried"), (accepted, "accepted"), (refused, "refused")];
        counts
            .into_iter()
            .find(|(count, _)| *count > planned)
            .map(|(count, name)| format!("{count} messages {name} of {planned}"))
    }
}

/// What arrived, and what the sink's host counted; all of this conversation alone, except
/// where a counter is the host's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    #[serde(flatten)]
    pub read: Read,
    /// Packets that came in on the device; `None` if unknown.
    pub device_packets: Option<u64>,
    /// Datagrams that UDP delivered; `None` if unknown.
    pub udp_in: Option<u64>,
}

impl From<&Read> for Tally {
    fn from(read: &Read) -> Self {
        Self { read: read.clone(), ..Self::default() }
    }
}

impl Tally {
    /// Names a count that no sink can have, if there is one.
    pub fn excess(&self, limits: &Limits) -> Option<String> {
        let Read { delivered, reordered, cpu_ns, .. } = self.read;
        limits
            .excess_delivered(delivered)
            .or_else(|| {
                (reordered > delivered)
                    .then(|| format!("{reordered} messages reordered of {delivered} delivered"))
            })
            .or_else(|| self.excess_datagrams(limits))
            .or_else(|| (cpu_ns > MOST_CPU_NS).then(|| format!("{cpu_ns} ns of CPU time")))
    }

    fn excess_datagrams(&self, limits: &Limits) -> Option<String> {
        let (read, most) = (&self.read, limits.datagrams());
        let counts = [
            (read.duplicates, "duplicates"),
            (read.foreign, "foreign messages"),
            (read.truncated, "messages truncated"),
            (read.garbage, "datagrams that are no messages"),
            (read.dropped, "messages dropped at the socket"),
            (read.corrupted, "datagrams with a wrong checksum"),
            (self.device_packets.unwrap_or(0), "packets at the device"),
            (self.udp_in.unwrap_or(0), "datagrams delivered by UDP"),
        ];
        let beyond = counts.into_iter().find(|(count, _)| *count > most);
        beyond.map(|(count, name)| format!("{count} {name} where a link carries {most}"))
    }
}

/// What bounds the counts of a sink.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Messages, all lanes together.
    pub planned: u64,
    /// Those that the sink has reported before.
    pub seen: u64,
    /// Since the sink could first count.
    pub took: Duration,
}

impl Limits {
    /// Why that number cannot have been delivered, if it cannot.
    pub fn excess_delivered(&self, delivered: u64) -> Option<String> {
        let Self { planned, seen, .. } = *self;
        if delivered < seen {
            return Some(format!("{delivered} messages delivered after {seen}"));
        }
        (delivered > planned).then(|| format!("{delivered} messages delivered of {planned}"))
    }

    fn datagrams(&self) -> u64 {
        MOST_COUNTED.min((self.took.as_secs_f64() * MOST_PER_S) as u64)
    }
}

/// Why a sink does not want a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Why {
    /// It has as many senders as it takes.
    Busy,
    Version {
        speaks: u32,
    },
    /// It is more, or something else, than this sink allows.
    Limit {
        /// What, and what would be allowed.
        text: String,
    },
    /// From a later version.
    #[serde(other)]
    Unknown,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str(
                "it has as many senders as it takes at the same time; try again when one has ended",
            ),
            Self::Version { speaks } => write!(
                f,
                "it speaks version {speaks} of the conversation and this netfathom version {VERSION}; use the \
                 same netfathom on both hosts"
            ),
            Self::Limit { text } => f.write_str(text),
            Self::Unknown => f.write_str("for a reason that this version of netfathom does not know"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_is_bounded_by_the_load_its_time_and_the_reports_before() {
        let limits = Limits { planned: 100, seen: 40, took: Duration::from_secs(2) };
        let read = Read { delivered: 50, reordered: 50, duplicates: 1_200_000_000, ..Read::default() };
        assert_eq!(Tally::from(&read).excess(&limits), None);
        let what = |read: Read| Tally::from(&read).excess(&limits).unwrap();
        assert_eq!(what(Read { delivered: 101, ..read.clone() }), "101 messages delivered of 100");
        assert_eq!(what(Read { delivered: 39, ..read.clone() }), "39 messages delivered after 40");
        assert_eq!(what(Read { reordered: 51, ..read.clone() }), "51 messages reordered of 50 delivered");
        let duplicates = what(Read { duplicates: 1_200_000_001, ..read });
        assert_eq!(duplicates, "1200000001 duplicates where a link carries 1200000000");
    }
}
