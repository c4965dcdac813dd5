//! What a server sends, and what holds it.

use std::os::fd::AsRawFd;
use std::ptr;
use std::time::Instant;

use netfathom_sys::tcp_info;
use socket2::{Domain, Socket, Type};

use super::*;
use crate::lab::tick_ns;

fn tx() -> &'static [WatchStage] {
    WatchStage::of(Direction::Tx)
}

/// `None` on kernels that lack a hook for it.
fn attach(listener: &TcpListener) -> Option<Watch> {
    if tracepoint::is_missing(SENDING) {
        skipped("watch::tests::send", "needs tcp_sendmsg_locked: Linux 6.16");
        return None;
    }
    let port = listener.local_addr().unwrap().port();
    Some(Watch::attach(Selection::Port(port), &[Direction::Tx], Detail::default()).unwrap())
}

pub(super) fn set(socket: &impl AsRawFd, level: i32, option: i32, value: i32) {
    let size = size_of::<i32>() as u32;
    // SAFETY: the value lives during the call, and the size is its.
    let done =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), size) };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
}

/// All of `messages` have times, which their stages add up to, but those that left while no program ran. Returns the sums of the stages.
pub(super) fn holds(watch: &Watch, messages: u64, bytes: u64) -> Vec<(WatchStage, u64, i128)> {
    let (account, total) = (watch.send_account().unwrap(), watch.send_total().unwrap());
    println!("{account:?}");
    let of = |&stage| (stage, watch.stage(stage).unwrap().moments);
    let sums: Vec<_> = tx().iter().map(of).map(|(stage, m)| (stage, m.n, m.sum)).collect();
    println!("{sums:?}");
    // A datagram that no program saw leave is `missed` only once another one has its place.
    let left_unseen = account.missed + u64::try_from(account.unsent()).unwrap();
    let timed = messages - left_unseen;
    assert!(left_unseen <= unseen(messages), "{account:?}");
    assert_eq!((account.seen, account.timed), (messages, timed), "{account:?}");
    assert_eq!(account.bytes_timed, bytes / messages * timed, "{account:?}");
    assert_eq!((total.moments.n, total.histogram.count()), (timed, timed));
    assert_eq!(sums.iter().map(|sum| sum.2).sum::<i128>(), total.moments.sum);
    assert_eq!(total.histogram.negative(), 0);
    assert!(watch.acknowledged().unwrap().moments.n <= messages);
    sums
}

/// At least `times` pauses (one of twenty may go unseen) are in this stage, and in all others together less than a quarter of what it has.
fn is_in(sums: &[(WatchStage, u64, i128)], stage: WatchStage, times: u64) {
    let sum = |found: &dyn Fn(WatchStage) -> bool| {
        sums.iter().filter(|sum| found(sum.0)).map(|sum| sum.2).sum::<i128>()
    };
    let here = sum(&|of| of == stage);
    assert!(here > i128::from(times) * PAUSE.as_nanos() as i128 * 9 / 10, "{stage:?}: {sums:?}");
    assert!(sum(&|of| of != stage) * 4 < here, "{stage:?}: {sums:?}");
}

#[test]
fn each_call_that_sends_is_a_message_and_its_stages_are_its_time() {
    needs_root!();
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let listener = TcpListener::bind(address).unwrap();
        let Some(watch) = attach(&listener) else { return };
        exchange(&listener, REQUESTS, || ());
        let sums = holds(&watch, REQUESTS, 64 * REQUESTS);
        let of = |stage| sums.iter().find(|sum| sum.0 == stage).unwrap();
        let timed = watch.send_account().unwrap().timed;
        assert_eq!((of(WatchStage::Socket).1, of(WatchStage::Qdisc).1), (timed, timed));
        // All but the last have an answer, which acknowledges them.
        assert!(watch.acknowledged().unwrap().moments.n >= timed - 1);
        assert_eq!(watch.reader().unwrap().pid, std::process::id());
    }
}

/// Of a message that is larger than the window of its receiver.
const LARGE: usize = 200_000;
/// Of a receive buffer, which the kernel doubles.
const SMALL: i32 = 16_384;

