//! What is sent by UDP.

use std::net::UdpSocket;
use std::process::Command;

use netfathom_model::path::Direction::{Rx, Tx};
use netfathom_sys::link;
use netfathom_sys::netns::Namespace;

use super::send::{holds, set};
use super::*;
use crate::lab::{FAR, NEAR, Pair};

const SENT: u64 = 200;
/// Of a slow device: each datagram of [`BYTES`] takes it 8 ms.
const RATE: u64 = 1_000_000;
const BYTES: usize = 1000;
const HEADERS: usize = 14 + 20 + 8;
/// It lets so much pass at once.
const BURST: usize = 2048;

/// `None` on kernels that lack a hook of what is sent.
fn attach(sockets: &[&UdpSocket], directions: &[Direction], detail: Detail) -> Option<Watch> {
    if tracepoint::is_missing(SENDING) {
        skipped("watch::tests::outgoing", "needs tcp_sendmsg_locked: Linux 6.16");
        return None;
    }
    let mut watch = Watch::attach(Selection::Marked, directions, detail).unwrap();
    sockets.iter().for_each(|socket| watch.mark_datagrams(*socket).unwrap());
    Some(watch)
}

fn sending(socket: &UdpSocket) -> Option<Watch> {
    attach(&[socket], &[Tx], Detail::default())
}

fn bound(at: &str) -> UdpSocket {
    let socket = UdpSocket::bind((at, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket
}

fn tc(on: &Namespace, args: &str) {
    let run = || Command::new("tc").args(args.split_whitespace()).output().unwrap();
    let done = on.run(run).unwrap();
    assert!(done.status.success(), "{done:?}");
}

fn ip(on: &Namespace, args: &str) {
    netfathom_testkit::ip(on, args);
}

/// A device that is slow, and has room for `room` bytes.
fn slow_pair(room: usize) -> (Pair, UdpSocket, UdpSocket) {
    let pair = Pair::new();
    tc(&pair.near, &format!("qdisc add dev near root tbf rate {RATE} burst {BURST} limit {room}"));
    let far = pair.far.run(|| bound(FAR[0])).unwrap();
    let near = pair.near.run(|| bound(NEAR[0])).unwrap();
    near.connect(far.local_addr().unwrap()).unwrap();
    (pair, near, far)
}

/// What `messages` wait in the queue of the slow device, at least.
fn waited(messages: u64) -> i128 {
    let end = |n: u64| (n as usize * (BYTES + HEADERS)).saturating_sub(BURST) as u64;
    (1..=messages).map(|n| i128::from(end(n) * 8_000_000_000 / RATE)).sum()
}

#[test]
fn each_datagram_is_a_message_whether_connected_or_not() {
    needs_root!();
    for at in ["127.0.0.1", "::1"] {
        let (server, client, other) = (bound(at), bound(at), bound(at));
        let Some(watch) = attach(&[&client], &[Tx], Detail::default()) else { return };
        let to = server.local_addr().unwrap();
        (0..SENT / 2).for_each(|_| assert_eq!(client.send_to(&[7; 64], to).unwrap(), 64));
        client.connect(to).unwrap();
        (0..SENT / 2).for_each(|_| assert_eq!(client.send(&[7; 64]).unwrap(), 64));
        other.send_to(&[7; 64], to).unwrap();
        holds(&watch, SENT, 64 * SENT);
        assert_eq!(watch.acknowledged().unwrap().moments.n, 0);
        assert_eq!(watch.reader().unwrap().pid, std::process::id());
    }
}

#[test]
fn what_a_port_sends_is_seen_from_its_first_datagram_on() {
    needs_root!();
    if tracepoint::is_missing(SENDING) {
        return skipped("watch::tests::outgoing", "needs tcp_sendmsg_locked: Linux 6.16");
    }
    let (server, client) = (bound("127.0.0.1"), bound("127.0.0.1"));
    let port = Selection::Port(server.local_addr().unwrap().port());
    let watch = Watch::attach(port, &[Tx], Detail::default()).unwrap();
    let to = client.local_addr().unwrap();
    (0..SENT).for_each(|_| assert_eq!(server.send_to(&[], to).unwrap(), 0));
    client.send_to(&[7; 64], server.local_addr().unwrap()).unwrap();
    holds(&watch, SENT, 0);
}

#[test]
fn several_threads_that_send_by_one_socket_have_each_their_own_datagrams() {
    needs_root!();
    const THREADS: u64 = 4;
    let (server, client) = (bound("127.0.0.1"), bound("127.0.0.1"));
    let Some(watch) = sending(&client) else { return };
    client.connect(server.local_addr().unwrap()).unwrap();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..10 * SENT).for_each(|_| assert_eq!(client.send(&[7; 64]).unwrap(), 64)));
        }
    });
    holds(&watch, 10 * THREADS * SENT, 64 * 10 * THREADS * SENT);
}

