//! Over a veth pair. Its other end counts, or reads with a socket.

use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

use netfathom_model::message::HEADER_BYTES;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::{counters, link};
use netfathom_testkit::{needs, needs_root};

use super::*;
use crate::lab::{PORT, Pair, await_that, families, far_address, messages};
use crate::load::{release, version};
use crate::sink::{SinkCounts, SinkFlow, XdpPass, XdpSink};
use crate::xdp::Mode;

const FLOW: u32 = 0xf10a_11ff;
/// Frames that a veth takes before it is polled, VETH_RING_SIZE.
const RING: usize = 256;

fn generator(pair: &Pair, ipv6: bool, payload: usize) -> Generator {
    let frame = pair.frame(ipv6, payload);
    pair.near.run(|| Generator::load(&frame, pair.near_link.index)).unwrap().unwrap()
}

fn sink(pair: &Pair) -> XdpSink {
    let sink = pair.far.run(|| XdpSink::attach(pair.far_link.index, PORT, Mode::Native)).unwrap().unwrap();
    sink.begin(SinkFlow { flow: FLOW, lanes: 1, planned: 1 << 40 }).unwrap();
    sink
}

fn receiver(pair: &Pair, ipv6: bool) -> UdpSocket {
    let socket = pair.far.run(|| UdpSocket::bind(far_address(ipv6))).unwrap().unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket
}

#[test]
fn frames_that_cannot_carry_messages_are_refused() {
    needs_root!();
    let pair = Pair::new();
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = pair.frame(false, 64);
        change(&mut frame);
        Frame::parse(&frame).unwrap_err()
    };
    assert_eq!(refused(&|f| f[12] = 9), FrameError::Network);
    assert_eq!(refused(&|f| f.truncate(12)), FrameError::Network);
    assert_eq!(refused(&|f| f[14] = 0x46), FrameError::Transport);
    assert_eq!(refused(&|f| f[23] = 6), FrameError::Transport);
    assert_eq!(refused(&|f| f.truncate(42 + 31)), FrameError::Short);
    assert_eq!(refused(&|f| f.push(0)), FrameError::Lengths);
    assert_eq!(refused(&|f| f[39] += 1), FrameError::Lengths);
    // What the test's own code says of checksums is what ours says.
    let bare = [pair.frame(false, 64), pair.frame(true, 47)].map(|f| (Frame::parse(&f).unwrap(), f));
    assert_eq!(bare[0].0.bytes[..40], bare[0].1[..40]);
    assert_eq!(bare[1].0.bytes[..60], bare[1].1[..60]);
}

#[test]
fn every_message_arrives_once() {
    needs_root!();
    let pair = Pair::new();
    let sink = sink(&pair);
    // Until Linux 6.5 a processor with a ksoftirqd that is to run leaves the device to it (ksoftirqd_running): what is sent
    // meanwhile may fill the device's ring.
    let may_be_full = version(&release()).unwrap() < (6, 5);
    for &ipv6 in families() {
        for payload in [HEADER_BYTES, 47, 1400] {
            sink.begin(SinkFlow { flow: FLOW, lanes: 1, planned: 1 << 40 }).unwrap();
            let mut generator = generator(&pair, ipv6, payload);
            let (mut at, mut delivered) = (0, 0);
            for length in [1, 2, 17, 64, 65, 300, MOST_BATCH, MOST_BATCH] {
                let mut batch = messages(FLOW, at..at + length as u64);
                let left = generator.send(&mut batch).unwrap();
                let timed = batch.iter().filter(|message| message.sent_ns != 0).count();
                assert!(
                    left == length || may_be_full && left >= RING && left == timed,
                    "{left} of {length}, {timed}"
                );
                at += length as u64;
                delivered += left as u64;
                assert!(await_that(|| sink.counts().unwrap().delivered == delivered), "{:?}", sink.counts());
            }
            let bytes = delivered * payload as u64;
            let expected = SinkCounts { delivered, bytes, ..Default::default() };
            assert_eq!(SinkCounts { passed: 0, ..sink.counts().unwrap() }, expected);
        }
    }
}

