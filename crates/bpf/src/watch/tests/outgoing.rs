//! What is sent by UDP.

use std::net::UdpSocket;
use std::process::Command;
use std::time::Instant;

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

/// Sends messages of this size one after the other: each is one message with all of its bytes.
fn each_is_a_message(near: &UdpSocket, far: &UdpSocket, bytes: usize) -> Option<()> {
    let watch = sending(near)?;
    for _ in 0..SENT {
        assert_eq!(near.send(&vec![7; bytes]).unwrap(), bytes);
        assert_eq!(far.recv(&mut [0; 6000]).unwrap(), bytes);
    }
    holds(&watch, SENT, bytes as u64 * SENT);
    Some(())
}

fn bound(at: &str) -> UdpSocket {
    let socket = UdpSocket::bind((at, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket
}

/// Without any look at it.
#[test]
fn what_a_watched_process_sends_from_a_socket_that_it_opens_is_a_message() {
    needs_root!();
    let Some(watch) = attach(&[], &[Tx], Detail::default()) else { return };
    watch.watch_process(std::process::id()).unwrap();
    let [near, far] = [(); 2].map(|()| bound("127.0.0.1"));
    near.connect(far.local_addr().unwrap()).unwrap();
    for _ in 0..SENT {
        assert_eq!(near.send(&[7; 64]).unwrap(), 64);
        assert_eq!(far.recv(&mut [0; 64]).unwrap(), 64);
    }
    if watch.sees_datagram_calls() == Some(true) {
        holds(&watch, SENT, 64 * SENT);
        return;
    }
    // The first was on its way before a hook showed the socket.
    let account = watch.send_account().unwrap();
    assert_eq!((account.seen, account.timed, account.missed), (SENT, SENT - 1, 1), "{account:?}");
}

/// Whether a tool did this; skips the test if not.
pub(super) fn done(on: &Namespace, command: &str) -> bool {
    let mut words = command.split_whitespace();
    let tool = words.next().unwrap();
    let run = || Command::new(tool).args(words).output();
    let done = on.run(run).unwrap().is_ok_and(|done| done.status.success());
    if !done {
        skipped("watch::tests::outgoing", &format!("needs {tool}, and a kernel that can: {command}"));
    }
    done
}

/// Sockets of both ends, the near one connected.
fn connected(pair: &Pair, near: &str, far: &str) -> (UdpSocket, UdpSocket) {
    let far = pair.far.run(|| bound(far)).unwrap();
    let near = pair.near.run(|| bound(near)).unwrap();
    near.connect(far.local_addr().unwrap()).unwrap();
    (near, far)
}

/// A device that is slow, and has room for `room` bytes.
fn slow_pair(room: usize) -> Option<(Pair, UdpSocket, UdpSocket)> {
    let pair = Pair::new();
    let slow = format!("tc qdisc add dev near root tbf rate {RATE} burst {BURST} limit {room}");
    let (near, far) = connected(&pair, NEAR[0], FAR[0]);
    done(&pair.near, &slow).then_some((pair, near, far))
}

/// What `messages` wait in the queue of the slow device, at least.
fn waited(messages: u64) -> i128 {
    (1..=messages).map(|n| i128::from(end_ns(n))).sum()
}

/// When the slow device is done with the nth of several messages, at the earliest.
fn end_ns(n: u64) -> u64 {
    (n as usize * (BYTES + HEADERS)).saturating_sub(BURST) as u64 * 8_000_000_000 / RATE
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
        let sums = holds(&watch, SENT, 64 * SENT);
        // Where programs attach to functions, the call is seen.
        let called = sums.iter().find(|sum| sum.0 == WatchStage::Socket).unwrap().1;
        let timed = watch.send_account().unwrap().timed;
        println!("{called} calls");
        assert_eq!(called, if function::has_hooks("udp_sendmsg") { timed } else { 0 });
        assert_eq!(watch.sees_datagram_calls(), Some(called > 0));
        assert_eq!(watch.acknowledged().unwrap().moments.n, 0);
        assert_eq!(watch.reader().unwrap().pid, std::process::id());
    }
}

#[test]
fn what_a_port_sends_is_seen_from_its_first_datagram_on() {
    needs_root!();
    needs!(!tracepoint::is_missing(SENDING), "needs tcp_sendmsg_locked: Linux 6.16");
    let (server, client) = (bound("127.0.0.1"), bound("127.0.0.1"));
    let port = Selection::Port(server.local_addr().unwrap().port());
    let watch = Watch::attach(port, &[Tx], Detail::default()).unwrap();
    let to = client.local_addr().unwrap();
    (0..SENT).for_each(|_| assert_eq!(server.send_to(&[], to).unwrap(), 0));
    client.send_to(&[7; 64], server.local_addr().unwrap()).unwrap();
    holds(&watch, SENT, 0);
    assert!(watch.sees_datagram_calls().is_some());
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
    let Some((_pair, near, far)) = slow_pair(1 << 20) else { return };
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
    assert!(sockets.each[0].send.total.n <= WAIT && sockets.others.send.total.n <= 1);
}

#[test]
fn a_datagram_that_the_queue_drops_is_counted_and_has_no_time() {
    needs_root!();
    const WAIT: usize = 3;
    const DROPPED: u64 = SENT - 1 - WAIT as u64;
    let pair = Pair::new();
    let (near, far) = connected(&pair, NEAR[0], FAR[0]);
    // One passes; the next would after 40 s. What leaves later does so in a softirq, during which perhaps no program runs.
    let room = WAIT * (BYTES + HEADERS);
    if !done(&pair.near, &format!("tc qdisc add dev near root tbf rate 100bit burst 1600 limit {room}")) {
        return;
    }
    let Some(watch) = sending(&near) else { return };
    (0..SENT).for_each(|_| assert_eq!(near.send(&[7; BYTES]).unwrap(), BYTES));
    assert_eq!(far.recv(&mut [0; BYTES]).unwrap(), BYTES);
    let account = watch.send_account().unwrap();
    println!("{account:?}");
    assert_eq!((account.seen, account.udp, account.timed), (SENT, SENT, 1), "{account:?}");
    assert_eq!((account.dropped, account.missed, account.unsent()), (Some(DROPPED), 0, WAIT as i64));
    let [drop] = &watch.drops().unwrap()[..] else { panic!("{:?}", watch.drops()) };
    assert_eq!((drop.direction, drop.packets), (Direction::Tx, DROPPED), "{drop:?}");
    assert!(!super::drops::names_receivers() || drop.reason == "QDISC_DROP", "{drop:?}");
}

#[test]
fn more_datagrams_than_places_are_counted_and_none_has_the_time_of_another() {
    needs_root!();
    const MANY: u64 = 600;
    let Some((pair, near, far)) = slow_pair(1 << 20) else { return };
    send::set(&near, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, 1 << 22);
    send::set(&far, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 1 << 22);
    let Some(watch) = sending(&near) else { return };
    (0..MANY).for_each(|_| assert_eq!(near.send(&[7; BYTES]).unwrap(), BYTES));
    // All that wait go at once.
    assert!(done(&pair.near, "tc qdisc change dev near root tbf rate 1gbit burst 1mb limit 1mb"));
    (0..MANY).for_each(|_| assert_eq!(far.recv(&mut [0; BYTES]).unwrap(), BYTES));
    let account = watch.send_account().unwrap();
    println!("{account:?}");
    assert_eq!((account.seen, account.timed + account.missed, account.unsent()), (MANY, MANY, 0));
    assert!(account.timed > MANY / 4 && account.missed > MANY / 4, "{account:?}");
}

/// What waits may then have the address of one that waited as an earlier sample ended.
#[test]
fn what_waits_as_a_sample_begins_or_ends_has_no_time() {
    needs_root!();
    const ROUNDS: u64 = 20;
    let Some((_pair, near, far)) = slow_pair(1 << 20) else { return };
    let detail = Detail { samples: true, ..Detail::default() };
    let Some(mut watch) = attach(&[&near], &[Tx], detail) else { return };
    let send = |n| (0..n).for_each(|_| assert_eq!(near.send(&[7; BYTES]).unwrap(), BYTES));
    let receive = |n| (0..n).for_each(|_| assert_eq!(far.recv(&mut [0; BYTES]).unwrap(), BYTES));
    let leaves_after = Duration::from_nanos(end_ns(5));
    let mut late = 0;
    for _ in 0..ROUNDS {
        let since = Instant::now();
        // The slow device has several to send before.
        send(4);
        watch.begin_sample().unwrap();
        send(1);
        watch.end_sample();
        late += u64::from(since.elapsed() > leaves_after);
        receive(5);
        send(4);
        watch.begin_sample().unwrap();
        receive(4);
        watch.end_sample();
    }
    let account = watch.send_account().unwrap();
    println!("{late} late: {account:?}");
    // Where this thread had no processor, the message left in its sample.
    assert_eq!(account.seen, ROUNDS, "{account:?}");
    assert!(account.timed <= late, "{late} late: {account:?}");
    assert!(account.missed > 0, "no address came again: {account:?}");
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
    if !done(&pair.near, "ethtool -K near tx-udp-segmentation off") {
        return;
    }
    let (near, far) = connected(&pair, NEAR[0], FAR[0]);
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
        let (near, far) = connected(&pair, from, to);
        let Some(()) = each_is_a_message(&near, &far, 5001) else { return };
    }
}

