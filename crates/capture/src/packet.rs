//! Packets as a capture has them.

use crate::error::CaptureError;

/// How the bytes of a packet begin (<https://www.tcpdump.org/linktypes.html>).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// 0: BSD loopback, the address family in the byte order of the host that captured.
    Null,
    /// 1: Ethernet.
    Ethernet,
    /// 101, and 12 and 14 in old files: an IP packet, version 4 or 6.
    Raw,
    /// 108: OpenBSD loopback, the address family in network byte order.
    Loop,
    /// 113: Linux cooked capture, version 1.
    Sll,
    /// 228: an IPv4 packet.
    Ipv4,
    /// 229: an IPv6 packet.
    Ipv6,
    /// 276: Linux cooked capture, version 2.
    Sll2,
    /// Any other, by its number.
    Other(u32),
}

impl LinkType {
    /// By its number in files.
    #[must_use]
    pub fn of(number: u32) -> Self {
        match number {
            0 => Self::Null,
            1 => Self::Ethernet,
            12 | 14 | 101 => Self::Raw,
            108 => Self::Loop,
            113 => Self::Sll,
            228 => Self::Ipv4,
            229 => Self::Ipv6,
            276 => Self::Sll2,
            other => Self::Other(other),
        }
    }

    /// Its number in files.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Self::Null => 0,
            Self::Ethernet => 1,
            Self::Raw => 101,
            Self::Loop => 108,
            Self::Sll => 113,
            Self::Ipv4 => 228,
            Self::Ipv6 => 229,
            Self::Sll2 => 276,
            Self::Other(number) => number,
        }
    }

    /// As it is written in tables.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Null => "null/loopback".into(),
            Self::Ethernet => "Ethernet".into(),
            Self::Raw => "raw IP".into(),
            Self::Loop => "OpenBSD loopback".into(),
            Self::Sll => "Linux cooked v1".into(),
            Self::Ipv4 => "raw IPv4".into(),
            Self::Ipv6 => "raw IPv6".into(),
            Self::Sll2 => "Linux cooked v2".into(),
            Self::Other(number) => format!("link type {number}"),
        }
    }
}

/// Which way a packet went, seen from the host that captured it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Into it.
    In,
    /// Out of it.
    Out,
}

/// One packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// When it was captured: nanoseconds since 1970-01-01 UTC, as the capturing host had it.
    pub time_ns: i64,
    /// How its bytes begin.
    pub link: LinkType,
    /// Which way it went, where the file says so.
    pub way: Option<Way>,
    /// Its length on the wire.
    pub original_bytes: u32,
    /// What was captured of it: at most so long, often less.
    pub data: &'a [u8],
}

/// Somewhere that packets come from, one after the other.
pub trait Packets {
    /// The next packet; `None` at the end. After an error there is none any more.
    ///
    /// # Errors
    /// If what comes next cannot be read. Everything before it was as it should be.
    fn next_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError>;

    /// How many of the packets so far have no time; theirs is told as 0.
    #[inline]
    fn without_time(&self) -> u64 {
        0
    }
}
