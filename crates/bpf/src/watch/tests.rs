//! A server in this process, a client beside it, and what is known of their messages.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use netfathom_model::record::WatchStage;
use netfathom_sys::cpu::thread_time_ns;
use netfathom_testkit::{nearly, needs, needs_root, needs_times, skip, skipped, unseen};

use super::*;

mod datagrams;
mod drops;
mod flow;
mod held;
mod identity;
mod matrix;
mod outgoing;
mod planted;
mod samples;
mod send;
mod slow;
mod sockets;
mod target;
mod truth;
mod unix;
mod wire;

const REQUESTS: u64 = 400;
/// Far beyond what an emulator adds.
const PAUSE: Duration = Duration::from_millis(40);

fn attach(port: Option<u16>) -> Watch {
    Watch::attach(port.map_or(Selection::Marked, Selection::Port), &[Direction::Rx], Detail::default())
        .unwrap()
}

/// The same with sums of single sockets.
fn by_socket(selection: Selection, directions: &[Direction]) -> Watch {
    Watch::attach(selection, directions, Detail { by_socket: true, ..Detail::default() }).unwrap()
}

/// A server's socket on a port of its own, and what watches that.
fn listening() -> (TcpListener, Watch) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let watch = attach(Some(listener.local_addr().unwrap().port()));
    (listener, watch)
}

/// A connection: the server's end, which is watched, and the client's.
fn connection(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (listener.accept().unwrap().0, client)
}

fn rx() -> [WatchStage; 8] {
    WatchStage::of(Direction::Rx).try_into().unwrap()
}

/// One request of 64 bytes after the other; the server does `before` each read, once there is something to read.
fn exchange(listener: &TcpListener, requests: u64, before: impl Fn() + Sync) {
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut message = [0; 64];
            while stream.peek(&mut message).unwrap() > 0 {
                before();
                stream.read_exact(&mut message).unwrap();
                stream.write_all(&message).unwrap();
            }
        });
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        ask(stream, requests);
    });
}

fn ask(mut server: impl Read + Write, requests: u64) {
    let mut message = [7; 64];
    for _ in 0..requests {
        server.write_all(&message).unwrap();
        server.read_exact(&mut message).unwrap();
    }
}

/// `first` and `second` are the ends of a connection: each request gets an answer.
fn answers(first: &mut (impl Read + Write), second: &mut (impl Read + Write), requests: u64) {
    let mut message = [7; 64];
    for _ in 0..requests {
        first.write_all(&message).unwrap();
        second.read_exact(&mut message).unwrap();
        second.write_all(&message).unwrap();
        first.read_exact(&mut message).unwrap();
    }
}

/// All messages but the first, since its reader was not known before, and stages that are the total.
fn holds(watch: &Watch, requests: u64) {
    let account = watch.account().unwrap();
    assert!(nearly(account.timed + 1, requests), "{account:?}");
    assert!((1..=1 + unseen(requests)).contains(&account.unfollowed), "{account:?}");
    assert_eq!(account.udp, 0);
    add_up(watch, requests);
}

fn stages_are_total(watch: &Watch) {
    let stages = rx().map(|stage| watch.stage(stage).unwrap().moments.sum);
    assert_eq!(stages.iter().sum::<i128>(), watch.total().unwrap().moments.sum);
}

/// The stages of the messages that have times are the total.
fn add_up(watch: &Watch, requests: u64) {
    let account = watch.account().unwrap();
    println!("{account:?}");
    let stages = rx().map(|stage| watch.stage(stage).unwrap());
    for (stage, times) in rx().iter().zip(&stages) {
        println!("{stage:?} {} {:?} {:?}", times.moments.n, times.moments.mean(), times.quantile(0.5));
    }
    assert!(nearly(account.seen, requests) && nearly(account.ended(), account.seen), "{account:?}");
    assert!(nearly(account.bytes_read, 64 * requests), "{account:?}");
    assert!(nearly(account.bytes_timed, 64 * account.timed), "{account:?}");
    // Other tests make threads too.
    assert!(account.threads > 0, "{account:?}");
    let total = watch.total().unwrap();
    assert_eq!(stages.iter().map(|times| times.moments.sum).sum::<i128>(), total.moments.sum);
    assert_eq!((total.moments.n, total.histogram.count()), (account.timed, account.timed));
}