/// Also in fragments.
#[test]
fn what_has_extension_headers_is_a_message() {
    needs_root!();
    needs!(link::ipv6_available(), "needs IPv6");
    // Of options nothing but what fills them.
    const OPTIONS: [u8; 8] = [0, 0, 1, 4, 0, 0, 0, 0];
    let pair = Pair::new();
    for options in
        [&[libc::IPV6_HOPOPTS][..], &[libc::IPV6_DSTOPTS], &[libc::IPV6_HOPOPTS, libc::IPV6_DSTOPTS]]
    {
        let (near, far) = connected(&pair, NEAR[1], FAR[1]);
        for &option in options {
            // SAFETY: the kernel reads as many bytes as there are.
            let set = unsafe {
                let length = OPTIONS.len() as u32;
                libc::setsockopt(
                    near.as_raw_fd(),
                    libc::IPPROTO_IPV6,
                    option,
                    OPTIONS.as_ptr().cast(),
                    length,
                )
            };
            assert_eq!(set, 0, "{}", io::Error::last_os_error());
        }
        for bytes in [64, 5001] {
            let Some(()) = each_is_a_message(&near, &far, bytes) else { return };
        }
    }
}

/// Also the first, which waits until the other end's hardware address is known.
#[test]
fn what_passes_a_device_upon_another_is_one_message() {
    needs_root!();
    let pair = Pair::new();
    for (upon, net) in [("link near type macvlan mode bridge", "10.8.0."), ("type bridge", "10.7.0.")] {
        let on_near = [
            format!("ip link add upper {upon}"),
            "ip link set near arp on".into(),
            "ip link set upper up".into(),
            format!("ip address add {net}1/24 dev upper"),
            if net == "10.7.0." { "ip link set near master upper" } else { "true" }.into(),
        ];
        let on_far = ["ip link set far arp on".into(), format!("ip address add {net}2/24 dev far")];
        let all = |on, commands: &[String]| commands.iter().all(|command| done(on, command));
        if !(all(&pair.near, &on_near) && all(&pair.far, &on_far)) {
            return;
        }
        let (near, far) = connected(&pair, &format!("{net}1"), &format!("{net}2"));
        let Some(()) = each_is_a_message(&near, &far, 64) else { return };
        assert!(done(&pair.near, "ip link del upper"));
    }
}

