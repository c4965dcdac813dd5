//! Where every message of a trial ended, checked against what others counted.

use std::collections::BTreeMap;
use std::io;

use netfathom_model::accounting::{Accounting, CounterCheck, Fate, FateCount, HookCount};
use netfathom_model::engine::{Engine, Receive};
use netfathom_model::plan::{Family, Place, Transport};
use netfathom_sys::counters::{Counters, DeviceCounters, UdpCounters};
use netfathom_sys::endpoint::has_no_room;

use crate::ground::error::GroundError;
use crate::ground::rig::{Rig, SideCounters};
use crate::load::sent::Sent;
use crate::load::tally::Read;

/// The counter that knows how many packets really left.
pub const DEVICE_OUT: &str = "sender: device packets out";

/// Messages that the kernel joins into one buffer at most (UDP_GRO), or takes in one (UDP_SEGMENT).
const MOST_JOINED: u64 = 64;

/// What is known of a trial's messages, from every side.
struct Evidence<'a> {
    /// Accepted by the operating system.
    sent: u64,
    refused: u64,
    /// Refused ones that the kernel had no room for.
    without_room: u64,
    read: &'a Read,
    /// Packets that the kernel dropped, by its own names; `None` if drops were not observed.
    drops: Option<&'a BTreeMap<String, u64>>,
    counted: &'a SideCounters,
    /// How they left and how they were taken, which decides who counts them.
    ways: Ways,
    place: Place,
    /// Names of the sender's and the reader's device, where they are known.
    devices: (Option<String>, Option<String>),
    family: Family,
}

/// How the messages of a trial left and were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ways {
    pub engine: Engine,
    /// How they were taken; `None` where that is another host's matter.
    pub receive: Option<Receive>,
    pub transport: Transport,
}

impl Ways {
    /// One call a message at either end, as ordinary programs do.
    pub const SOCKETS: Self =
        Self { engine: Engine::Send, receive: Some(Receive::Recv), transport: Transport::Udp };

    /// The same over connections of TCP.
    pub const STREAMS: Self = Self { transport: Transport::Tcp, ..Self::SOCKETS };
}

/// Where the messages of a trial ended, by what was counted at its rig since `before`. `drops` are the packets that the
/// kernel dropped, by its own names; `None` if drops were not observed.
pub fn account(
    rig: &Rig,
    before: &SideCounters,
    sent: &Sent,
    read: &Read,
    drops: Option<&BTreeMap<String, u64>>,
    ways: Ways,
) -> Result<Accounting, GroundError> {
    let counted = rig.counted_since(before)?;
    let for_room = |(errno, _): &(&i32, &u64)| {
        let error = io::Error::from_raw_os_error(**errno);
        has_no_room(&error) || error.kind() == io::ErrorKind::WouldBlock
    };
    let evidence = Evidence {
        sent: sent.accepted,
        refused: sent.refused.values().sum(),
        without_room: sent.refused.iter().filter(for_room).map(|(_, n)| n).sum(),
        read,
        drops,
        counted: &counted,
        ways,
        place: rig.place,
        devices: rig.device_names(),
        family: rig.family,
    };
    Ok(evidence.account())
}

