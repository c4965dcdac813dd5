//! Over a veth pair. Its near end sends whole frames.

use std::net::UdpSocket;

use netfathom_model::message::{HEADER_BYTES, Header};
use netfathom_sys::xsk::XskReceiver;
use netfathom_testkit::{host, needs_root};

use super::*;
use crate::lab::{PORT, Pair, await_that, families, far_address};

const FLOW: u32 = 77;

fn payload(flow: u32, sequence: u64) -> [u8; HEADER_BYTES] {
    let mut payload = [0; HEADER_BYTES];
    Header { flow, sequence, intended_ns: 3, sent_ns: 4 }.write(&mut payload);
    payload
}

fn attach(pair: &Pair, mode: Mode) -> XdpSink {
    pair.far.run(|| XdpSink::attach(pair.far_link.index, PORT, mode)).unwrap().unwrap()
}

/// Sends them and checks what was counted since `begin`.
fn counts(pair: &Pair, sink: &XdpSink, frames: &[Vec<u8>]) -> SinkCounts {
    let raw = pair.raw();
    sink.begin(SinkFlow { flow: FLOW, lanes: 1, planned: 1 << 40 }).unwrap();
    frames.iter().for_each(|frame| raw.send(frame));
    let all = |c: SinkCounts| c.passed + c.delivered + c.duplicates + c.too_late + c.truncated + c.damaged;
    assert!(await_that(|| all(sink.counts().unwrap()) >= frames.len() as u64), "{:?}", sink.counts());
    sink.counts().unwrap()
}

#[test]
fn everything_is_counted_as_what_it_is() {
    needs_root!();
    let pair = Pair::new();
    for mode in [Mode::Native, Mode::Generic] {
        let sink = attach(&pair, mode);
        for &ipv6 in families() {
            let to = |port, payload: &[u8]| pair.datagram(ipv6, port, payload);
            let message = |sequence| to(PORT, &payload(FLOW, sequence));
            let frames = [
                message(0),
                message(1),
                message(1),
                message(4),
                message(3),
                message(70_000),
                message(2),
                message(70_000 - 65_535),
                message(1 << 40),
                message(u64::MAX),
                to(PORT, &[payload(FLOW, 70_001).to_vec(), vec![9; 68]].concat()),
                to(PORT, &payload(FLOW, 5)[..HEADER_BYTES - 1]),
                to(PORT, &payload(FLOW, 5)[..4]),
                to(PORT, &payload(FLOW, 5)[..3]),
                to(PORT, &[7; 64]),
                to(PORT, &[]),
                to(PORT, &payload(FLOW + 1, 5)),
                to(PORT + 1, &payload(FLOW, 5)),
            ];
            let expected = SinkCounts {
                passed: 5,
                delivered: 7,
                duplicates: 1,
                reordered: 2,
                too_late: 1,
                truncated: 2,
                bytes: 6 * 32 + 100,
                damaged: 2,
            };
            assert_eq!(counts(&pair, &sink, &frames), expected, "{mode:?}, IPv6 {ipv6}");
        }
    }
}

#[test]
fn order_is_a_matter_of_each_sender_alone() {
    needs_root!();
    let pair = Pair::new();
    let sink = attach(&pair, Mode::Native);
    sink.begin(SinkFlow { flow: FLOW, lanes: 3, planned: 1_000_000 }).unwrap();
    // The second sender is far ahead of the others, which come in order.
    let sequences = [0, 300_001, 3, 2, 6, 300_004, 5, 300_001];
    let raw = pair.raw();
    for sequence in sequences {
        raw.send(&pair.datagram(false, PORT, &payload(FLOW, sequence)));
    }
    let seen = || sink.counts().unwrap();
    assert!(await_that(|| seen().delivered + seen().duplicates >= 8), "{:?}", seen());
    assert_eq!((seen().delivered, seen().duplicates, seen().reordered, seen().too_late), (7, 1, 0, 0));
}

