use std::net::{IpAddr, Ipv6Addr, UdpSocket};
use std::time::Instant;

use netfathom_testkit::{needs, needs_root};

use super::*;
use crate::clock::realtime_ns;
use crate::lab::Lab;
use crate::link;

/// Ethernet, IPv4 and UDP.
const HEADERS: usize = 14 + 20 + 8;
const SOON: Duration = Duration::from_secs(2);
const SIX: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2)];

fn options(way: CaptureDirection, port: u16) -> Options {
    Options { way, protocol: Protocol::Udp, port: Some(port), snaplen: 128, bytes: 1 << 20 }
}

#[derive(Debug)]
struct Kept {
    time_ns: u64,
    original_bytes: u32,
    data: Vec<u8>,
    outgoing: bool,
}

impl Kept {
    fn number(&self) -> u32 {
        u32::from_be_bytes(self.data[HEADERS..][..4].try_into().unwrap())
    }
}

/// All that was captured until now.
fn drain(ring: &mut PacketRing) -> Vec<Kept> {
    let deadline = Instant::now() + SOON;
    let mut kept = Vec::new();
    while ring.statistics().unwrap().captured() != ring.handed_out() {
        assert!(Instant::now() < deadline, "{:?}, {} handed out", ring.counted, ring.handed_out());
        ring.wait(Duration::from_millis(100)).unwrap();
        while let Some(block) = ring.next_block() {
            kept.extend((&block).into_iter().map(|p| Kept {
                time_ns: p.time_ns,
                original_bytes: p.original_bytes,
                data: p.data.to_vec(),
                outgoing: p.outgoing,
            }));
        }
    }
    kept
}

/// A ring at the device of a host.
fn open(lab: &Lab, end: usize, options: &Options) -> PacketRing {
    lab.hosts[end].run(|| PacketRing::open(lab.links[end].index, options).unwrap()).unwrap()
}

/// Sends numbered messages of 64 bytes; for each the clock before and after.
fn send(sender: &UdpSocket, count: u32) -> Vec<[u64; 2]> {
    let mut message = [0; 64];
    let mut each = |number: u32| {
        message[..4].copy_from_slice(&number.to_be_bytes());
        let before = realtime_ns();
        assert_eq!(sender.send(&message).unwrap(), 64);
        [before, realtime_ns()]
    };
    (0..count).map(&mut each).collect()
}

/// Sends numbered messages, a few at a time, so that the reader's buffer takes them all.
fn exchange(sender: &UdpSocket, reader: &UdpSocket, count: u32) -> Vec<[u64; 2]> {
    reader.set_read_timeout(Some(SOON)).unwrap();
    let mut sent = Vec::new();
    for _ in 0..count / 100 {
        sent.extend(send(sender, 100));
        (0..100).for_each(|_| assert_eq!(reader.recv(&mut [0; 64]).unwrap(), 64));
    }
    sent
}

fn port(socket: &UdpSocket) -> u16 {
    socket.local_addr().unwrap().port()
}

#[test]
fn each_message_is_captured_once_at_either_end_at_its_time() {
    needs_root!();
    let lab = Lab::create();
    let (sender, reader) = lab.pair();
    let mut rings = [
        (0, CaptureDirection::Out),
        (0, CaptureDirection::In),
        (0, CaptureDirection::Both),
        (1, CaptureDirection::In),
        (1, CaptureDirection::Out),
    ]
    .map(|(end, way)| open(&lab, end, &options(way, port(&reader))));
    // Several times round the ring, which holds about 5,000.
    let mut sent = Vec::new();
    let mut captured: [Vec<Kept>; 5] = Default::default();
    for _ in 0..4 {
        sent.extend(exchange(&sender, &reader, 2_000));
        for (ring, captured) in rings.iter_mut().zip(&mut captured) {
            captured.extend(drain(ring));
        }
    }
    assert_eq!(captured.each_ref().map(Vec::len), [8_000, 0, 8_000, 8_000, 0]);
    for (at, outgoing) in [(0, true), (2, true), (3, false)] {
        let packets = &captured[at];
        assert!(packets.iter().all(|p| p.outgoing == outgoing));
        assert!(packets.iter().enumerate().all(|(n, p)| p.number() == n as u32 % 100));
        assert!(packets.iter().all(|p| p.original_bytes as usize == HEADERS + 64));
        assert!(packets.is_sorted_by_key(|p| p.time_ns));
        assert!(packets.iter().zip(&sent).all(|(p, [before, _])| *before <= p.time_ns));
    }
    for at in [0, 2] {
        assert!(captured[at].iter().zip(&sent).all(|(p, [_, after])| p.time_ns <= *after));
    }
    assert_eq!(rings[0].statistics().unwrap(), Statistics { packets: 8_000, dropped: 0, freezes: 0 });
}

#[test]
fn on_the_loopback_device_the_way_tells_the_two_passes_apart() {
    needs_root!();
    let host = crate::netns::Namespace::create().unwrap();
    let counts = host.run(|| {
        let lo = link::read("lo").unwrap();
        link::set_up(&lo).unwrap();
        let reader = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(reader.local_addr().unwrap()).unwrap();
        let ways = [CaptureDirection::Out, CaptureDirection::In, CaptureDirection::Both];
        let mut rings = ways.map(|way| PacketRing::open(lo.index, &options(way, port(&reader))).unwrap());
        let sent = exchange(&sender, &reader, 500);
        rings.each_mut().map(|ring| {
            let captured = drain(ring);
            assert!(captured.iter().all(|p| sent[p.number() as usize][0] <= p.time_ns));
            let out = captured.iter().filter(|p| p.outgoing).count();
            (out, captured.len() - out)
        })
    });
    assert_eq!(counts.unwrap(), [(500, 0), (0, 500), (500, 500)]);
}

