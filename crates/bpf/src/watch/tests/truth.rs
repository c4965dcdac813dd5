//! The clock of a client, against the stages of both ends.

use std::net::Shutdown;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use super::send::set;
use super::*;

/// All that was timed: in which direction ever, and what applications took in between.
fn timed_ns(watch: &Watch) -> i128 {
    let all = [watch.total(), watch.send_total(), watch.application().map(Option::unwrap)];
    all.into_iter().map(|times| times.unwrap().moments.sum).sum()
}

/// One message at a time goes to and fro, so that at each moment one stage of one end has it. What is missing lies between the
/// hook of the device and the stamp of the link layer: 0.8 µs a message on one machine, with what the hook itself takes. The
/// client's way from a read to its next request is missing, too.
#[test]
fn the_stages_of_both_ends_are_the_time_that_the_client_sees() {
    needs_root!();
    const ROUNDS: u64 = 1000;
    /// Of the server, for each request, at least.
    const WORK_NS: u64 = 400_000;
    let work_ns = AtomicU64::new(0);
    needs!(!tracepoint::is_missing(SENDING), "needs tcp_sendmsg_locked: Linux 6.16");
    let watch = Watch::attach(Selection::Marked, &[Direction::Tx, Direction::Rx], Detail::default()).unwrap();
    watch.watch_process(std::process::id()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    watch.forget_process(std::process::id());
    client.set_nodelay(true).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut server, _) = listener.accept().unwrap();
            server.set_nodelay(true).unwrap();
            let mut message = [0; 64];
            while server.read_exact(&mut message).is_ok() {
                let end = thread_time_ns() + work_ns.load(Relaxed);
                while thread_time_ns() < end {}
                server.write_all(&message).unwrap();
            }
        });
        // It ends with this block, however that ends.
        let mut client = client;
        let mut message = [7; 64];
        let mut exchange = |rounds| {
            for _ in 0..rounds {
                client.write_all(&message).unwrap();
                client.read_exact(&mut message).unwrap();
            }
            Instant::now()
        };
        let begun = Instant::now();
        // In an emulator calls take longer, also those parts that no hook sees.
        let bare_ns = exchange(10).duration_since(begun).as_nanos() as u64 / 10;
        work_ns.store(WORK_NS.max(10 * bare_ns), Relaxed);
        let since = exchange(10);
        let before = timed_ns(&watch);
        let elapsed = exchange(ROUNDS).duration_since(since).as_nanos() as i128;
        let timed = timed_ns(&watch) - before;
        let account = watch.account().unwrap();
        println!("client {elapsed} ns, stages {timed} ns; {account:?}");
        assert!(nearly(account.seen, 2 * (ROUNDS + 20)) && account.unfollowed >= 2, "{account:?}");
        assert!(
            timed <= elapsed && (elapsed - timed) * 50 < elapsed,
            "client {elapsed} ns, stages {timed} ns"
        );
    });
}

/// The listener waits for the first request, which then comes with the end of the handshake.
#[test]
fn what_comes_with_the_handshake_is_a_message_and_has_times() {
    const CONNECTIONS: u64 = 20;
    needs_root!();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    set(&listener, libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, 1);
    let watches = [attach(Some(listener.local_addr().unwrap().port())), attach(None)];
    watches[1].mark(&listener, true).unwrap();
    for _ in 0..CONNECTIONS {
        exchange(&listener, 2, || thread::sleep(PAUSE));
    }
    for watch in watches {
        holds(&watch, 2 * CONNECTIONS);
        let total = watch.total().unwrap().moments;
        assert!(total.mean() > Some(PAUSE.as_nanos() as f64), "{total:?}");
    }
}

/// Both are in the socket's queue, perhaps as one packet, when the second is seen to come.
#[test]
fn what_comes_with_the_handshake_has_its_own_time_if_more_comes_before_the_read() {
    needs_root!();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    set(&listener, libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, 1);
    let watch = attach(Some(listener.local_addr().unwrap().port()));
    // The reader is not known at the first.
    for messages in [1, 2] {
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.set_nodelay(true).unwrap();
        for _ in 0..messages {
            client.write_all(&[7; 64]).unwrap();
            thread::sleep(PAUSE);
        }
        listener.accept().unwrap().0.read_exact(&mut vec![0; 64 * messages]).unwrap();
    }
    let (account, total) = (watch.account().unwrap(), watch.total().unwrap().moments);
    assert_eq!((account.seen, account.timed, account.unfollowed), (3, 2, 1), "{account:?}");
    assert_eq!((account.bytes_read, account.bytes_timed), (3 * 64, 2 * 64), "{account:?}");
    let pause = PAUSE.as_nanos() as i64;
    assert!(total.min >= pause && total.max >= total.min + pause, "{total:?}");
}

/// No hook sees it come, and the moment of the handshake is not its own.
#[test]
fn the_first_message_to_a_server_that_is_done_with_sending_has_no_time() {
    needs_root!();
    let (listener, watch) = listening();
    for is_done in [false, true] {
        let (mut server, mut client) = connection(&listener);
        if is_done {
            server.shutdown(Shutdown::Write).unwrap();
        }
        thread::sleep(PAUSE);
        client.write_all(&[7; 64]).unwrap();
        server.read_exact(&mut [0; 64]).unwrap();
    }
    let account = watch.account().unwrap();
    assert_eq!((account.seen, account.unfollowed), (2, 1), "{account:?}");
    assert_eq!((account.unstamped, account.timed), (1, 0), "{account:?}");
}

#[test]
fn what_comes_to_a_half_closed_connection_is_counted_by_its_bytes() {
    needs_root!();
    let (listener, watch) = listening();
    for is_done in [false, true] {
        let (mut server, mut client) = connection(&listener);
        // The thread is known, and so is the connection.
        client.write_all(&[7; 64]).unwrap();
        server.read_exact(&mut [0; 64]).unwrap();
        if is_done {
            server.shutdown(Shutdown::Write).unwrap();
        }
        for _ in 0..5 {
            client.write_all(&[7; 64]).unwrap();
            server.read_exact(&mut [0; 64]).unwrap();
        }
        let account = watch.account().unwrap();
        let outside = if is_done { 5 * 64 } else { 0 };
        assert_eq!(account.bytes_outside, outside, "{account:?}");
        assert_eq!(account.bytes_read, if is_done { 12 * 64 } else { 6 * 64 }, "{account:?}");
        assert_eq!(account.seen, if is_done { 7 } else { 6 }, "{account:?}");
    }
}