#[test]
fn each_request_of_a_port_is_a_message_and_its_stages_are_its_time() {
    needs_root!();
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let listener = TcpListener::bind(address).unwrap();
        let watch = attach(Some(listener.local_addr().unwrap().port()));
        exchange(&listener, REQUESTS, || ());
        holds(&watch, REQUESTS);
        let reader = watch.reader().unwrap();
        assert_eq!((reader.pid, watch.reader()), (std::process::id(), None));
        if let Some(application) = watch.application().unwrap() {
            assert!(nearly(application.moments.n, REQUESTS), "{:?}", application.moments);
        }
        exchange(&listener, REQUESTS, || ());
        assert_eq!(watch.reader(), Some(reader));
    }
}

#[test]
fn an_accepted_socket_is_watched_as_its_listener_is_and_no_other() {
    needs_root!();
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let watch = attach(None);
    watch.mark(&listeners[0], false).unwrap();
    watch.mark(&listeners[0], false).unwrap();
    exchange(&listeners[0], REQUESTS, || ());
    exchange(&listeners[1], REQUESTS, || ());
    holds(&watch, REQUESTS);
}

#[test]
fn what_waits_in_great_numbers_is_merged_and_all_of_its_bytes_have_times() {
    needs_root!();
    const BURST: usize = 200;
    let (listener, watch) = listening();
    let (mut server, mut client) = connection(&listener);
    client.set_nodelay(true).unwrap();
    client.write_all(&[0; 64]).unwrap();
    server.read_exact(&mut [0; 64]).unwrap();
    for _ in 0..BURST {
        client.write_all(&[0; 64]).unwrap();
        // Otherwise the sender joins them.
        thread::sleep(Duration::from_millis(1));
    }
    let mut burst = vec![0; 64 * BURST];
    // Reads that end within a message, at its end, and after several.
    for part in burst.chunks_mut(64 * 10 + 1) {
        server.read_exact(part).unwrap();
    }
    let account = watch.account().unwrap();
    println!("{account:?}");
    if account.unseen_switches > 0 {
        skip!("a switch of the reader was not seen");
    }
    assert!(account.merged > 0 && account.timed > 1, "{account:?}");
    assert_eq!((account.unfollowed, account.crowded, account.unread()), (1, 0, 0), "{account:?}");
    assert_eq!((account.bytes_read, account.bytes_timed), (64 * (BURST as u64 + 1), 64 * BURST as u64));
    stages_are_total(&watch);
}

#[test]
fn a_thread_that_is_made_for_a_connection_is_followed_from_its_start() {
    needs_root!();
    let (listener, watch) = listening();
    thread::scope(|scope| {
        scope.spawn(|| {
            for stream in listener.incoming().take(50) {
                let mut stream = stream.unwrap();
                thread::spawn(move || {
                    stream.read_exact(&mut [0; 64]).unwrap();
                    stream.write_all(&[0; 64]).unwrap();
                });
            }
        });
        for _ in 0..50 {
            let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            stream.write_all(&[0; 64]).unwrap();
            stream.read_exact(&mut [0; 64]).unwrap();
        }
    });
    let account = watch.account().unwrap();
    println!("{account:?}");
    assert!(nearly(account.seen, 50) && nearly(account.timed + 1, 50), "{account:?}");
    stages_are_total(&watch);
}

#[test]
fn threads_that_a_reader_makes_count_once_they_read() {
    needs_root!();
    let (listener, watch) = listening();
    exchange(&listener, 10, || thread::spawn(|| ()).join().unwrap());
    assert_eq!(watch.account().unwrap().threads, 1);
}

/// What a reader does once there is something to read, and the stage that has it.
const DELAYS: [(fn(), WatchStage); 2] =
    [(|| thread::sleep(PAUSE), WatchStage::Blocked), (spin, WatchStage::Sockqueue)];

fn spin() {
    let end = thread_time_ns() + PAUSE.as_nanos() as u64;
    while thread_time_ns() < end {}
}

/// The pause is in this stage, and in all others together less than a quarter of that.
fn is_in(watch: &Watch, stage: WatchStage) {
    let of = |stage| watch.stage(stage).unwrap().quantile(0.5).unwrap_or(0);
    let medians = rx().map(of);
    // The run queue is the machine's.
    let others = medians.iter().sum::<i64>() - of(stage) - of(WatchStage::Runqueue);
    assert!(of(stage) > 9 * PAUSE.as_nanos() as i64 / 10, "{stage:?}: {medians:?}");
    assert!(others * 4 < of(stage), "{stage:?}: {medians:?}");
}

#[test]
fn a_reader_that_sleeps_shows_as_blocked_and_one_that_works_as_sockqueue() {
    needs_root!();
    for (before, stage) in DELAYS {
        let (listener, watch) = listening();
        exchange(&listener, 25, before);
        holds(&watch, 25);
        is_in(&watch, stage);
    }
}