impl Evidence<'_> {
    /// Adds up the fates and checks the counters.
    fn account(&self) -> Accounting {
        let mut losses = self.losses();
        self.leave_out_refused(&mut losses);
        let known: u64 = self.read.delivered + losses.values().sum::<u64>();
        if known < self.sent {
            *losses.entry(Fate::Unexplained).or_default() += self.sent - known;
        }
        let mut fates = vec![FateCount { fate: Fate::Delivered, count: self.read.delivered }];
        fates.extend(losses.into_iter().map(|(fate, count)| FateCount { fate, count }));
        Accounting {
            sent: self.sent,
            duplicates: self.read.duplicates,
            reordered: self.read.reordered,
            foreign: self.read.foreign,
            truncated: self.read.truncated,
            garbage: self.read.garbage,
            counters: self.counters(|fate| fates.iter().filter(|f| f.fate == fate).map(|f| f.count).sum()),
            fates,
            ..Accounting::default()
        }
    }

    /// A message that a filter drops on its way out is refused, and dropped as well: it was
    /// never sent.
    fn leave_out_refused(&self, losses: &mut BTreeMap<Fate, u64>) {
        let known = self.read.delivered + losses.values().sum::<u64>();
        let mut excess = known.saturating_sub(self.sent).min(self.refused);
        for (_, count) in losses.iter_mut().filter(|(fate, _)| matches!(fate, Fate::KernelDrop(_))) {
            let taken = excess.min(*count);
            *count -= taken;
            excess -= taken;
        }
        losses.retain(|_, count| *count > 0);
    }

    /// The losses that somebody saw. Where the kernel's own reasons are not known, its counters stand in.
    fn losses(&self) -> BTreeMap<Fate, u64> {
        let mut losses = self.named_losses();
        if self.drops.is_some() && !self.has_other_host() {
            return losses;
        }
        let known: u64 = self.read.delivered + losses.values().sum::<u64>();
        let mut missing = self.sent.saturating_sub(known);
        // What the kernel has named already, a counter does not explain again.
        let mut lose = |fate, count: u64| {
            let named = losses.entry(fate).or_default();
            let lost = count.saturating_sub(*named).min(missing);
            missing -= lost;
            *named += lost;
        };
        // The socket counts these, too (sk_drops).
        let corrupted = self.corrupted();
        lose(Fate::ChecksumError, corrupted);
        // What the kernel has joined, it counts as one.
        let joined = if self.ways.receive == Some(Receive::Gro) { MOST_JOINED } else { 1 };
        lose(Fate::SocketBufferFull, self.read.dropped.saturating_sub(corrupted).saturating_mul(joined));
        if self.drops.is_none() {
            // The queue of a reader elsewhere is not the one that is counted here.
            if !matches!(self.place, Place::To(_)) {
                lose(Fate::BacklogFull, self.counted.reader.backlog_dropped);
            }
            lose(Fate::DeviceDrop, self.dropped_by_devices());
            lose(Fate::QueueDrop, self.dropped_by_queues());
        }
        if self.read.unreported {
            lose(Fate::Unknown, u64::MAX);
        } else if self.has_other_host() {
            lose(Fate::OnTheWay, u64::MAX);
        }
        losses
    }

    fn named_losses(&self) -> BTreeMap<Fate, u64> {
        let named = self.drops.into_iter().flatten();
        let mut losses: BTreeMap<Fate, u64> = BTreeMap::new();
        for (fate, count) in named.filter_map(|(reason, &count)| Some((fate_of(reason)?, count))) {
            *losses.entry(fate).or_default() += count;
        }
        losses
    }

    /// Datagrams that came to the reader's host with a wrong checksum.
    fn corrupted(&self) -> u64 {
        match self.place {
            Place::To(_) => self.read.corrupted,
            _ => self.udp(&self.counted.reader).in_csum_errors,
        }
    }

    /// What queues of the sender's host dropped. Without IP_RECVERR send(2) succeeds, and UDP counts an error of the send
    /// buffer (udp_send_skb); it also counts what it refuses for want of room, and what a veth drops.
    fn dropped_by_queues(&self) -> u64 {
        // UDP counts what it is handed in one piece.
        let in_one = match (self.place, self.ways.engine) {
            (Place::Listen(_), _) | (_, Engine::AfXdp | Engine::Xdp) => return 0,
            (_, Engine::Send | Engine::Sendmmsg) => 1,
            (_, Engine::Gso) => MOST_JOINED,
        };
        let by_device = self.of_devices().0.unwrap_or_default().tx_dropped;
        let pieces = self.udp(&self.counted.sender).sndbuf_errors.saturating_sub(by_device);
        pieces.saturating_mul(in_one).saturating_sub(self.without_room)
    }

    /// What UDP counted on a host; nothing of it is about messages over TCP.
    fn udp(&self, host: &Counters) -> UdpCounters {
        match (self.ways.transport, self.family) {
            (Transport::Tcp, _) => UdpCounters::default(),
            (Transport::Udp, Family::Ipv4) => host.udp4,
            (Transport::Udp, Family::Ipv6) => host.udp6.unwrap_or_default(),
        }
    }

    /// Whether one of the two ends is out of this host's sight.
    fn has_other_host(&self) -> bool {
        matches!(self.place, Place::To(_) | Place::Listen(_))
    }

    fn dropped_by_devices(&self) -> u64 {
        let (out, into) = self.of_devices();
        let out = out.unwrap_or_default().tx_dropped;
        // What the device did not take of its frames this engine knows itself, and has refused.
        let refused = if self.ways.engine == Engine::Xdp { self.refused } else { 0 };
        out.saturating_sub(refused) + into.unwrap_or_default().rx_dropped
    }

    fn counters(&self, count: impl Fn(Fate) -> u64) -> Vec<CounterCheck> {
        if self.ways.transport == Transport::Tcp {
            return self.stream_counters();
        }
        // What was dropped before the device, at it or behind it is not counted there; on a veth pair,
        // which tells the sender of it, UDP does not count it as out either.
        let stopped = count(Fate::QueueDrop) + count(Fate::DeviceDrop);
        let crossed = self.sent.saturating_sub(count(Fate::BacklogFull) + stopped);
        let shared = self.place != Place::Lab;
        let out = if shared { self.sent.saturating_sub(stopped) } else { crossed };
        let SideCounters { sender, reader } = self.counted;
        let check = |counter: &str, expected, observed| CounterCheck {
            counter: counter.into(),
            expected,
            observed,
            shared,
        };
        let mut checks = Vec::new();
        // UDP counts what it is handed in one piece: a batch to be split is one.
        let sends_here = !matches!(self.place, Place::Listen(_));
        if sends_here && matches!(self.ways.engine, Engine::Send | Engine::Sendmmsg) {
            checks.push(check("sender: UDP datagrams out", out, self.udp(sender).out_datagrams));
        }
        let (out_device, in_device) = self.of_devices();
        if let Some(device) = out_device {
            checks.push(check(DEVICE_OUT, crossed, device.tx_packets));
        }
        // The counters of a reader on another host are not among these.
        let reads_here = !matches!(self.place, Place::To(_));
        let Some(receive) = self.ways.receive.filter(|_| reads_here) else { return checks };
        if let Some(device) = in_device {
            let came = crossed.saturating_sub(count(Fate::OnTheWay));
            checks.push(check("reader: device packets in", came, device.rx_packets));
        }
        if matches!(receive, Receive::Recv | Receive::Recvmmsg) {
            let UdpCounters { in_datagrams, rcvbuf_errors, .. } = self.udp(reader);
            checks.push(check("reader: UDP datagrams in", self.read.datagrams(), in_datagrams));
            let full = count(Fate::SocketBufferFull);
            checks.push(check("reader: UDP receive buffer errors", full, rcvbuf_errors));
        }
        checks
    }

    /// The counters of the sender's device and of the reader's, where they are known.
    fn of_devices(&self) -> (Option<DeviceCounters>, Option<DeviceCounters>) {
        let of = |c: &Counters, name: &Option<String>| c.devices.get(name.as_ref()?).copied();
        let SideCounters { sender, reader } = self.counted;
        (of(sender, &self.devices.0), of(reader, &self.devices.1))
    }

    /// How many packets messages are is for TCP to choose. What crosses from one device to the other both count.
    fn stream_counters(&self) -> Vec<CounterCheck> {
        let (out, into) = self.of_devices();
        let crossed = out.zip(into).filter(|_| self.place == Place::Lab);
        let check = |(out, into): (DeviceCounters, DeviceCounters)| CounterCheck {
            counter: "reader: device packets in".into(),
            expected: out.tx_packets,
            observed: into.rx_packets,
            shared: false,
        };
        crossed.map(check).into_iter().collect()
    }
}

