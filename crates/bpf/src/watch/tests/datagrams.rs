//! What comes by UDP.

use std::mem::MaybeUninit;
use std::net::UdpSocket;
use std::time::Instant;

use netfathom_testkit::host;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use super::*;

/// `None` on kernels that lack a hook for it.
fn attach(port: Option<u16>) -> Option<Watch> {
    let mut watch = super::attach(port);
    if !watch.follow_datagrams().unwrap() {
        skipped("watch::tests::datagrams", "needs sk_data_ready and sock_recv_length: Linux 6.3");
        return None;
    }
    Some(watch)
}

/// One datagram of 64 bytes after the other; the server does `before` each read, once there is something to read.
pub(super) fn exchange(server: &UdpSocket, requests: u64, before: fn()) {
    let (address, client) = (server.local_addr().unwrap(), UdpSocket::bind("[::]:0").unwrap());
    let client = if address.is_ipv4() { UdpSocket::bind("0.0.0.0:0").unwrap() } else { client };
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut message = [0; 64];
            for _ in 0..requests {
                server.peek(&mut message).unwrap();
                before();
                let (_, from) = server.recv_from(&mut message).unwrap();
                server.send_to(&message, from).unwrap();
            }
        });
        client.connect(address).unwrap();
        for _ in 0..requests {
            client.send(&[7; 64]).unwrap();
            client.recv(&mut [0; 64]).unwrap();
        }
    });
}

/// A server, and its client.
fn connected() -> (UdpSocket, UdpSocket) {
    let [server, client] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    client.connect(server.local_addr().unwrap()).unwrap();
    (server, client)
}

fn raw() -> Socket {
    Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP)).unwrap()
}

/// With a wrong checksum, on a host of its own: the kernel counts them. It checks one of up to 76 bytes before it queues it.
fn send_broken(raw: &Socket, server: &UdpSocket) {
    const BYTES: u16 = 108;
    let to = server.local_addr().unwrap();
    let mut datagram = [7; BYTES as usize];
    let header = [1, to.port(), BYTES, 1].map(u16::to_be_bytes);
    datagram[..8].copy_from_slice(header.as_flattened());
    assert_eq!(raw.send_to(&datagram, &to.into()).unwrap(), datagram.len());
}

/// The kernel takes a datagram out of the queue, and cannot copy it.
pub(super) fn fail_to_read(socket: &impl AsRawFd) {
    // SAFETY: the kernel refuses the address.
    let read = unsafe { libc::recv(socket.as_raw_fd(), std::ptr::without_provenance_mut(1), 64, 0) };
    assert_eq!((read, io::Error::last_os_error().raw_os_error()), (-1, Some(libc::EFAULT)));
}

/// Datagrams that wait for a reader that sleeps, each after `before`. Returns how long, by its clock, ns.
fn wait_alone(server: &UdpSocket, client: &UdpSocket, datagrams: u64, before: impl Fn()) -> f64 {
    let mut waited = Duration::ZERO;
    for _ in 0..datagrams {
        before();
        let since = Instant::now();
        assert_eq!(client.send(&[7; 64]).unwrap(), 64);
        thread::sleep(PAUSE / 4);
        assert_eq!(server.recv(&mut [0; 200]).unwrap(), 64);
        waited += since.elapsed();
        thread::sleep(PAUSE / 4);
    }
    waited.as_nanos() as f64
}

/// A message that begins with the time at which it is sent.
fn stamped<const BYTES: usize>() -> [u8; BYTES] {
    let mut message = [0; BYTES];
    message[..8].copy_from_slice(&monotonic_ns().to_ne_bytes());
    message
}

/// Reads until a message has nothing but its time. Returns how long all of them waited, ns.
fn read_slowly(server: &UdpSocket) -> u64 {
    let (mut message, mut waited) = ([0; 64], 0);
    loop {
        let bytes = server.recv(&mut message).unwrap();
        waited += monotonic_ns() - u64::from_ne_bytes(message[..8].try_into().unwrap());
        if bytes == 8 {
            return waited;
        }
        thread::sleep(PAUSE / 40);
    }
}