#[test]
fn other_shapes_of_ipv4() {
    needs_root!();
    let pair = Pair::new();
    let sink = attach(&pair, Mode::Native);
    let plain = pair.datagram(false, PORT, &payload(FLOW, 0));
    // Four bytes of options (no operation) behind the addresses.
    let mut options = [&plain[..34], &[1; 4], &plain[34..]].concat();
    options[14] = 0x46;
    options[17] += 4;
    let mut fragment = plain.clone();
    fragment[20] = 0x20;
    let mut cut = plain.clone();
    cut.pop();
    let mut tagged = [&plain[..12], &[0x81, 0, 0, 1], &plain[12..]].concat();
    tagged[12] = 0x88;
    let counted = counts(&pair, &sink, &[options, fragment, cut, tagged]);
    let expected = SinkCounts { passed: 3, delivered: 1, bytes: 32, ..Default::default() };
    assert_eq!(counted, expected);
}

#[test]
fn before_it_begins_and_when_it_is_gone_everything_passes() {
    needs_root!();
    let pair = Pair::new();
    let reader = pair.far.run(|| UdpSocket::bind(far_address(false))).unwrap().unwrap();
    reader.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
    let frame = pair.datagram(false, PORT, &payload(FLOW, 0));
    let sink = attach(&pair, Mode::Native);
    pair.raw().send(&frame);
    assert_eq!(reader.recv(&mut [0; 64]).unwrap(), HEADER_BYTES);
    assert_eq!(counts(&pair, &sink, std::slice::from_ref(&frame)).delivered, 1);
    drop(sink);
    pair.raw().send(&frame);
    assert_eq!(reader.recv(&mut [0; 64]).unwrap(), HEADER_BYTES);
}

#[test]
fn messages_reach_an_af_xdp_socket() {
    needs_root!();
    let pair = Pair::new();
    let ifindex = pair.far_link.index;
    // The driver can, so the one that hands messages over is native too.
    drop(attach(&pair, Mode::Native));
    let redirect = pair.far.run(|| XdpRedirect::attach(ifindex, PORT)).unwrap().unwrap();
    let mut socket = pair.far.run(|| XskReceiver::open(ifindex, 0, 8)).unwrap().unwrap();
    redirect.insert(0, socket.as_fd()).unwrap();
    assert!(redirect.insert(64, socket.as_fd()).is_err());
    assert!(redirect.insert(1, pair.far.as_fd()).is_err());
    let raw = pair.raw();
    let frames = [0, 1].map(|i| pair.datagram(false, PORT, &payload(FLOW, i)));
    raw.send(&pair.datagram(false, PORT + 1, &payload(FLOW, 9)));
    frames.iter().for_each(|frame| raw.send(frame));
    let mut received = Vec::new();
    assert!(await_that(|| {
        socket.drain(|frame| received.push(frame.to_vec()));
        received.len() >= frames.len()
    }));
    assert_eq!(received, frames);
    assert_eq!(socket.drain(|_| ()), 0);
}

#[test]
fn what_cannot_be_attached_is_reported() {
    needs_root!();
    let pair = Pair::new();
    let ifindex = pair.far_link.index;
    let first = attach(&pair, Mode::Auto);
    let again = || XdpPass::attach(ifindex).err().unwrap().to_string();
    let error = pair.far.run(again).unwrap();
    assert!(error.contains("another XDP program"), "{error}");
    drop(first);
    pair.far.run(|| XdpPass::attach(ifindex).unwrap()).unwrap();
    let missing = || XdpPass::attach(4_000_000).err().unwrap().to_string();
    let error = pair.far.run(missing).unwrap();
    assert!(error.contains("4000000") && error.contains("such a device"), "{error}");
    let on_loopback = || {
        let refused = XdpSink::attach(1, PORT, Mode::Native).err().unwrap().to_string();
        // Generic, then.
        XdpSink::attach(1, PORT, Mode::Auto).unwrap();
        refused
    };
    let refused = host().run(on_loopback).unwrap();
    assert!(refused.contains("its driver has no XDP"), "{refused}");
}
