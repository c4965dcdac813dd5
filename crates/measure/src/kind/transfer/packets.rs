//! Packets of a connection beside its transfer, as tcpdump shows them.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use netfathom_model::record::{Packet, Packets, Spread};
use netfathom_sys::link;
use netfathom_sys::packet_ring::{CaptureDirection, Options, PacketRing, Protocol};

use super::{TransferError, median};

/// Then the capture ends, and costs the transfer nothing more.
const MOST: usize = 10_000;
/// Headers of Ethernet with VLANs, IPv6 with extensions, and TCP with options.
const SNAPLEN: u32 = 192;
const RING_BYTES: usize = 8 << 20;
const LOOK: Duration = Duration::from_millis(20);
const ETHERNET_BYTES: usize = 14;

/// A capture that goes on until it has enough, or is ended.
pub(super) struct Capture {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Packet>>,
}

impl Capture {
    /// Of a connection, seen from the end that sends.
    pub fn start(local: SocketAddr, peer: SocketAddr) -> Result<Self, TransferError> {
        let ring = open(local, peer)?;
        let ended = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ended);
        let capture = move || capture(ring, local, peer, &until);
        let thread = Builder::new().name("packets".into()).spawn(capture).map_err(TransferError::NoThread)?;
        Ok(Self { ended, thread })
    }

    /// What was seen, and this many packets from the middle of it.
    pub fn end(self, shown: usize) -> Packets {
        self.ended.store(true, Relaxed);
        let seen = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        account(&seen, shown)
    }
}

fn open(local: SocketAddr, peer: SocketAddr) -> Result<PacketRing, TransferError> {
    let within = local.ip() == peer.ip() || local.ip().is_loopback();
    let link = if within { link::read("lo").map(Some) } else { link::with_address(local.ip()) };
    let link = link.map_err(|e| TransferError::Packets(e.to_string()))?;
    let link =
        link.ok_or_else(|| TransferError::Packets(format!("no device has the address {}", local.ip())))?;
    // Whatever passes lo is there twice: as it is sent, and as it comes.
    let way = if within { CaptureDirection::Out } else { CaptureDirection::Both };
    let options = Options { way, protocol: Protocol::Tcp, port: None, snaplen: SNAPLEN, bytes: RING_BYTES };
    PacketRing::open(link.index, &options).map_err(|e| TransferError::Packets(e.to_string()))
}