/// As of TCP, but that a reader that is awake may take a datagram before the hook sees its time.
fn holds(watch: &Watch, requests: u64) {
    let account = watch.account().unwrap();
    assert!(nearly(account.timed + account.unfollowed + account.unstamped, requests), "{account:?}");
    assert!(account.unstamped <= unseen(requests), "{account:?}");
    assert_eq!(account.udp, account.seen);
    add_up(watch, requests);
}

#[test]
fn each_datagram_is_a_message_and_its_stages_are_its_time() {
    needs_root!();
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let server = UdpSocket::bind(address).unwrap();
        let Some(watch) = attach(Some(server.local_addr().unwrap().port())) else { return };
        exchange(&server, REQUESTS, || ());
        holds(&watch, REQUESTS);
        assert_eq!(watch.reader().unwrap().pid, std::process::id());
    }
}

#[test]
fn a_marked_socket_is_watched_and_no_other() {
    needs_root!();
    let servers = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    let Some(mut watch) = attach(None) else { return };
    watch.mark_datagrams(&servers[0]).unwrap();
    watch.mark_datagrams(&servers[0]).unwrap();
    exchange(&servers[0], REQUESTS, || ());
    exchange(&servers[1], REQUESTS, || ());
    holds(&watch, REQUESTS);
}

/// Of a port, even if no datagram came before.
#[test]
fn a_thread_that_found_nothing_to_read_has_the_times_of_what_comes_next() {
    needs_root!();
    for by_port in [true, false] {
        let (server, client) = connected();
        let port = server.local_addr().unwrap().port();
        let Some(mut watch) = attach(by_port.then_some(port)) else { return };
        if !by_port {
            watch.mark_datagrams(&server).unwrap();
        }
        server.set_nonblocking(true).unwrap();
        assert_eq!(server.recv(&mut [0; 64]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        server.set_nonblocking(false).unwrap();
        assert_eq!(client.send(&[7; 64]).unwrap(), 64);
        assert_eq!(server.recv(&mut [0; 64]).unwrap(), 64);
        let account = watch.account().unwrap();
        assert_eq!((account.seen, account.timed, account.threads), (1, 1, 1), "{account:?}");
    }
}

/// Without any look at it.
#[test]
fn a_socket_that_a_watched_process_opens_is_followed_from_its_first_read() {
    const SENT: u64 = 20;
    needs_root!();
    let Some(watch) = attach(None) else { return };
    watch.watch_process(std::process::id()).unwrap();
    let (server, client) = connected();
    for _ in 0..SENT {
        assert_eq!(client.send(&[7; 64]).unwrap(), 64);
        assert_eq!(server.recv(&mut [0; 64]).unwrap(), 64);
    }
    let account = watch.account().unwrap();
    assert_eq!((account.seen, account.udp, account.bytes_read), (SENT, SENT, 64 * SENT), "{account:?}");
    assert!((1..=1 + unseen(SENT)).contains(&account.unfollowed), "{account:?}");
    assert_eq!(account.ended(), SENT, "{account:?}");
}

#[test]
fn a_reader_that_sleeps_shows_as_blocked_and_one_that_works_as_sockqueue() {
    needs_root!();
    for (before, stage) in DELAYS {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let Some(watch) = attach(Some(server.local_addr().unwrap().port())) else { return };
        exchange(&server, 25, before);
        holds(&watch, 25);
        is_in(&watch, stage);
    }
}

#[test]
fn what_waits_for_a_thread_that_is_made_later_has_times() {
    needs_root!();
    const SENT: u64 = 20;
    let (server, client) = connected();
    let Some(mut watch) = attach(None) else { return };
    watch.follow_own_threads();
    watch.mark_datagrams(&server).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(PAUSE);
            (0..SENT).for_each(|_| assert_eq!(server.recv(&mut [0; 64]).unwrap(), 64));
        });
        (0..SENT).for_each(|_| assert_eq!(client.send(&[7; 64]).unwrap(), 64));
    });
    let account = watch.account().unwrap();
    assert_eq!((account.seen, account.ended()), (SENT, SENT), "{account:?}");
    assert!(account.timed + unseen(SENT) >= SENT, "{account:?}");
    add_up(&watch, SENT);
}

