//! Messages that are followed in samples alone.

use std::net::UdpSocket;
use std::sync::mpsc;
use std::time::Instant;

use netfathom_sys::cpu::thread_id;

use super::*;

const OPEN: Duration = Duration::from_millis(20);
const PAUSE_NS: u64 = 1_000_000;

fn attach(at: SocketAddr, direction: Direction) -> Watch {
    let detail = Detail { samples: true, ..Detail::default() };
    Watch::attach(Selection::Port(at.port()), &[direction], detail).unwrap()
}

fn listening(direction: Direction) -> (TcpListener, Watch) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let watch = attach(listener.local_addr().unwrap(), direction);
    (listener, watch)
}

fn pause() {
    thread::sleep(Duration::from_nanos(PAUSE_NS));
}

/// As many samples as the work lasts, and how long they were.
fn samples(watch: &mut Watch, work: impl FnOnce() + Send) -> (u64, i128) {
    thread::scope(|scope| {
        let (work, mut number, mut length) = (scope.spawn(work), 0, Duration::ZERO);
        while !work.is_finished() {
            let since = Instant::now();
            watch.begin_sample().unwrap();
            thread::sleep(OPEN);
            watch.take_no_more();
            thread::sleep(OPEN / 4);
            watch.end_sample();
            length += since.elapsed();
            number += 1;
            thread::sleep(OPEN);
        }
        (number, length.as_nanos() as i128)
    })
}

/// Of messages that come one after the other: none has the time of one that no sample followed.
fn holds(watch: &Watch, (number, length_ns): (u64, i128)) {
    let (account, total) = (watch.account().unwrap(), watch.total().unwrap());
    println!("{number} samples of {length_ns} ns: {account:?}");
    assert!(account.timed > 0 && account.seen < REQUESTS, "{account:?}");
    assert!(account.unfollowed <= 1 + unseen(REQUESTS), "{account:?}");
    assert!((0..=number as i64).contains(&account.unread()), "{account:?}");
    assert!(total.moments.sum <= length_ns, "{:?}", total.moments);
    let stages = rx().map(|stage| watch.stage(stage).unwrap().moments.sum);
    assert_eq!(stages.iter().sum::<i128>(), total.moments.sum);
    let blocked = stages[WatchStage::Blocked as usize];
    assert!(blocked >= i128::from((account.timed - unseen(REQUESTS)) * PAUSE_NS), "{blocked} ns");
}

#[test]
fn what_a_sample_did_not_see_is_in_no_time() {
    needs_root!();
    let (listener, mut watch) = listening(Direction::Rx);
    exchange(&listener, 3, || ());
    assert_eq!(watch.account().unwrap().seen, 0);
    let lasted = samples(&mut watch, || exchange(&listener, REQUESTS, pause));
    holds(&watch, lasted);
}

#[test]
fn datagrams_of_two_samples_are_not_mixed_up() {
    needs_root!();
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut watch = attach(server.local_addr().unwrap(), Direction::Rx);
    needs!(watch.follow_datagrams().unwrap(), "needs sk_data_ready and sock_recv_length: Linux 6.3");
    datagrams::exchange(&server, 3, || ());
    assert_eq!(watch.account().unwrap().seen, 0);
    let lasted = samples(&mut watch, || datagrams::exchange(&server, REQUESTS, pause));
    holds(&watch, lasted);
}

#[test]
fn a_message_that_waits_as_a_sample_ends_or_begins_has_no_time() {
    needs_root!();
    const ROUNDS: u64 = 40;
    let (listener, mut watch) = listening(Direction::Rx);
    let (mut client, mut server) = connected(&listener);
    let mut write = || client.write_all(&[7; 64]).unwrap();
    let mut read = || server.read_exact(&mut [0; 64]).unwrap();
    for round in 0..ROUNDS {
        write();
        watch.begin_sample().unwrap();
        read();
        if round == 0 {
            // How far the clocks are apart is known from switches.
            write();
            read();
            pause();
            pause();
        }
        // The only one that is followed to its end.
        write();
        read();
        write();
        watch.take_no_more();
        write();
        watch.end_sample();
        read();
        read();
    }
    let account = watch.account().unwrap();
    assert!(nearly(account.seen, 2 * ROUNDS + 1), "{account:?}");
    assert!(nearly(account.timed + account.unfollowed, ROUNDS + 1), "{account:?}");
    assert!(account.unfollowed <= 1 + unseen(ROUNDS), "{account:?}");
}

