//! Several streams at once.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use netfathom_measure::kind::transfer::TransferError;
use netfathom_model::plan::TransferPlan;
use netfathom_model::plan::Transport::Tcp;
use netfathom_model::record::TransferEnd;
use netfathom_model::verdict::Level;
use netfathom_sys::endpoint::{self, SocketKind};

use crate::here::{HANGS, Here, receiver, sender, why};

fn receiver_of(streams: u16) -> TransferPlan {
    TransferPlan { streams, ..receiver(Tcp) }
}

fn sender_of(streams: u16, to: SocketAddr) -> TransferPlan {
    TransferPlan { streams, ..sender(Tcp, to) }
}

#[test]
fn every_stream_arrives_and_the_sums_are_theirs() {
    for checksum in [false, true] {
        let to = Here::start(TransferPlan { checksum, ..receiver_of(4) });
        let mut plan = sender_of(4, to.address());
        (plan.buffer_bytes, plan.buffers, plan.checksum) = (1000, 77, checksum);
        assert_eq!(plan.planned_bytes(), Some(4 * 77_000));
        let (from, to) = (Here::start(plan).result(), to.result());
        for result in [&from, &to] {
            assert_eq!(
                (result.streams.len(), result.bytes(), &result.end),
                (4, 308_000, &TransferEnd::Whole)
            );
            assert!(result.streams.iter().all(|s| s.bytes == 77_000 && s.end == TransferEnd::Whole));
            assert!(result.streams.iter().all(|s| s.checksum.as_ref().is_some_and(|c| c.agrees) == checksum));
            let last = result.streams.iter().map(|s| s.began_ns + s.duration_ns).max();
            assert_eq!(Some(result.duration_ns()), last);
        }
        let mut peers: Vec<_> = to.streams.iter().map(|s| s.peer.clone().unwrap()).collect();
        peers.sort();
        peers.dedup();
        assert_eq!(peers.len(), 4, "each stream has a port of its own: {peers:?}");
    }
}

/// Refused, or cut: it depends on which of both hosts is faster.
#[test]
fn a_receiver_of_fewer_streams_fails_the_sender_with_what_to_do() {
    let to = Here::start(receiver_of(2));
    let plan = TransferPlan { buffers: 1_000_000, ..sender_of(5, to.address()) };
    let reason = match Here::start(plan).end() {
        Ok((result, verdict)) => {
            assert_eq!(verdict.level, Level::Void);
            why(&result).to_owned()
        }
        Err(error) => error.to_string(),
    };
    assert!(reason.contains("-P 5 too, or --serve"), "{reason}");
    assert!(to.result().streams.len() <= 2);
}

/// The sender gives up before it sends, as the next of its streams is refused.
#[test]
fn a_stream_that_is_cut_before_any_data_names_the_number_of_streams() {
    let to = Here::start(receiver_of(1));
    let from = TcpStream::connect(to.address()).unwrap();
    endpoint::cut_on_close(from.as_fd(), true).unwrap();
    drop(from);
    let result = to.result();
    assert!(why(&result).contains("give -P N here too, or --serve"), "{result:?}");
}

/// Both ends of it in one go: whoever is behind the door when it is shut is cut.
#[test]
fn a_stream_that_is_cut_beside_others_says_what_it_may_be() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let from = Here::start(TransferPlan { buffers: 100, ..sender_of(2, listener.local_addr().unwrap()) });
    let mut kept = listener.accept().unwrap().0;
    let cut = listener.accept().unwrap().0;
    endpoint::cut_on_close(cut.as_fd(), true).unwrap();
    drop(cut);
    std::io::copy(&mut kept, &mut std::io::sink()).unwrap();
    drop(kept);
    let result = from.result();
    assert!(why(&result).contains("give it -P 2 too, or --serve"), "{result:?}");
}

#[test]
fn a_receiver_of_more_streams_waits_for_them_and_says_how_many_came() {
    let to = Here::start(TransferPlan { idle_ns: 300_000_000, ..receiver_of(4) });
    let from = Here::start(sender_of(2, to.address())).result();
    assert_eq!((from.streams.len(), from.end), (2, TransferEnd::Whole));
    let (result, verdict) = to.end().unwrap();
    assert_eq!((result.streams.len(), result.bytes()), (2, 32 << 20));
    assert_eq!(verdict.level, Level::Degraded);
    assert!(verdict.reasons[0].text.starts_with("2 of 4 streams came"), "{verdict:?}");
}

fn connect_from(host: &str, to: SocketAddr) -> TcpStream {
    let socket = endpoint::open(SocketKind::Stream, to).unwrap();
    endpoint::bind(socket.as_fd(), SocketAddr::new(host.parse().unwrap(), 0)).unwrap();
    endpoint::connect(socket.as_fd(), to).unwrap();
    let socket = TcpStream::from(socket);
    socket.set_read_timeout(Some(HANGS)).unwrap();
    socket
}