/// The receiver reads each message after a pause. Returns both ends, the server's first, and how long messages waited for
/// their receiver, at least and at most.
pub(super) fn closed_window(rounds: u64, pause: Duration) -> Option<(Watch, [TcpStream; 2], [u64; 2])> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // Accepted sockets have it too.
    set(&listener, libc::SOL_SOCKET, libc::SO_SNDBUF, 4 * LARGE as i32);
    let watch = attach(&listener)?;
    let (mut server, mut client) = connection(&listener);
    set(&client, libc::SOL_SOCKET, libc::SO_RCVBUF, SMALL);
    let (mut message, mut least, mut most) = (vec![0; LARGE], 0, 0);
    for _ in 0..rounds {
        let begun = Instant::now();
        server.write_all(&message).unwrap();
        let sent = Instant::now();
        thread::sleep(pause);
        least += sent.elapsed().as_nanos() as u64;
        client.read_exact(&mut message).unwrap();
        most += begun.elapsed().as_nanos() as u64;
    }
    Some((watch, [server, client], [least, most]))
}

#[test]
fn a_closed_window_of_the_receiver_shows_as_rwnd() {
    needs_root!();
    const ROUNDS: u64 = 20;
    let Some((watch, [server, _client], _)) = closed_window(ROUNDS, PAUSE) else { return };
    let sums = holds(&watch, ROUNDS, ROUNDS * LARGE as u64);
    is_in(&sums, WatchStage::Rwnd, ROUNDS);
    // The receiver made its buffer small once it was connected.
    assert!(watch.send_account().unwrap().receiver_window > 2 * SMALL as u64);
    needs_times!();
    // The kernel's count begins within the call, once the window is full, and is in ticks: each wait is rounded.
    let of = |stage| sums.iter().find(|sum| sum.0 == stage).unwrap().2;
    let (least, most) = (of(WatchStage::Rwnd), of(WatchStage::Rwnd) + of(WatchStage::Socket));
    let counted = tcp_info::read(server.as_fd()).unwrap().limits.unwrap().window_us;
    let (counted, off) = (i128::from(counted) * 1000, i128::from(ROUNDS) * tick_ns() + least / 20);
    println!("rwnd {least} ns, the kernel counted {counted}");
    assert!((least - off..=most + off).contains(&counted), "{counted}: {sums:?}");
}

#[test]
fn what_held_a_message_one_after_the_other_has_its_part_each() {
    needs_root!();
    needs_times!();
    const ROUNDS: u64 = 5;
    const CHUNK: usize = 8000;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    set(&listener, libc::SOL_SOCKET, libc::SO_SNDBUF, 4 * LARGE as i32);
    let Some(watch) = attach(&listener) else { return };
    let (mut server, mut client) = connection(&listener);
    set(&client, libc::SOL_SOCKET, libc::SO_RCVBUF, 4 * SMALL);
    client.set_read_timeout(Some(3 * PAUSE)).unwrap();
    for _ in 0..ROUNDS {
        let mut message = vec![0; LARGE];
        set(&server, libc::IPPROTO_TCP, libc::TCP_CORK, 1);
        server.write_all(&message).unwrap();
        let mut rest = message.as_mut_slice();
        // Until only the last segment, which is short, has not come for a while.
        while let Ok(n @ 1..) = client.read(rest.split_at_mut(CHUNK.min(rest.len())).0) {
            rest = &mut rest[n..];
            thread::sleep(PAUSE / 20);
        }
        // What comes back acknowledges: netfathom looks at the socket.
        client.write_all(&[0]).unwrap();
        set(&server, libc::IPPROTO_TCP, libc::TCP_CORK, 0);
        client.read_exact(rest).unwrap();
    }
    let sums = holds(&watch, ROUNDS, ROUNDS * LARGE as u64);
    let of = |stage| sums.iter().find(|sum| sum.0 == stage).unwrap().2;
    let counted = i128::from(tcp_info::read(server.as_fd()).unwrap().limits.unwrap().window_us) * 1000;
    let off = i128::from(ROUNDS) * tick_ns() + counted / 10;
    assert!((of(WatchStage::Rwnd) - counted).abs() < off, "{counted} ns by the kernel: {sums:?}");
    let pauses = i128::from(ROUNDS) * 3 * PAUSE.as_nanos() as i128;
    assert!(of(WatchStage::Cork) > pauses * 9 / 10, "{pauses} ns: {sums:?}");
}