/// Each sample has one message.
fn one_a_sample(watch: &mut Watch, client: &mut TcpStream, mut then: impl FnMut()) {
    for _ in 0..REQUESTS / 10 {
        watch.begin_sample().unwrap();
        client.write_all(&[7; 64]).unwrap();
        then();
        watch.end_sample();
    }
}

fn connected(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    client.set_nodelay(true).unwrap();
    (client, listener.accept().unwrap().0)
}

#[test]
fn a_reader_that_sleeps_as_a_sample_begins_is_known_to_sleep() {
    needs_root!();
    let (listener, mut watch) = listening(Direction::Rx);
    let (mut client, mut server) = connected(&listener);
    let (tell, read) = mpsc::channel();
    let reader = thread::spawn(move || {
        while server.read_exact(&mut [0; 64]).is_ok() {
            tell.send(thread_id()).unwrap();
        }
    });
    one_a_sample(&mut watch, &mut client, || {
        let reader = read.recv().unwrap();
        while !sleeps(reader) {
            thread::yield_now();
        }
    });
    drop(client);
    reader.join().unwrap();
    let account = watch.account().unwrap();
    // A stage has the messages that spent time in it: a wake-up that preempts waits in no run queue.
    let median = |stage| watch.stage(stage).unwrap().histogram.quantile(0.5).unwrap_or(0);
    assert!(nearly(account.timed + 1, REQUESTS / 10), "{account:?}");
    let woken = median(WatchStage::Wakeup) + median(WatchStage::Runqueue);
    assert!(woken > median(WatchStage::Sockqueue), "{woken} {}", median(WatchStage::Sockqueue));
}

fn sleeps(thread: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{thread}/stat")).unwrap().contains(") S ")
}

#[test]
fn a_reader_that_runs_as_a_sample_begins_is_known_to_run_and_to_sleep_then() {
    needs_root!();
    let (listener, mut watch) = listening(Direction::Rx);
    let (mut client, mut server) = connected(&listener);
    one_a_sample(&mut watch, &mut client, || {
        let since = thread_time_ns();
        while thread_time_ns() < since + PAUSE_NS {}
        pause();
        server.read_exact(&mut [0; 64]).unwrap();
    });
    let account = watch.account().unwrap();
    assert!(nearly(account.timed + 1, REQUESTS / 10), "{account:?}");
    let least = i128::from((account.timed - unseen(REQUESTS / 10)) * PAUSE_NS);
    for stage in [WatchStage::Sockqueue, WatchStage::Blocked] {
        let sum = watch.stage(stage).unwrap().moments.sum;
        assert!(sum >= least, "{stage:?} {sum} ns of {least}");
    }
}

/// Each that was seen has its time, and none that of one between two samples.
fn sends_within(watch: &Watch, length_ns: i128) {
    let (account, total) = (watch.send_account().unwrap(), watch.send_total().unwrap());
    assert!(account.seen > 0 && account.seen < REQUESTS, "{account:?}");
    assert!(nearly(account.timed, account.seen), "{account:?}");
    assert!(total.moments.sum <= length_ns, "{:?}", total.moments);
    let stages = WatchStage::of(Direction::Tx).iter().map(|&stage| watch.stage(stage).unwrap().moments.sum);
    assert_eq!(stages.sum::<i128>(), total.moments.sum);
}

#[test]
fn what_is_sent_in_a_sample_is_timed_within_it() {
    needs_root!();
    needs!(!tracepoint::is_missing(SENDING), "needs tcp_sendmsg_locked: Linux 6.16");
    let (listener, mut watch) = listening(Direction::Tx);
    exchange(&listener, 3, || ());
    assert_eq!(watch.send_account().unwrap().seen, 0);
    let (_, length_ns) = samples(&mut watch, || exchange(&listener, REQUESTS, pause));
    sends_within(&watch, length_ns);
}

#[test]
fn datagrams_that_are_sent_in_a_sample_are_timed_within_it() {
    needs_root!();
    needs!(!tracepoint::is_missing(SENDING), "needs tcp_sendmsg_locked: Linux 6.16");
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut watch = attach(server.local_addr().unwrap(), Direction::Tx);
    datagrams::exchange(&server, 3, || ());
    assert_eq!(watch.send_account().unwrap().seen, 0);
    let (_, length_ns) = samples(&mut watch, || datagrams::exchange(&server, REQUESTS, pause));
    sends_within(&watch, length_ns);
}