#[test]
fn another_host_in_between_is_cut_and_the_streams_go_on() {
    let to = Here::start(TransferPlan { idle_ns: HANGS.as_nanos() as u64, ..receiver_of(2) });
    let at = to.address();
    let mut first = connect_from("127.0.0.1", at);
    let mut stranger = connect_from("127.0.0.2", at);
    let cut = stranger.read(&mut [0; 1]).unwrap_err();
    assert_eq!(cut.kind(), ErrorKind::ConnectionReset);
    let mut second = connect_from("127.0.0.1", at);
    first.write_all(&[1; 100]).unwrap();
    second.write_all(&[1; 200]).unwrap();
    drop((first, second));
    let result = to.result();
    assert_eq!((result.streams.len(), result.bytes(), result.end), (2, 300, TransferEnd::Whole));
}

/// A client that connects again and again does not delay a receiver that lacks its other streams.
#[test]
fn others_do_not_make_the_wait_longer() {
    let to = Here::start(TransferPlan { idle_ns: 300_000_000, ..receiver_of(2) });
    let at = to.address();
    drop(connect_from("127.0.0.1", at));
    let knocking = thread::spawn(move || {
        let began = std::time::Instant::now();
        // Refused once the receiver has ended.
        while began.elapsed() < HANGS {
            let socket = endpoint::open(SocketKind::Stream, at).unwrap();
            endpoint::bind(socket.as_fd(), "127.0.0.2:0".parse().unwrap()).unwrap();
            if endpoint::connect(socket.as_fd(), at).is_err() {
                return true;
            }
            thread::sleep(Duration::from_millis(20));
        }
        false
    });
    assert_eq!(to.result().streams.len(), 1);
    assert!(knocking.join().unwrap(), "the receiver was kept");
}

#[test]
fn a_time_ends_all_streams() {
    for zero_copy in [false, true] {
        let to = Here::start(receiver_of(3));
        let plan = TransferPlan { time_ns: Some(300_000_000), zero_copy, ..sender_of(3, to.address()) };
        let (from, to) = (Here::start(plan).result(), to.result());
        assert_eq!((from.streams.len(), &from.end), (3, &TransferEnd::Whole));
        assert!(from.streams.iter().all(|s| s.bytes > 0 && s.duration_ns >= 200_000_000), "{from:?}");
        assert_eq!(from.bytes(), to.bytes());
        for stream in &from.streams {
            assert_eq!(stream.zero_copy.map(|of| of.copied_bytes), zero_copy.then_some(stream.bytes));
        }
    }
}

#[test]
fn the_user_ends_all_streams() {
    let to = Here::start(receiver_of(3));
    let time_ns = Some(HANGS.as_nanos() as u64);
    let from = Here::start(TransferPlan { time_ns, ..sender_of(3, to.address()) });
    thread::sleep(Duration::from_millis(200));
    from.stop.store(true, Relaxed);
    let (from, to) = (from.result(), to.result());
    assert!(from.streams.iter().all(|s| s.end == TransferEnd::Interrupted), "{from:?}");
    assert!(to.streams.iter().all(|s| matches!(s.end, TransferEnd::Broken { .. })), "{to:?}");
}

#[test]
fn a_receiver_that_is_ended_while_it_waits_for_more_tells_what_came() {
    let to = Here::start(receiver_of(3));
    let mut first = connect_from("127.0.0.1", to.address());
    first.write_all(&[1; 100]).unwrap();
    first.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(first.read(&mut [0; 1]).unwrap(), 0, "the first stream is whole");
    to.stop.store(true, Relaxed);
    let result = to.result();
    assert_eq!((result.bytes(), result.end), (100, TransferEnd::Interrupted));
}

#[test]
fn refused_streams_are_one_error() {
    let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = Here::start(sender_of(3, at)).end().unwrap_err();
    assert!(matches!(error, TransferError::Connect { .. }), "{error}");
}

/// The idle time is for streams to come: one that is there may pause for longer.
#[test]
fn a_stream_that_came_later_may_pause() {
    let to = Here::start(TransferPlan { idle_ns: 500_000_000, ..receiver_of(2) });
    let at = to.address();
    let _first = TcpStream::connect(at).unwrap();
    // It comes while the receiver already waits for it with its patience.
    thread::sleep(Duration::from_millis(100));
    let mut later = TcpStream::connect(at).unwrap();
    thread::sleep(Duration::from_millis(1200));
    later.write_all(&[1; 500]).unwrap();
    drop((_first, later));
    let result = to.result();
    assert_eq!((result.bytes(), &result.end), (500, &TransferEnd::Whole));
}