#[test]
fn a_receiver_with_a_small_buffer_never_had_a_wider_window() {
    needs_root!();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    set(&listener, libc::SOL_SOCKET, libc::SO_SNDBUF, 4 * LARGE as i32);
    let Some(watch) = attach(&listener) else { return };
    let client = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    set(&client, libc::SOL_SOCKET, libc::SO_RCVBUF, SMALL);
    client.connect(&listener.local_addr().unwrap().into()).unwrap();
    let (mut client, mut server) = (TcpStream::from(client), listener.accept().unwrap().0);
    let mut message = vec![0; LARGE];
    server.write_all(&message).unwrap();
    client.read_exact(&mut message).unwrap();
    let account = watch.send_account().unwrap();
    assert!((1..=2 * SMALL as u64).contains(&account.receiver_window), "{account:?}");
}

#[test]
fn a_full_send_buffer_shows_as_sndbuf_whether_the_call_waits_or_comes_again() {
    needs_root!();
    const BYTES: usize = 1_000_000;
    for nonblocking in [false, true] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        set(&listener, libc::SOL_SOCKET, libc::SO_SNDBUF, 16_384);
        let Some(watch) = attach(&listener) else { return };
        let (mut server, mut client) = connection(&listener);
        set(&client, libc::SOL_SOCKET, libc::SO_RCVBUF, 16_384);
        server.set_nonblocking(nonblocking).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(2 * PAUSE);
                client.read_exact(&mut vec![0; BYTES]).unwrap();
            });
            let message = vec![0; BYTES];
            let mut rest = message.as_slice();
            while !rest.is_empty() {
                match server.write(rest) {
                    Ok(n) => rest = &rest[n..],
                    Err(full) => assert_eq!(full.kind(), io::ErrorKind::WouldBlock),
                }
            }
        });
        let sums = holds(&watch, 1, BYTES as u64);
        let sndbuf = sums.iter().find(|sum| sum.0 == WatchStage::Sndbuf).unwrap().2;
        assert!(sndbuf > 2 * PAUSE.as_nanos() as i128 * 9 / 10, "{sums:?}");
    }
}

/// The message that finds no room is sent again, but not as soon as there is some.
#[test]
fn a_send_buffer_that_has_room_again_is_no_longer_sndbuf() {
    needs_root!();
    let idle = 10 * PAUSE;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    set(&listener, libc::SOL_SOCKET, libc::SO_SNDBUF, SMALL);
    let Some(watch) = attach(&listener) else { return };
    let (mut server, mut client) = connection(&listener);
    set(&client, libc::SOL_SOCKET, libc::SO_RCVBUF, SMALL);
    server.set_nonblocking(true).unwrap();
    let begun = Instant::now();
    let taken: Vec<usize> = std::iter::from_fn(|| server.write(&vec![0; 5 * LARGE]).ok()).collect();
    client.read_exact(&mut vec![0; taken.iter().sum()]).unwrap();
    // The last acknowledgment may be delayed.
    let most = (begun.elapsed() + idle / 2).as_nanos() as i128;
    thread::sleep(idle);
    server.write_all(&[0; 10]).unwrap();
    client.read_exact(&mut [0; 10]).unwrap();
    let (account, total) = (watch.send_account().unwrap(), watch.send_total().unwrap().moments);
    let messages = taken.len() as u64 + 1;
    assert_eq!((account.seen, account.timed), (messages, messages), "{account:?}");
    let sndbuf = watch.stage(WatchStage::Sndbuf).unwrap().moments;
    assert!(sndbuf.sum < most, "{sndbuf:?}, {most} ns");
    assert!(i128::from(total.max) < most, "{total:?}, {most} ns");
}

#[test]
fn calls_that_are_refused_do_not_wait_for_the_send_buffer() {
    needs_root!();
    const REFUSED: u32 = 20;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let Some(watch) = attach(&listener) else { return };
    let (mut server, mut client) = connection(&listener);
    for _ in 0..REFUSED {
        // SAFETY: nothing is mapped there, so that the kernel reads nothing.
        let sent = unsafe { libc::send(server.as_raw_fd(), ptr::without_provenance(8), 10, 0) };
        assert_eq!((sent, io::Error::last_os_error().raw_os_error()), (-1, Some(libc::EFAULT)));
        thread::sleep(PAUSE / 4);
    }
    server.write_all(&[0; 10]).unwrap();
    client.read_exact(&mut [0; 10]).unwrap();
    let sums = holds(&watch, 1, 10);
    assert_eq!(sums.iter().find(|sum| sum.0 == WatchStage::Sndbuf).unwrap().1, 0, "{sums:?}");
    let slept = (REFUSED * PAUSE / 4).as_nanos() as i128;
    assert!(watch.send_total().unwrap().moments.sum * 4 < slept, "{sums:?}");
}