/// The fate behind one of the kernel's drop reasons (include/net/dropreason-core.h);
/// `None` of a copy that a bystander lost, such as a capture.
fn fate_of(reason: &str) -> Option<Fate> {
    Some(match reason {
        "SOCKET_RCVBUFF" => Fate::SocketBufferFull,
        "UDP_CSUM" => Fate::ChecksumError,
        "CPU_BACKLOG" => Fate::BacklogFull,
        "DEV_READY" | "DEV_HDR" | "FULL_RING" | "NOMEM" => Fate::DeviceDrop,
        r if r.starts_with("QDISC") => Fate::QueueDrop,
        r if r.starts_with("PACKET_SOCK") => return None,
        r => Fate::KernelDrop(r.to_owned()),
    })
}

/// What the hooks saw, for the record: `seen` by name, and what they could not join.
pub fn hook_counts(seen: &[(&str, u64)], lost: &BTreeMap<&'static str, u64>) -> Vec<HookCount> {
    let count = |hook: &str| lost.get(hook).copied().unwrap_or(0);
    let known = seen.iter().map(|&(hook, events)| HookCount { hook: hook.into(), events, lost: count(hook) });
    let others = lost.iter().filter(|&(hook, &n)| n > 0 && seen.iter().all(|(h, _)| h != hook));
    known.chain(others.map(|(&hook, &lost)| HookCount { hook: hook.into(), events: 0, lost })).collect()
}

#[cfg(test)]
mod tests;
