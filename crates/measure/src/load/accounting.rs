//! Where every message of a trial ended, checked against what others counted.

use std::collections::BTreeMap;

use netfathom_model::accounting::{Accounting, CounterCheck, Fate, FateCount, HookCount};
use netfathom_model::engine::{Engine, Receive};
use netfathom_model::plan::{Family, Place, Transport};
use netfathom_sys::counters::{Counters, DeviceCounters, UdpCounters};

use crate::ground::error::GroundError;
use crate::ground::rig::{Rig, SideCounters};
use crate::load::sent::Sent;
use crate::load::tally::Read;

/// The counter that knows how many packets really left.
pub const DEVICE_OUT: &str = "sender: device packets out";

/// Messages that the kernel joins into one buffer at most (UDP_GRO).
const MOST_JOINED: u64 = 64;

/// What is known of a trial's messages, from every side.
struct Evidence<'a> {
    /// Accepted by the operating system.
    sent: u64,
    refused: u64,
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
    let evidence = Evidence {
        sent: sent.accepted,
        refused: sent.refused.values().sum(),
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

    /// The losses that somebody saw. Without the kernel's own reasons the socket's counter
    /// and the backlog's stand in.
    fn losses(&self) -> BTreeMap<Fate, u64> {
        let mut losses = BTreeMap::new();
        if let Some(drops) = self.drops {
            for (reason, &count) in drops {
                if let Some(fate) = fate_of(reason) {
                    *losses.entry(fate).or_default() += count;
                }
            }
            if !self.has_other_host() {
                return losses;
            }
        }
        if self.read.unreported {
            return [(Fate::Unknown, self.sent)].into_iter().filter(|f| f.1 > 0).collect();
        }
        let known: u64 = self.read.delivered + losses.values().sum::<u64>();
        let mut missing = self.sent.saturating_sub(known);
        let mut lose = |fate, count: u64| {
            let lost = count.min(missing);
            missing -= lost;
            if lost > 0 {
                *losses.entry(fate).or_default() += lost;
            }
        };
        // The socket counts what the kernel has joined as one.
        let joined = if self.ways.receive == Some(Receive::Gro) { MOST_JOINED } else { 1 };
        lose(Fate::SocketBufferFull, self.read.dropped.saturating_mul(joined));
        if self.drops.is_none() {
            // The queue of a reader elsewhere is not the one that is counted here.
            if !matches!(self.place, Place::To(_)) {
                lose(Fate::BacklogFull, self.counted.reader.backlog_dropped);
            }
            lose(Fate::DeviceDrop, self.dropped_by_devices());
        }
        if self.has_other_host() {
            lose(Fate::OnTheWay, u64::MAX);
        }
        losses
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
        // What was dropped at the device or behind it is not counted there; on a veth pair,
        // which tells the sender of it, UDP does not count it as out either.
        let crossed = self.sent.saturating_sub(count(Fate::BacklogFull) + count(Fate::DeviceDrop));
        let shared = self.place != Place::Lab;
        let out = if shared { self.sent.saturating_sub(count(Fate::DeviceDrop)) } else { crossed };
        let SideCounters { sender, reader } = self.counted;
        let udp = |c: &Counters| -> UdpCounters {
            match self.family {
                Family::Ipv4 => c.udp4,
                Family::Ipv6 => c.udp6.unwrap_or_default(),
            }
        };
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
            checks.push(check("sender: UDP datagrams out", out, udp(sender).out_datagrams));
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
            checks.push(check("reader: UDP datagrams in", self.read.datagrams(), udp(reader).in_datagrams));
            let full = count(Fate::SocketBufferFull);
            checks.push(check("reader: UDP receive buffer errors", full, udp(reader).rcvbuf_errors));
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
        "CPU_BACKLOG" => Fate::BacklogFull,
        "DEV_READY" | "DEV_HDR" | "FULL_RING" | "NOMEM" => Fate::DeviceDrop,
        r if r.starts_with("QDISC") => Fate::DeviceDrop,
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
mod tests {
    use super::*;

    fn account(sent: u64, delivered: u64, socket_drops: u64, drops: Option<&[(&str, u64)]>) -> Accounting {
        let read = Read { delivered, dropped: socket_drops, ..Read::default() };
        let drops = drops.map(|d| d.iter().map(|&(r, n)| (r.to_owned(), n)).collect::<BTreeMap<_, _>>());
        Evidence {
            sent,
            refused: 1,
            read: &read,
            drops: drops.as_ref(),
            counted: &SideCounters::default(),
            ways: Ways::SOCKETS,
            place: Place::Lab,
            devices: (Some("a".into()), Some("b".into())),
            family: Family::Ipv4,
        }
        .account()
    }

    #[test]
    fn every_message_has_one_fate() {
        let a =
            account(100, 90, 0, Some(&[("SOCKET_RCVBUFF", 7), ("CPU_BACKLOG", 2), ("NETFILTER_DROP", 1)]));
        assert_eq!(a.gap(), 0);
        assert_eq!((a.count(&Fate::SocketBufferFull), a.count(&Fate::BacklogFull)), (7, 2));
        assert_eq!(a.count(&Fate::KernelDrop("NETFILTER_DROP".into())), 1);
        assert_eq!(a.count(&Fate::Unexplained), 0);
    }

    #[test]
    fn unobserved_losses_are_unexplained() {
        assert_eq!(account(100, 90, 0, Some(&[("SOCKET_RCVBUFF", 7)])).count(&Fate::Unexplained), 3);
        assert_eq!(account(100, 90, 4, None).count(&Fate::Unexplained), 6);
    }

    #[test]
    fn more_losses_than_messages_leave_a_gap() {
        assert_eq!(account(100, 95, 0, Some(&[("SOCKET_RCVBUFF", 7)])).gap(), -2);
    }

    #[test]
    fn a_message_that_a_filter_refuses_was_never_sent() {
        let a = account(100, 100, 0, Some(&[("NETFILTER_DROP", 1)]));
        assert_eq!((a.gap(), a.fates.len()), (0, 1));
    }

    #[test]
    fn a_capture_that_loses_its_copy_loses_no_message() {
        assert_eq!(account(100, 100, 0, Some(&[("PACKET_SOCK_ERROR", 40)])).gap(), 0);
    }
}