#[test]
fn what_tcp_holds_back_shows_by_its_reason() {
    needs_root!();
    const ROUNDS: u64 = 20;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let Some(watch) = attach(&listener) else { return };
    let (mut server, mut client) = connection(&listener);
    for _ in 0..ROUNDS {
        set(&server, libc::IPPROTO_TCP, libc::TCP_CORK, 1);
        server.write_all(&[0; 10]).unwrap();
        thread::sleep(PAUSE);
        set(&server, libc::IPPROTO_TCP, libc::TCP_CORK, 0);
        client.read_exact(&mut [0; 10]).unwrap();
        client.write_all(&[0]).unwrap();
        server.read_exact(&mut [0]).unwrap();
    }
    is_in(&holds(&watch, ROUNDS, 10 * ROUNDS), WatchStage::Cork, ROUNDS);
}

#[test]
fn what_pacing_holds_shows_as_pacing() {
    needs_root!();
    const ROUNDS: u64 = 20;
    const BYTES: usize = 400_000;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    set(&listener, libc::SOL_SOCKET, libc::SO_SNDBUF, 4 * BYTES as i32);
    let Some(watch) = attach(&listener) else { return };
    let (mut server, mut client) = connection(&listener);
    // A message takes more than a pause.
    set(&server, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, 8_000_000);
    let mut message = vec![0; BYTES];
    for _ in 0..ROUNDS {
        server.write_all(&message).unwrap();
        client.read_exact(&mut message).unwrap();
        client.write_all(&[0]).unwrap();
        server.read_exact(&mut [0]).unwrap();
    }
    let sums = holds(&watch, ROUNDS, ROUNDS * BYTES as u64);
    let pacing = sums.iter().find(|sum| sum.0 == WatchStage::Pacing).unwrap();
    assert!(pacing.1 * 2 > ROUNDS, "{sums:?}");
    is_in(&sums, WatchStage::Pacing, pacing.1 / 2);
}

#[test]
fn two_small_writes_against_delayed_acknowledgments_show_as_nagle() {
    needs_root!();
    const ROUNDS: u64 = 40;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let Some(watch) = attach(&listener) else { return };
    let (mut server, mut client) = connection(&listener);
    for _ in 0..ROUNDS {
        client.write_all(&[0]).unwrap();
        server.read_exact(&mut [0]).unwrap();
        server.write_all(&[0; 10]).unwrap();
        server.write_all(&[0; 10]).unwrap();
        client.read_exact(&mut [0; 20]).unwrap();
    }
    let sums = holds(&watch, 2 * ROUNDS, 20 * ROUNDS);
    let of = |stage| sums.iter().find(|sum| sum.0 == stage).unwrap();
    // The first acknowledgments of a connection are not delayed.
    assert!((ROUNDS / 2..=ROUNDS).contains(&of(WatchStage::Nagle).1), "{sums:?}");
    let others: i128 = sums.iter().filter(|sum| sum.0 != WatchStage::Nagle).map(|sum| sum.2).sum();
    assert!(of(WatchStage::Nagle).2 > 4 * others, "{sums:?}");
}

#[test]
fn what_waits_in_great_numbers_is_merged_and_its_bytes_have_times() {
    needs_root!();
    const BURST: usize = 300;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    set(&listener, libc::SOL_SOCKET, libc::SO_SNDBUF, 1_000_000);
    let Some(watch) = attach(&listener) else { return };
    let (mut server, mut client) = connection(&listener);
    set(&client, libc::SOL_SOCKET, libc::SO_RCVBUF, 16_384);
    for _ in 0..BURST {
        server.write_all(&[0; 1000]).unwrap();
    }
    client.read_exact(&mut vec![0; 1000 * BURST]).unwrap();
    // Its acknowledgment follows all others.
    let account = watch.send_account().unwrap();
    println!("{account:?}");
    assert_eq!((account.seen, account.unsent(), account.missed), (BURST as u64, 0, 0));
    assert!(account.merged > 0 && account.timed > 1 && account.crowded == 0, "{account:?}");
    assert_eq!(account.bytes_timed, 1000 * BURST as u64);
    let sum: i128 = tx().iter().map(|&stage| watch.stage(stage).unwrap().moments.sum).sum();
    assert_eq!(sum, watch.send_total().unwrap().moments.sum);
}