#[test]
fn what_waits_for_a_slow_device_is_in_qdisc_and_each_has_its_own_time() {
    needs_root!();
    const WAIT: u64 = 20;
    let (_pair, near, far) = slow_pair(1 << 20);
    let detail = Detail { slow: true, ..Detail::default() };
    let Some(mut watch) = attach(&[&near], &[Tx], detail) else { return };
    // The first call of a socket has no place yet.
    near.send(&[7; BYTES]).unwrap();
    far.recv(&mut [0; BYTES]).unwrap();
    thread::sleep(Duration::from_millis(20));
    watch.set_slow(Tx, waited(WAIT) as u64 / WAIT);
    (0..WAIT).for_each(|_| assert_eq!(near.send(&[7; BYTES]).unwrap(), BYTES));
    (0..WAIT).for_each(|_| assert_eq!(far.recv(&mut [0; BYTES]).unwrap(), BYTES));
    let sums = holds(&watch, 1 + WAIT, (1 + WAIT) * BYTES as u64);
    let qdisc = sums.iter().find(|sum| sum.0 == WatchStage::Qdisc).unwrap().2;
    assert!(qdisc > waited(WAIT) * 9 / 10, "{qdisc} of {}", waited(WAIT));
    let total = watch.send_total().unwrap().moments;
    let last = (waited(WAIT) - waited(WAIT - 1)) as i64;
    assert!(total.min < last / 2 && total.max > last * 9 / 10, "{total:?}, {last}");
    let slow = watch.slow().unwrap();
    assert!(slow.len() as u64 >= WAIT / 4, "{slow:?}");
    for message in slow {
        assert_eq!(message.stages.iter().map(|stage| stage.sum_ns).sum::<i64>(), message.total_ns());
        assert_eq!(message.local, Some(near.local_addr().unwrap().to_string()));
        assert_eq!(message.process.unwrap().pid, std::process::id());
    }
    let sockets = watch.sockets().unwrap();
    super::sockets::are_all(&watch, &sockets);
    assert_eq!((sockets.each[0].send.total.n, sockets.others.send.total.n), (WAIT, 1));
}

#[test]
fn a_datagram_that_the_queue_drops_is_counted_and_has_no_time() {
    needs_root!();
    let (_pair, near, far) = slow_pair(3 * (BYTES + HEADERS));
    let Some(watch) = sending(&near) else { return };
    (0..SENT).for_each(|_| assert_eq!(near.send(&[7; BYTES]).unwrap(), BYTES));
    let mut received = 0;
    while far.recv(&mut [0; BYTES]).is_ok() {
        received += 1;
    }
    let account = watch.send_account().unwrap();
    println!("{account:?}");
    assert!((1..SENT).contains(&received), "{received}");
    assert_eq!((account.seen, account.timed), (SENT, received), "{account:?}");
    assert_eq!((account.dropped, account.missed, account.unsent()), (Some(SENT - received), 0, 0));
}

#[test]
fn more_datagrams_than_places_are_counted_and_none_has_the_time_of_another() {
    needs_root!();
    const MANY: u64 = 600;
    let (pair, near, far) = slow_pair(1 << 20);
    send::set(&near, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, 1 << 22);
    send::set(&far, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 1 << 22);
    let Some(watch) = sending(&near) else { return };
    (0..MANY).for_each(|_| assert_eq!(near.send(&[7; BYTES]).unwrap(), BYTES));
    // All that wait go at once.
    tc(&pair.near, "qdisc change dev near root tbf rate 1gbit burst 1mb limit 1mb");
    (0..MANY).for_each(|_| assert_eq!(far.recv(&mut [0; BYTES]).unwrap(), BYTES));
    let account = watch.send_account().unwrap();
    println!("{account:?}");
    assert_eq!((account.seen, account.timed + account.missed, account.unsent()), (MANY, MANY, 0));
    assert!(account.timed > MANY / 4 && account.missed > MANY / 4, "{account:?}");
}

#[test]
fn what_is_sent_for_several_segments_is_one_message() {
    needs_root!();
    const SEGMENTS: u64 = 10;
    let (server, client) = (bound("127.0.0.1"), bound("127.0.0.1"));
    let Some(watch) = sending(&client) else { return };
    client.connect(server.local_addr().unwrap()).unwrap();
    set(&client, libc::IPPROTO_UDP, libc::UDP_SEGMENT, 100);
    for _ in 0..SENT {
        client.send(&[7; 100 * SEGMENTS as usize]).unwrap();
        (0..SEGMENTS).for_each(|_| assert_eq!(server.recv(&mut [0; 2000]).unwrap(), 100));
    }
    holds(&watch, SENT, 100 * SEGMENTS * SENT);
}