/// With MSG_TRUNC the call returns how much there was.
#[test]
fn a_datagram_counts_whole_also_where_its_reader_has_no_room_for_it() {
    needs_root!();
    let (server, client) = connected();
    let Some(watch) = attach(Some(server.local_addr().unwrap().port())) else { return };
    for (flags, returned) in [(0, 10), (0, 10), (libc::MSG_TRUNC, 100)] {
        assert_eq!(client.send(&[7; 100]).unwrap(), 100);
        let part = &mut [MaybeUninit::uninit(); 10];
        assert_eq!(SockRef::from(&server).recv_with_flags(part, flags).unwrap(), returned);
    }
    let account = watch.account().unwrap();
    assert_eq!((account.bytes_read, account.bytes_timed), (300, 100 * account.timed), "{account:?}");
}

/// The first are there before they are watched. Then more wait than the socket has places for, or a buffer.
#[test]
fn datagrams_that_wait_have_their_own_times_and_those_without_a_place_are_counted() {
    needs_root!();
    const BURST: u64 = 600;
    const PLACES: u64 = 256;
    let (server, client) = connected();
    send::set(&server, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 1 << 20);
    let send = |n| (0..n).for_each(|_| assert_eq!(client.send(&[7; 64]).unwrap(), 64));
    let receive = |n| (0..n).for_each(|_| assert_eq!(server.recv(&mut [0; 64]).unwrap(), 64));
    send(3);
    let Some(watch) = attach(Some(server.local_addr().unwrap().port())) else { return };
    send(1);
    receive(4);
    let first = watch.account().unwrap();
    assert_eq!((first.seen, first.unfollowed, first.bytes_read), (1, 1, 64), "{first:?}");
    // Two series: the numbers of what had no place are passed over.
    for series in 1..3 {
        send(BURST);
        thread::sleep(PAUSE);
        receive(BURST);
        let account = watch.account().unwrap();
        println!("{account:?}");
        assert_eq!((account.seen, account.unread()), (1 + series * BURST, 0), "{account:?}");
        assert_eq!(
            (account.timed, account.crowded),
            (series * PLACES, series * (BURST - PLACES)),
            "{account:?}"
        );
        let total = watch.total().unwrap();
        let least = PAUSE.as_nanos() as i128 * 9 / 10;
        assert!(total.moments.sum > least * i128::from(series * PLACES), "{:?}", total.moments);
    }
    send(1);
    receive(1);
    // It waited for nothing but this thread's next call.
    let last = watch.account().unwrap();
    assert_eq!((last.timed, last.unread()), (2 * PLACES + 1, 0), "{last:?}");
    assert!(i128::from(watch.total().unwrap().moments.min) < PAUSE.as_nanos() as i128 / 2);
}

#[test]
fn what_finds_no_room_in_the_buffer_is_refused() {
    needs_root!();
    const SENT: u64 = 50;
    let (server, client) = connected();
    send::set(&server, libc::SOL_SOCKET, libc::SO_RCVBUF, 4096);
    let Some(watch) = attach(Some(server.local_addr().unwrap().port())) else { return };
    (0..SENT).for_each(|_| assert_eq!(client.send(&[7; 64]).unwrap(), 64));
    server.set_nonblocking(true).unwrap();
    let mut received = 0;
    while server.recv(&mut [0; 64]).is_ok() {
        received += 1;
    }
    let account = watch.account().unwrap();
    assert!((1..SENT).contains(&received), "{received}");
    assert_eq!((account.seen, account.refused, account.unread()), (SENT, SENT - received, 0), "{account:?}");
}

