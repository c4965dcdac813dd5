//! A capture and a log put together, message by message.
//!
//! Both are read once, side by side: for a packet of a message that the log has not listed yet, the
//! log is read on, as far as that message should be. What only one of the two has so far
//! waits in a table of a fixed size; what must leave it to make room was missing from
//! the other. So memory is bounded whatever the files hold, and messages in order cost one
//! step each.

use netfathom_model::plan::Numbering;
use netfathom_model::record::PacketKind;

use crate::decode::{self, Skipped};
use crate::error::CaptureError;
use crate::log::{Clock, Messages};
use crate::packet::{LinkType, PacketDirection, Packets, Resolution};

mod capture_log;
mod clock;
mod flows;
mod joiner;
mod number;
mod table;
#[cfg(test)]
mod tests;

pub use capture_log::Captured;
pub use clock::{ClockFit, Fit, Fitted, Jump};

use joiner::Joiner;
use number::{Number, number};

#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub numbering: Numbering,
    /// Only packets from or to this UDP port; all others are foreign.
    pub port: Option<u16>,
    /// Only packets that went this way, where the capture says which; all others are foreign.
    pub way: Option<PacketDirection>,
    /// Messages that log and capture may be apart, or out of order.
    pub window: u32,
    /// Puts the clocks together instead of what the log states.
    pub fitted: Option<Fitted>,
}

impl Default for Options {
    fn default() -> Self {
        Self { numbering: Numbering::Netfathom, port: None, way: None, window: 65_536, fitted: None }
    }
}

/// A message that was captured. All times are on the clock of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The flow of the message; 0 if messages are not numbered by netfathom.
    pub flow: u32,
    pub sequence: u64,
    /// When it was sent: as the log has it. Of a message that is not in it, or has no time there,
    /// as the message itself says; but never of a log that has no sending times at all, for who
    /// received a message mostly has another clock than who sent it.
    pub sent_ns: Option<u64>,
    /// When it was sent as the message itself says, by the clock of its sender, which need not be
    /// that of the log.
    pub stamped_ns: Option<u64>,
    pub received_ns: Option<u64>,
    /// When it was captured, where the capture says so: the middle of the step that its time was cut to.
    pub captured_ns: Option<i64>,
    /// How far that and the times of the log may be off together, either way: half a step of both.
    pub uncertainty_ns: u32,
    /// Which way it went, where the capture says so.
    pub way: Option<PacketDirection>,
    /// Whether this is the first sight of it. The other one is of the same message on its other
    /// way through the same host, and comes only where the capture says which way it went.
    pub first: bool,
    pub in_log: bool,
}

impl Sighting {
    /// From the application to the capture.
    #[inline]
    pub fn out_ns(&self) -> Option<i64> {
        Some(self.captured_ns?.wrapping_sub(self.sent_ns? as i64))
    }

    /// From the capture to the application.
    #[inline]
    pub fn in_ns(&self) -> Option<i64> {
        Some((self.received_ns? as i64).wrapping_sub(self.captured_ns?))
    }
}

#[derive(Debug, Default)]
pub struct Joined {
    pub packets: u64,
    /// Their captured bytes.
    pub bytes: u64,
    /// When the earliest was captured, since 1970.
    pub first_ns: i64,
    pub last_ns: i64,
    /// Packets captured before the one before them.
    pub backwards: u64,
    /// Packets without a time in the capture.
    pub untimed: u64,
    /// What the times count in, in the order of their first packets.
    pub resolutions: Vec<Resolution>,
    /// What the coarsest of the log's times count in.
    pub log_resolution: Resolution,
    /// The link types, in the order of their first packets; the first eight of them.
    pub links: Vec<LinkType>,
    pub kinds: Kinds,
    /// Of [`PacketKind::NotInLog`], those of flows that the log knows: it should have had them.
    pub unlogged: u64,
    /// Messages that the log has: joined + `missing`.
    pub messages: u64,
    /// Of those, the ones that the capture has not.
    pub missing: u64,
    /// Records of the log with the number of an earlier one, which counts.
    pub repeated: u64,
    /// Joined messages that were captured after one of their flow with a higher number.
    pub reordered: u64,
    /// Messages with a receive time in the log.
    pub received: u64,
    pub clock: Clock,
    /// Why the capture could not be read to its end.
    pub capture_damage: Option<CaptureError>,
    /// Why the log could not.
    pub log_damage: Option<CaptureError>,
}

/// Packets by what they were to the join.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds([u64; PacketKind::ALL.len()]);