/// As from a container to another host.
#[test]
fn what_came_from_a_device_is_no_other_message_at_the_next() {
    needs_root!();
    let pair = Pair::new();
    let on_near = ["ip link set near arp on", "ip address add 10.6.0.1/24 dev near"];
    let on_far = [
        "ip link add upper type bridge",
        "ip link add port type veth peer name last",
        "ip link set far master upper",
        "ip link set port master upper",
        "ip link set upper up",
        "ip link set port up",
        "ip link set last up",
        "ip address add 10.6.0.2/24 dev last",
    ];
    if !on_near.iter().all(|command| done(&pair.near, command))
        || !on_far.iter().all(|command| done(&pair.far, command))
    {
        return;
    }
    let (near, far) = connected(&pair, "10.6.0.1", "10.6.0.2");
    each_is_a_message(&near, &far, 64);
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

/// The kernel's address of the socket with this port, in a form that equals that of another at the same.
fn kernel_address(socket: &UdpSocket) -> String {
    let port = format!(":{:04X}", socket.local_addr().unwrap().port());
    let table = std::fs::read_to_string("/proc/self/net/udp").unwrap();
    let mut lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.find(|words| words[1].ends_with(&port)).unwrap()[11].to_owned()
}

#[test]
fn what_a_socket_sends_that_has_the_address_of_another_is_no_answer_to_what_that_one_got() {
    needs_root!();
    needs!(!tracepoint::is_missing(SENDING), "needs tcp_sendmsg_locked: Linux 6.16");
    let far = bound("127.0.0.1");
    let mut near = bound("127.0.0.1");
    let at = near.local_addr().unwrap();
    let directions = [Rx, Tx];
    let mut watch = Watch::attach(Selection::Port(at.port()), &directions, Detail::default()).unwrap();
    if !watch.follow_datagrams().unwrap() {
        return;
    }
    far.send_to(&[7; 64], at).unwrap();
    near.recv(&mut [0; 64]).unwrap();
    let address = kernel_address(&near);
    for again in 1.. {
        drop(near);
        near = UdpSocket::bind(at).unwrap();
        if kernel_address(&near) == address {
            println!("after {again}");
            break;
        }
        if again == 10_000 {
            skip!("the kernel gave no other socket the place of the first one");
        }
        // The kernel frees a socket late.
        thread::sleep(Duration::from_millis(1));
    }
    near.send_to(&[7; 64], far.local_addr().unwrap()).unwrap();
    assert_eq!(watch.send_account().unwrap().timed, 1);
    assert_eq!(watch.application().unwrap().unwrap().moments.n, 0);
}