#[test]
fn datagrams_that_leave_the_queue_without_a_read_shift_no_times() {
    needs_root!();
    needs_times!();
    let check = || {
        const EACH: u64 = 20;
        let ((server, client), raw) = (connected(), raw());
        let Some(watch) = attach(Some(server.local_addr().unwrap().port())) else { return };
        wait_alone(&server, &client, 2, || ());
        let broken = || send_broken(&raw, &server);
        let looked_for = || {
            broken();
            server.set_nonblocking(true).unwrap();
            assert_eq!(server.peek(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
            server.set_nonblocking(false).unwrap();
        };
        let failed = || {
            assert_eq!(client.send(&[7; 64]).unwrap(), 64);
            fail_to_read(&server);
        };
        let ways: [&dyn Fn(); 3] = [&broken, &looked_for, &failed];
        for (i, way) in (1..).zip(ways) {
            let (before, sum) = (watch.account().unwrap(), watch.total().unwrap().moments.sum);
            let waited = wait_alone(&server, &client, EACH, way);
            let (account, total) =
                (watch.account().unwrap(), (watch.total().unwrap().moments.sum - sum) as f64);
            assert!(nearly(account.timed - before.timed, EACH), "{i}: {account:?}");
            assert_eq!(account.unread(), i * EACH as i64, "{i}: {account:?}");
            assert!(total > waited * 0.8 && total < waited * 1.05, "{i}: {total} of {waited}, {account:?}");
        }
    };
    host().run(check).unwrap();
}

#[test]
fn several_readers_have_the_times_of_their_datagrams_between_broken_ones() {
    needs_root!();
    needs_times!();
    let check = || {
        const READERS: usize = 4;
        const SENT: u64 = 60;
        let ((server, client), raw) = (connected(), raw());
        let Some(watch) = attach(Some(server.local_addr().unwrap().port())) else { return };
        watch.follow_own_threads();
        for _ in 0..SENT {
            send_broken(&raw, &server);
            client.send(&stamped::<64>()).unwrap();
            // The next one waits less, by more than the clocks differ.
            thread::sleep(Duration::from_millis(1));
        }
        // Ends a reader each.
        (0..READERS).for_each(|_| assert_eq!(client.send(&stamped::<8>()).unwrap(), 8));
        let waited: u64 = thread::scope(|scope| {
            let readers = [(); READERS].map(|()| scope.spawn(|| read_slowly(&server)));
            readers.map(|reader| reader.join().unwrap()).iter().sum()
        });
        let (account, total) = (watch.account().unwrap(), watch.total().unwrap().moments.sum as f64);
        assert_eq!(account.seen, 2 * SENT + READERS as u64, "{account:?}");
        assert!(nearly(account.timed, SENT + READERS as u64), "{account:?}");
        let waited = waited as f64;
        assert!(total > waited * 0.8 && total < waited * 1.05, "{total} of {waited}, {account:?}");
    };
    host().run(check).unwrap();
}

#[test]
fn what_no_thread_reads_waits_since_the_first_of_it() {
    needs_root!();
    let (server, client) = connected();
    let Some(mut watch) = attach(None) else { return };
    watch.mark_datagrams(&server).unwrap();
    let send = || {
        assert_eq!(client.send(&[7; 64]).unwrap(), 64);
        thread::sleep(PAUSE / 4);
    };
    let read = || assert_eq!(server.recv(&mut [0; 64]).unwrap(), 64);
    assert_eq!(watch.unread(&server).unwrap(), None);
    send();
    read();
    assert_eq!(watch.unread(&server).unwrap(), None);
    let before_ns = monotonic_ns();
    send();
    let first_ns = before_ns..monotonic_ns();
    send();
    let two = watch.unread(&server).unwrap().unwrap();
    assert!(two.messages == 2 && first_ns.contains(&two.since_ns), "{two:?} {first_ns:?}");
    read();
    let one = watch.unread(&server).unwrap().unwrap();
    assert!(one.messages == 1 && one.since_ns > two.since_ns, "{one:?} {two:?}");
}
