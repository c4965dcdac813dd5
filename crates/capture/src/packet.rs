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
pub enum PacketDirection {
    In,
    Out,
}

/// What a time may be in a capture or a log, either way from 1970: 146 years. So none, and hardly a difference of two,
/// is more than a record has room for.
pub const MOST_NS: u64 = (1 << 62) - 1;

/// What the stamps of a clock count in, as pcapng says it (`if_tsresol`): seconds over ten, or two, to some power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolution(u8);

impl Resolution {
    pub const NANOSECONDS: Self = Self(9);
    /// Those of pcap, unless it was asked for others.
    pub const MICROSECONDS: Self = Self(6);
    const BINARY: u8 = 0x80;
    /// Nanoseconds of the decimal ones.
    const DECIMAL_NS: [u32; 10] =
        [1_000_000_000, 100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1000, 100, 10, 1];

    pub const fn of(number: u8) -> Self {
        Self(number)
    }

    /// From a stamp to the next one that there can be, ns; 1 of those that are finer.
    #[inline]
    pub fn step_ns(self) -> u32 {
        if self.0 & Self::BINARY == 0 {
            return Self::DECIMAL_NS[usize::from(self.0.min(9))];
        }
        Self::DECIMAL_NS[0].checked_shr((self.0 & !Self::BINARY).into()).unwrap_or(0).max(1)
    }

    /// From a stamp to the middle of the time that has it: a clock that counts in steps cuts the rest off, so that
    /// a stamp is early by half a step on average, and by no more than that off from here.
    #[inline]
    pub fn half_step_ns(self) -> u32 {
        self.step_ns() / 2
    }

    #[inline]
    pub fn coarser(self, other: Self) -> Self {
        if self.step_ns() < other.step_ns() { other } else { self }
    }
}

impl Default for Resolution {
    fn default() -> Self {
        Self::NANOSECONDS
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// When it was captured: nanoseconds since 1970-01-01 UTC, as the capturing host had it, cut to its resolution.
    pub time_ns: i64,
    pub resolution: Resolution,
    /// How its bytes begin.
    pub link: LinkType,
    /// Which way it went, where the file says so.
    pub way: Option<PacketDirection>,
    pub original_bytes: u32,
    /// What was captured of it: at most so long, often less.
    pub data: &'a [u8],
}

impl Packet<'_> {
    /// When it was captured, with nothing to expect on either side: the middle of the step that its time was cut to.
    #[inline]
    pub fn middle_ns(&self) -> i64 {
        self.time_ns.saturating_add(self.resolution.half_step_ns().into())
    }
}

/// Somewhere that packets come from, one after the other.
pub trait Packets {
    /// The next packet; `None` at the end. After an error there is none any more.
    ///
    /// # Errors
    /// If what comes next cannot be read. Everything before it was as it should be.
    fn next_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError>;

    /// How many of the packets so far have no time; theirs is reported as 0.
    #[inline]
    fn without_time(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_those_of_pcapng() {
        // Of finer ones than nanoseconds nothing is left; two to the minus 10, 20 and 30.
        let steps = [0, 3, 6, 9, 12, 0x7f, 0x80, 0x8a, 0x94, 0x9e, 0xff].map(|n| Resolution::of(n).step_ns());
        assert_eq!(steps, [1_000_000_000, 1_000_000, 1000, 1, 1, 1, 1_000_000_000, 976_562, 953, 1, 1]);
        assert_eq!(
            (Resolution::MICROSECONDS.half_step_ns(), Resolution::NANOSECONDS.half_step_ns()),
            (500, 0)
        );
        let [us, ns] = [Resolution::MICROSECONDS, Resolution::NANOSECONDS];
        assert_eq!((us.coarser(ns), ns.coarser(us)), (us, us));
    }
}