#[test]
fn foreign_ports_stay_out_and_long_packets_are_cut() {
    needs_root!();
    let lab = Lab::create();
    let (sender, reader) = lab.pair();
    let (foreign, _other_reader) = lab.pair();
    let ours = Options { snaplen: 46, ..options(CaptureDirection::Out, port(&reader)) };
    let any = Options { port: None, ..ours };
    let [mut ours, mut any] = [ours, any].map(|options| open(&lab, 0, &options));
    send(&foreign, 10);
    send(&sender, 10);
    send(&foreign, 10);
    // In three fragments; only the first one counts.
    assert_eq!(sender.send(&[0; 4000]).unwrap(), 4000);
    let captured = drain(&mut ours);
    assert_eq!(captured.len(), 11);
    assert!(captured.iter().all(|p| p.data.len() == 46));
    assert!(captured[..10].iter().enumerate().all(|(n, p)| p.number() == n as u32));
    assert!(captured[..10].iter().all(|p| p.original_bytes as usize == HEADERS + 64));
    assert_eq!(drain(&mut any).len(), 31);
}

#[test]
fn ipv6_is_captured_too() {
    needs_root!();
    needs!(link::ipv6_available(), "the kernel runs without IPv6");
    let lab = Lab::create();
    let sockets = [0, 1].map(|end: usize| {
        let settle = || {
            let veth = &lab.links[end];
            link::add_address(veth, IpAddr::V6(SIX[end]), 64).unwrap();
            link::add_neighbour(veth, IpAddr::V6(SIX[1 - end]), lab.links[1 - end].mac).unwrap();
            UdpSocket::bind((SIX[end], 0)).unwrap()
        };
        lab.hosts[end].run(settle).unwrap()
    });
    let [sender, reader] = sockets;
    let to = reader.local_addr().unwrap();
    let outgoing = options(CaptureDirection::Out, to.port());
    let mut out = open(&lab, 0, &outgoing);
    let mut any = open(&lab, 0, &Options { port: None, ..outgoing });
    let mut arriving = open(&lab, 1, &options(CaptureDirection::In, to.port()));
    let foreign = if to.port() == 9 { 10 } else { 9 };
    sender.send_to(&[6; 64], (SIX[1], foreign)).unwrap();
    sender.connect(to).unwrap();
    exchange(&sender, &reader, 300);
    assert_eq!([&mut out, &mut any, &mut arriving].map(|ring| drain(ring).len()), [300, 301, 300]);
}

#[test]
fn what_a_full_ring_drops_is_counted() {
    needs_root!();
    let lab = Lab::create();
    let (sender, reader) = lab.pair();
    let options = Options { bytes: 0, ..options(CaptureDirection::Out, port(&reader)) };
    let mut ring = open(&lab, 0, &options);
    send(&sender, 5_000);
    let full = ring.statistics().unwrap();
    assert_eq!(full.packets, 5_000);
    assert!(full.dropped > 2_000 && full.dropped < 5_000 && full.freezes > 0, "{full:?}");
    // What is in it is the beginning, without a gap, and then it works again.
    let captured = drain(&mut ring);
    assert_eq!(captured.len() as u64, full.captured());
    assert!(captured.iter().enumerate().all(|(n, p)| p.number() == n as u32));
    send(&sender, 100);
    assert_eq!(drain(&mut ring).len(), 100);
    let end = ring.statistics().unwrap();
    assert_eq!((end.packets, end.dropped, ring.handed_out()), (5_100, full.dropped, full.captured() + 100));
}

#[test]
fn what_cannot_be_captured_says_why() {
    needs_root!();
    let host = crate::netns::Namespace::create().unwrap();
    let opened = |index, snaplen| {
        let options = Options { snaplen, ..options(CaptureDirection::Out, 9) };
        host.run(|| PacketRing::open(index, &options).map(|_| ()).unwrap_err().to_string()).unwrap()
    };
    assert!(opened(4711, 64).contains("device number 4711: No such device"), "{}", opened(4711, 64));
    assert!(opened(0, 64).contains("no such device is in"));
    assert!(opened(1, 0).contains("no byte of a packet"));
    // `lo` of a new namespace is down.
    assert!(opened(1, 64).contains("set it up"), "{}", opened(1, 64));
}

#[test]
fn a_device_that_goes_away_ends_the_wait() {
    needs_root!();
    let lab = Lab::create();
    let ring = open(&lab, 0, &options(CaptureDirection::Out, 9));
    // With the other host its end of the pair goes, and with that this one.
    let Lab { hosts: [_near, far], .. } = lab;
    drop(far);
    let deadline = Instant::now() + SOON;
    let error = loop {
        match ring.wait(Duration::from_millis(50)) {
            Err(error) => break error,
            Ok(()) => assert!(Instant::now() < deadline, "the device is still there"),
        }
    };
    assert_eq!(error.kind(), io::ErrorKind::NetworkDown);
}

/// The opposite cannot be tested: any program on the host may request timestamps.
#[test]
fn an_earlier_timestamp_is_flagged() {
    needs_root!();
    let lab = Lab::create();
    let (sender, reader) = lab.pair();
    crate::socket::enable_rx_stamps(&reader).unwrap();
    let mut ring = open(&lab, 0, &options(CaptureDirection::Out, port(&reader)));
    // A kernel worker enables the timestamps (net_enable_timestamp, 6.18).
    let deadline = Instant::now() + SOON;
    let mut stamped = false;
    while !stamped {
        assert!(Instant::now() < deadline, "no packet had a time");
        exchange(&sender, &reader, 100);
        ring.wait(SOON).unwrap();
        while let Some(block) = ring.next_block() {
            stamped |= (&block).into_iter().any(|packet| packet.stamped_before);
        }
    }
}