fn capture(mut ring: PacketRing, local: SocketAddr, peer: SocketAddr, ended: &AtomicBool) -> Vec<Packet> {
    let mut seen: Vec<Packet> = Vec::new();
    let (mut from_ns, mut base) = (None, None);
    loop {
        // What the kernel still fills comes with one more look.
        let last = ended.load(Relaxed);
        if ring.wait(LOOK).is_err() {
            return seen;
        }
        while let Some(block) = ring.next_block() {
            for packet in &block {
                let length = packet.original_bytes as usize;
                let Some(header) = header(packet.data, length, local, peer) else { continue };
                let from_ns = *from_ns.get_or_insert(packet.time_ns);
                // As tcpdump counts: the first byte is 1.
                let first = if header.sent { header.sequence } else { header.acknowledged };
                let base = *base.get_or_insert(first.wrapping_sub(1));
                let relative = |number: u32| u64::from(number.wrapping_sub(base));
                seen.push(Packet {
                    at_ns: packet.time_ns.saturating_sub(from_ns),
                    sent: header.sent,
                    push: header.push,
                    bytes: header.bytes,
                    first_byte: if header.sent { relative(header.sequence) } else { 0 },
                    acknowledged: if header.sent { 0 } else { relative(header.acknowledged) },
                });
                if seen.len() == MOST {
                    return seen;
                }
            }
        }
        if last {
            return seen;
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    sent: bool,
    push: bool,
    sequence: u32,
    acknowledged: u32,
    bytes: u32,
}

/// What a packet of the connection says; `None` of any other.
fn header(frame: &[u8], frame_bytes: usize, local: SocketAddr, peer: SocketAddr) -> Option<Header> {
    let packet = LaxSlicedPacket::from_ethernet(frame).ok()?;
    // A length of 0 is that of a packet longer than the field has room for, before it is cut up.
    let (source, destination, payload_bytes): (IpAddr, IpAddr, usize) = match packet.net? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let all = match header.total_len() {
                0 => frame_bytes.checked_sub(ETHERNET_BYTES)?,
                bytes => bytes.into(),
            };
            let inside = all.checked_sub(header.slice().len())?;
            (header.source_addr().into(), header.destination_addr().into(), inside)
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let inside = match header.payload_length() {
                0 => frame_bytes.checked_sub(ETHERNET_BYTES + header.slice().len())?,
                bytes => bytes.into(),
            };
            (header.source_addr().into(), header.destination_addr().into(), inside)
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let TransportSlice::Tcp(tcp) = packet.transport? else { return None };
    let from = SocketAddr::new(source, tcp.source_port());
    let to = SocketAddr::new(destination, tcp.destination_port());
    let is =
        |a: SocketAddr, b: SocketAddr| (a.ip().to_canonical(), a.port()) == (b.ip().to_canonical(), b.port());
    let sent = is(from, local) && is(to, peer);
    let came = is(from, peer) && is(to, local);
    if !(sent || came) {
        return None;
    }
    Some(Header {
        sent,
        push: tcp.psh(),
        sequence: tcp.sequence_number(),
        acknowledged: tcp.acknowledgment_number(),
        bytes: u32::try_from(payload_bytes.checked_sub(tcp.header_slice().len())?).ok()?,
    })
}

fn account(seen: &[Packet], shown: usize) -> Packets {
    let segments: Vec<&Packet> = seen.iter().filter(|p| p.sent && p.bytes > 0).collect();
    let between = segments.windows(2).map(|pair| pair[1].at_ns - pair[0].at_ns).collect();
    let middle = segments.get(segments.len() / 2).map_or(0, |segment| segment.at_ns);
    let from = seen.partition_point(|p| p.at_ns < middle);
    Packets {
        seen: seen.len() as u64,
        segments: segments.len() as u64,
        segment_bytes: median(segments.iter().map(|p| p.bytes.into())).unwrap_or(0),
        pushed: segments.iter().filter(|p| p.push).count() as u64,
        between: spread(between),
        acknowledged: spread(until_acknowledged(seen)),
        shown: seen[from..].iter().take(shown).copied().collect(),
    }
}

/// Of each segment, the time until an acknowledgment covers it.
fn until_acknowledged(seen: &[Packet]) -> Vec<u64> {
    let (mut waits, mut open) = (Vec::new(), std::collections::VecDeque::new());
    for packet in seen {
        if packet.sent && packet.bytes > 0 {
            open.push_back((packet.first_byte + u64::from(packet.bytes), packet.at_ns));
        }
        while !packet.sent && open.front().is_some_and(|&(end, _)| end <= packet.acknowledged) {
            waits.extend(open.pop_front().map(|(_, at_ns)| packet.at_ns - at_ns));
        }
    }
    waits
}

fn spread(values: Vec<u64>) -> Option<Spread> {
    let longest_ns = values.iter().copied().max()?;
    Some(Spread { p50_ns: median(values.into_iter())?, longest_ns })
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;

    use super::*;

    /// The four lines of the book's figure 4.12.
    fn figure() -> Vec<Packet> {
        let sent = |at_ns, first_byte| Packet {
            at_ns,
            sent: true,
            push: true,
            bytes: 1448,
            first_byte,
            acknowledged: 0,
        };
        let ack = |at_ns, acknowledged| Packet {
            at_ns,
            sent: false,
            push: false,
            bytes: 0,
            first_byte: 0,
            acknowledged,
        };
        vec![sent(0, 8193), ack(199_941_000, 9641), sent(199_978_000, 9641), ack(399_945_000, 11_089)]
    }

    #[test]
    fn the_books_figure_has_200_ms_between_pushed_segments() {
        let packets = account(&figure(), 4);
        assert_eq!((packets.seen, packets.segments, packets.pushed, packets.segment_bytes), (4, 2, 2, 1448));
        assert_eq!(packets.between.unwrap(), Spread { p50_ns: 199_978_000, longest_ns: 199_978_000 });
        assert_eq!(packets.acknowledged.unwrap().longest_ns, 199_967_000);
        assert_eq!(packets.shown, figure()[2..], "from the middle segment on");
        let none = account(&[], 4);
        assert_eq!((none.seen, none.between, none.shown.len()), (0, None, 0));
    }

    #[test]
    fn headers_are_read_of_this_connection_alone() {
        let (local, peer): (SocketAddr, SocketAddr) =
            ("10.0.0.1:4000".parse().unwrap(), "10.0.0.2:5001".parse().unwrap());
        let frame = |from: [u8; 4], to: [u8; 4], ports: (u16, u16), body: &[u8]| {
            let builder = PacketBuilder::ethernet2([1; 6], [2; 6])
                .ipv4(from, to, 64)
                .tcp(ports.0, ports.1, 77, 500)
                .ack(99)
                .psh();
            let mut bytes = Vec::new();
            builder.write(&mut bytes, body).unwrap();
            bytes
        };
        let (a, b) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        let whole = frame(a, b, (4000, 5001), &[7; 100]);
        let expected = Header { sent: true, push: true, sequence: 77, acknowledged: 99, bytes: 100 };
        assert_eq!(header(&whole, whole.len(), local, peer), Some(expected));
        assert_eq!(header(&whole[..60], whole.len(), local, peer), Some(expected), "cut after its headers");
        let back = frame(b, a, (5001, 4000), &[]);
        let read = header(&back, back.len(), local, peer).unwrap();
        assert_eq!((read.sent, read.bytes, read.acknowledged), (false, 0, 99));
        let other = frame(a, b, (4001, 5001), &[]);
        assert_eq!(header(&other, other.len(), local, peer), None);
        assert_eq!(header(&whole[..20], whole.len(), local, peer), None);
    }
}
