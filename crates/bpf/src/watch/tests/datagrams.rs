//! What comes by UDP.

use std::net::UdpSocket;

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

/// As of TCP, but that a reader that is awake may take a datagram before the hook sees its time.
fn holds(watch: &Watch, requests: u64) {
    let account = watch.account().unwrap();
    assert!(nearly(account.timed + account.unfollowed + account.unstamped, requests), "{account:?}");
    assert!(account.unstamped <= unseen(requests), "{account:?}");
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
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let Some(mut watch) = attach(None) else { return };
    watch.follow_own_threads();
    watch.mark_datagrams(&server).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(PAUSE);
            (0..SENT).for_each(|_| assert_eq!(server.recv(&mut [0; 64]).unwrap(), 64));
        });
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(server.local_addr().unwrap()).unwrap();
        (0..SENT).for_each(|_| assert_eq!(client.send(&[7; 64]).unwrap(), 64));
    });
    let account = watch.account().unwrap();
    assert_eq!((account.seen, account.ended()), (SENT, SENT), "{account:?}");
    assert!(account.timed + unseen(SENT) >= SENT, "{account:?}");
    add_up(&watch, SENT);
}

/// The first are there before they are watched. Then more wait than the socket has places for, or a buffer.
#[test]
fn datagrams_that_wait_have_their_own_times_and_those_without_a_place_are_counted() {
    needs_root!();
    const BURST: u64 = 600;
    const PLACES: u64 = 256;
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    send::set(&server, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 1 << 20);
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.connect(server.local_addr().unwrap()).unwrap();
    let send = |n| (0..n).for_each(|_| assert_eq!(client.send(&[7; 64]).unwrap(), 64));
    let receive = |n| (0..n).for_each(|_| assert_eq!(server.recv(&mut [0; 64]).unwrap(), 64));
    send(3);
    let Some(watch) = attach(Some(server.local_addr().unwrap().port())) else { return };
    send(1);
    receive(4);
    let first = watch.account().unwrap();
    assert_eq!((first.seen, first.unfollowed), (1, 1), "{first:?}");
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
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    send::set(&server, libc::SOL_SOCKET, libc::SO_RCVBUF, 4096);
    let Some(watch) = attach(Some(server.local_addr().unwrap().port())) else { return };
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.connect(server.local_addr().unwrap()).unwrap();
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