#[test]
fn a_device_that_cuts_a_message_into_segments_has_no_time_of_another_one() {
    needs_root!();
    let pair = Pair::new();
    let run = || Command::new("ethtool").args(["-K", "near", "tx-udp-segmentation", "off"]).output();
    let Ok(Ok(done)) = pair.near.run(run) else {
        return skipped("watch::tests::outgoing", "needs ethtool");
    };
    assert!(done.status.success(), "{done:?}");
    let far = pair.far.run(|| bound(FAR[0])).unwrap();
    let near = pair.near.run(|| bound(NEAR[0])).unwrap();
    near.connect(far.local_addr().unwrap()).unwrap();
    let Some(watch) = sending(&near) else { return };
    for _ in 0..SENT {
        set(&near, libc::IPPROTO_UDP, libc::UDP_SEGMENT, 100);
        near.send(&[7; 1000]).unwrap();
        set(&near, libc::IPPROTO_UDP, libc::UDP_SEGMENT, 0);
        near.send(&[7; 100]).unwrap();
        (0..11).for_each(|_| assert_eq!(far.recv(&mut [0; 2000]).unwrap(), 100));
    }
    let account = watch.send_account().unwrap();
    println!("{account:?}");
    assert_eq!((account.seen, account.timed, account.bytes_timed), (2 * SENT, SENT, 100 * SENT));
    assert_eq!(account.missed + account.unsent() as u64, SENT, "{account:?}");
}

#[test]
fn fragments_are_one_message_with_all_of_its_bytes() {
    needs_root!();
    let pair = Pair::new();
    for (from, to) in NEAR.into_iter().zip(FAR).take(1 + usize::from(link::ipv6_available())) {
        let far = pair.far.run(|| bound(to)).unwrap();
        let near = pair.near.run(|| bound(from)).unwrap();
        near.connect(far.local_addr().unwrap()).unwrap();
        let Some(watch) = sending(&near) else { return };
        for _ in 0..SENT {
            assert_eq!(near.send(&[7; 5001]).unwrap(), 5001);
            assert_eq!(far.recv(&mut [0; 6000]).unwrap(), 5001);
        }
        holds(&watch, SENT, 5001 * SENT);
    }
}

/// Also the first, which waits until the other end's hardware address is known.
#[test]
fn what_passes_a_device_upon_another_is_one_message() {
    needs_root!();
    let pair = Pair::new();
    ip(&pair.near, "link set near arp on");
    ip(&pair.far, "link set far arp on");
    for (device, net) in [("macvlan", "10.8.0."), ("bridge", "10.7.0.")] {
        if device == "bridge" {
            ip(&pair.near, "link add upper type bridge");
            ip(&pair.near, "link set near master upper");
        } else {
            ip(&pair.near, "link add upper link near type macvlan mode bridge");
        }
        ip(&pair.near, "link set upper up");
        ip(&pair.near, &format!("address add {net}1/24 dev upper"));
        ip(&pair.far, &format!("address add {net}2/24 dev far"));
        let far = pair.far.run(|| bound(&format!("{net}2"))).unwrap();
        let near = pair.near.run(|| bound(&format!("{net}1"))).unwrap();
        near.connect(far.local_addr().unwrap()).unwrap();
        let Some(watch) = sending(&near) else { return };
        for _ in 0..SENT {
            near.send(&[7; 64]).unwrap();
            far.recv(&mut [0; 64]).unwrap();
        }
        holds(&watch, SENT, 64 * SENT);
        ip(&pair.near, "link del upper");
    }
}

/// Each of several threads reads from one socket, takes its time, and answers there.
#[test]
fn an_application_has_its_time_between_a_read_and_the_first_answer_of_the_same_thread() {
    needs_root!();
    const THREADS: u64 = 3;
    const EACH: u64 = 10;
    let server = bound("127.0.0.1");
    let Some(watch) = attach(&[&server], &[Rx, Tx], Detail::default()) else { return };
    let to = server.local_addr().unwrap();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..EACH {
                    let (_, from) = server.recv_from(&mut [0; 64]).unwrap();
                    thread::sleep(PAUSE);
                    // The second is no answer.
                    (0..2).for_each(|_| assert_eq!(server.send_to(&[7; 64], from).unwrap(), 64));
                }
            });
            scope.spawn(|| {
                let client = bound("127.0.0.1");
                for _ in 0..EACH {
                    client.send_to(&[7; 64], to).unwrap();
                    (0..2).for_each(|_| assert_eq!(client.recv(&mut [0; 64]).unwrap(), 64));
                }
            });
        }
    });
    let application = watch.application().unwrap().unwrap();
    println!("{:?}", application.moments);
    assert!(nearly(application.moments.n, THREADS * EACH), "{:?}", application.moments);
    assert!(application.moments.min >= PAUSE.as_nanos() as i64 * 9 / 10, "{:?}", application.moments);
    // A thread's time is not that of all.
    assert!(application.quantile(0.5).unwrap() < 2 * PAUSE.as_nanos() as i64, "{:?}", application.moments);
    assert_eq!(watch.answer().unwrap().unwrap().moments.n, 0);
    holds(&watch, 2 * THREADS * EACH, 2 * 64 * THREADS * EACH);
}