#[test]
fn the_stack_takes_the_messages_in_order_with_right_checksums_as_they_were_meant() {
    needs_root!();
    let pair = Pair::new();
    let _pass = pair.far.run(|| XdpPass::attach(pair.far_link.index)).unwrap().unwrap();
    for &ipv6 in families() {
        let socket = receiver(&pair, ipv6);
        let mut received = [0; 2048];
        let sizes = [HEADER_BYTES, 47, 1400];
        // Rounds that fit into the socket's buffer, so that nothing is lost there.
        let mut generators = sizes.map(|size| generator(&pair, ipv6, size));
        for (n, round) in (0..3).flat_map(|n| (0..40).map(move |round| (n, round))) {
            let (size, generator) = (sizes[n], &mut generators[n]);
            let mut batch = messages(FLOW, round * 25..(round + 1) * 25);
            let before_ns = monotonic_ns();
            assert_eq!(generator.send(&mut batch).unwrap(), batch.len());
            let after_ns = monotonic_ns();
            let mut earlier_ns = before_ns;
            for sent in &batch {
                let length = socket.recv(&mut received).unwrap();
                assert_eq!(Header::read(&received[..length]), Some(*sent));
                let tail: Vec<u8> = (HEADER_BYTES..size).map(|byte| byte as u8).collect();
                assert_eq!(received[HEADER_BYTES..length], tail);
                assert!((earlier_ns..=after_ns).contains(&sent.sent_ns), "{sent:?}");
                earlier_ns = sent.sent_ns;
            }
        }
        let counters = pair.far.run(counters::read).unwrap().unwrap();
        let udp = if ipv6 { counters.udp6.unwrap() } else { counters.udp4 };
        assert_eq!((udp.in_datagrams, udp.in_errors, udp.in_csum_errors), (3000, 0, 0));
        // That counter would have moved: one frame with a wrong checksum moves it.
        let mut wrong = pair.frame(ipv6, 47);
        *wrong.last_mut().unwrap() ^= 1;
        pair.raw().send(&wrong);
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        assert!(socket.recv(&mut received).is_err());
        let counters = pair.far.run(counters::read).unwrap().unwrap();
        let udp = if ipv6 { counters.udp6.unwrap() } else { counters.udp4 };
        assert_eq!(udp.in_csum_errors, 1);
    }
}

#[test]
fn the_devices_count_its_frames() {
    needs_root!();
    let pair = Pair::new();
    let _sink = sink(&pair);
    let mut generator = generator(&pair, false, 64);
    assert_eq!(generator.send(&mut messages(FLOW, 0..100)).unwrap(), 100);
    let count = |of: fn(&counters::DeviceCounters) -> u64, name: &str| {
        let namespace = if name == "near" { &pair.near } else { &pair.far };
        of(&namespace.run(counters::read).unwrap().unwrap().devices[name])
    };
    assert!(await_that(|| count(|d| d.rx_packets, "far") >= 100));
    assert_eq!(count(|d| d.tx_packets, "near"), 100);
}

#[test]
fn why_nothing_leaves_is_reported() {
    needs_root!();
    let pair = Pair::new();
    let mut generator = generator(&pair, false, 1400);
    let mut batch = messages(FLOW, 0..40);
    let error = generator.send(&mut batch).unwrap_err().to_string();
    assert!(error.contains("attach a native XDP program"), "{error}");
    assert!(batch.iter().all(|m| m.sent_ns == 0));
    let sink = sink(&pair);
    // Frames that the other end finds too long are dropped without a reason.
    pair.far.run(|| link::set_mtu(&pair.far_link, 1000).unwrap()).unwrap();
    assert_eq!(generator.send(&mut batch).unwrap(), 0);
    assert!(batch.iter().all(|m| m.sent_ns == 0));
    pair.near.run(|| link::set_mtu(&pair.near_link, 1000).unwrap()).unwrap();
    let error = generator.send(&mut batch).unwrap_err().to_string();
    assert!(error.contains("longer than its MTU"), "{error}");
    assert_eq!(sink.counts().unwrap().delivered, 0);
    let mut long = messages(FLOW, 0..MOST_BATCH as u64 + 1);
    assert_eq!(generator.send(&mut long).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    drop(sink);
    drop(pair);
    assert!(await_that(|| generator.send(&mut batch).unwrap_err().to_string().contains("device is gone")));
}

#[test]
fn messages_that_the_device_drops_are_the_ones_without_a_time() {
    needs_root!();
    let pair = Pair::new();
    let sink = sink(&pair);
    // A kernel thread that empties the ring later: it holds 256 frames.
    let script = "mount -t sysfs sysfs /sys && echo 1 > /sys/class/net/far/threaded";
    let threaded = || Command::new("unshare").args(["-m", "sh", "-c", script]).status();
    needs!(pair.far.run(threaded).unwrap().is_ok_and(|s| s.success()), "threaded NAPI cannot be set");
    let mut generator = generator(&pair, false, 64);
    let (mut left, mut offered) = (0, 0);
    while left == offered && offered < 1_000_000 {
        let mut batch = messages(FLOW, offered..offered + MOST_BATCH as u64);
        let taken = generator.send(&mut batch).unwrap() as u64;
        assert_eq!(batch.iter().filter(|m| m.sent_ns != 0).count() as u64, taken);
        left += taken;
        offered += batch.len() as u64;
    }
    assert!(left < offered, "the ring was never full");
    assert!(
        await_that(|| sink.counts().unwrap().delivered == left),
        "{left} of {offered}: {:?}",
        sink.counts()
    );
    // Only now: a veth counts frames as out when its peer takes them from the ring.
    let near = pair.near.run(counters::read).unwrap().unwrap().devices["near"];
    assert_eq!((near.tx_packets, near.tx_dropped), (left, offered - left));
}