impl Kinds {
    pub fn of(&self, kind: PacketKind) -> u64 {
        self.0[kind as usize]
    }

    pub fn counts(&self) -> impl Iterator<Item = (PacketKind, u64)> + '_ {
        PacketKind::ALL.into_iter().zip(self.0)
    }

    pub fn sum(&self) -> u64 {
        self.0.iter().sum()
    }

    #[inline]
    fn add(&mut self, kind: PacketKind) {
        self.0[kind as usize] += 1;
    }
}

/// Joins a capture with a log, both from where they are to their ends, and tells each message
/// that was captured. What is damaged is joined as far as it can be read.
pub fn join(
    packets: &mut impl Packets,
    log: &mut impl Messages,
    options: &Options,
    each: impl FnMut(&Sighting),
) -> Joined {
    let mut joiner = Joiner::new(log, options, each);
    let mut previous_ns = i64::MIN;
    let damage = loop {
        match packets.next_packet() {
            Ok(Some(packet)) => {
                let (link, bytes) = (packet.link, packet.data.len());
                let (middle_ns, resolution) = (packet.middle_ns(), packet.resolution);
                let found = message(&packet, options);
                let is_timed = packets.without_time() == joiner.joined.untimed;
                let stamp = is_timed.then_some(Stamp { middle_ns, resolution });
                joiner.joined.add(stamp, link, bytes, &mut previous_ns);
                match found {
                    Ok((number, way)) => joiner.packet(number, stamp, way),
                    Err(kind) => joiner.joined.kinds.add(kind),
                }
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    Joined { capture_damage: damage, ..joiner.finish() }
}

/// The number of the message in a packet, and its way; or what kind of packet it is otherwise.
#[inline]
fn message(
    packet: &crate::packet::Packet<'_>,
    options: &Options,
) -> Result<(Number, Option<PacketDirection>), PacketKind> {
    let datagram = decode::udp(packet.link, packet.data).map_err(|skipped| match skipped {
        Skipped::NotUdp => PacketKind::NotUdp,
        Skipped::Fragment => PacketKind::Fragment,
        Skipped::CutOff => PacketKind::CutOff,
        Skipped::Malformed => PacketKind::Malformed,
        Skipped::UnknownLink => PacketKind::UnknownLink,
    })?;
    let way = packet.way.or(datagram.way);
    let is_port = |port| datagram.source.port() == port || datagram.destination.port() == port;
    if options.port.is_some_and(|port| !is_port(port))
        || options.way.zip(way).is_some_and(|(wanted, way)| wanted != way)
    {
        return Err(PacketKind::Foreign);
    }
    number(options.numbering, datagram.payload).map(|number| (number, way)).ok_or(if datagram.cut {
        PacketKind::CutOff
    } else {
        PacketKind::Foreign
    })
}

#[derive(Clone, Copy, Debug)]
struct Stamp {
    middle_ns: i64,
    resolution: Resolution,
}

/// Link types beyond these are not listed: a file may name any number of them.
const MOST_LINKS: usize = 8;

impl Joined {
    /// Adds a packet of the capture, the one before it captured at `previous_ns`.
    #[inline]
    fn add(&mut self, stamp: Option<Stamp>, link: LinkType, bytes: usize, previous_ns: &mut i64) {
        match stamp {
            Some(stamp) => {
                self.time(stamp, *previous_ns);
                *previous_ns = stamp.middle_ns;
            }
            None => self.untimed += 1,
        }
        self.packets += 1;
        self.bytes += bytes as u64;
        if self.links.last() != Some(&link) && self.links.len() < MOST_LINKS && !self.links.contains(&link) {
            self.links.push(link);
        }
    }

    /// Takes back a message of the log that was there before.
    #[cold]
    fn repeat(&mut self, is_received: bool) {
        self.messages -= 1;
        self.received -= u64::from(is_received);
        self.repeated += 1;
    }

    #[inline]
    fn time(&mut self, Stamp { middle_ns: time_ns, resolution }: Stamp, previous_ns: i64) {
        // There are no more than 256 of them.
        if self.resolutions.last() != Some(&resolution) && !self.resolutions.contains(&resolution) {
            self.resolutions.push(resolution);
        }
        if self.packets == self.untimed {
            (self.first_ns, self.last_ns) = (time_ns, time_ns);
        }
        self.backwards += u64::from(time_ns < previous_ns);
        self.first_ns = self.first_ns.min(time_ns);
        self.last_ns = self.last_ns.max(time_ns);
    }
}
