use std::fs::{self, File};
use std::io::{PipeReader, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_measure::kind::transfer::TransferEvent;
use netfathom_model::plan::TransferPlan;
use netfathom_model::plan::Transport::Udp;
use netfathom_model::record::{TransferEnd, TransferResult, UdpCounts};
use netfathom_model::verdict::Level;
use netfathom_sys::endpoint;

use crate::here::{HANGS, Here, receiver, sender};

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(HANGS)).unwrap();
    socket
}

fn lengths(socket: &UdpSocket, count: usize) -> Vec<usize> {
    (0..count).map(|_| socket.recv(&mut [0; 65_536]).unwrap()).collect()
}

fn send(from: &UdpSocket, to: SocketAddr, lengths: &[usize]) {
    for &length in lengths {
        assert_eq!(from.send_to(&[9; 2000][..length], to).unwrap(), length);
    }
}

fn counts(result: &TransferResult) -> UdpCounts {
    result.streams[0].udp.unwrap()
}

#[test]
fn a_sender_marks_start_and_end_as_the_classic_does() {
    let classic = socket();
    let to = classic.local_addr().unwrap();
    let here = Here::start(TransferPlan { buffer_bytes: 1470, buffers: 3, ..sender(Udp, to) });
    assert_eq!(lengths(&classic, 9), [4, 1470, 1470, 1470, 4, 4, 4, 4, 4]);
    let result = here.result();
    assert_eq!((result.bytes(), result.streams[0].calls), (4410, 3));
    assert_eq!((counts(&result).marks, result.end), (6, TransferEnd::Unconfirmed));
}

/// The classic receiver is gone after the first mark: what follows is refused, and no error.
#[test]
fn a_receiver_that_goes_at_the_first_mark_is_fine() {
    let classic = socket();
    let here = Here::start(TransferPlan { buffers: 2, ..sender(Udp, classic.local_addr().unwrap()) });
    assert_eq!(lengths(&classic, 4), [4, 8192, 8192, 4]);
    drop(classic);
    assert_eq!(here.result().end, TransferEnd::Unconfirmed);
}

#[test]
fn a_sender_without_a_receiver_reports_it() {
    let closed = socket().local_addr().unwrap();
    let result = Here::start(TransferPlan { buffers: 1000, ..sender(Udp, closed) }).result();
    assert!(crate::here::why(&result).contains("no receiver is there"), "{result:?}");
}

#[test]
fn a_classic_sender_is_received_from_mark_to_mark() {
    let here = Here::start(receiver(Udp));
    let (to, classic) = (here.address(), socket());
    send(&classic, to, &[4, 1000, 1000, 5, 4, 4, 4, 4, 4]);
    let result = here.result();
    assert_eq!((result.bytes(), &result.end), (2005, &TransferEnd::Whole));
    assert_eq!((counts(&result).datagrams, counts(&result).marks), (3, 2));
    assert_eq!(result.peer, Some(classic.local_addr().unwrap().to_string()));
}

#[test]
fn a_lost_start_begins_with_the_data_and_what_is_longer_than_the_buffer_is_counted() {
    for (lengths, bytes, truncated) in [(&[100, 4][..], 100, 0), (&[4, 1500, 1000, 4], 2000, 1)] {
        let here = Here::start(TransferPlan { buffer_bytes: 1000, ..receiver(Udp) });
        send(&socket(), here.address(), lengths);
        let (result, verdict) = here.end().unwrap();
        assert_eq!((result.bytes(), &result.end), (bytes, &TransferEnd::Whole));
        assert_eq!(counts(&result).truncated, truncated);
        let reported = verdict.reasons.iter().any(|reason| reason.text.contains("longer than the buffer"));
        assert_eq!(reported, truncated > 0, "{verdict:?}");
    }
}

/// Datagrams of any length up to four are marks; those left over from a transfer before this
/// one neither begin it nor end it.
#[test]
fn marks_of_no_bytes_or_one_and_left_over_ones_do_no_harm() {
    let here = Here::start(receiver(Udp));
    let (to, classic, before) = (here.address(), socket(), socket());
    send(&before, to, &[4, 4, 4, 4]);
    send(&classic, to, &[1, 500, 500, 0]);
    let result = here.result();
    assert_eq!((result.bytes(), &result.end), (1000, &TransferEnd::Whole));
}

#[test]
fn a_lost_end_is_noticed_after_the_idle_time_which_does_not_count() {
    let here = Here::start(TransferPlan { idle_ns: 400_000_000, ..receiver(Udp) });
    send(&socket(), here.address(), &[4, 100, 100]);
    let (result, verdict) = here.end().unwrap();
    assert_eq!((result.bytes(), &result.end), (200, &TransferEnd::Idle));
    assert!(result.duration_ns() < 400_000_000, "{}", result.duration_ns());
    assert!(verdict.reasons[0].text.contains("no mark of the end came, and nothing else for 400ms"));
}

#[test]
fn a_second_sender_is_left_out_and_reported() {
    let here = Here::start(receiver(Udp));
    let (to, first, second) = (here.address(), socket(), socket());
    send(&first, to, &[4, 100]);
    send(&second, to, &[4, 1999, 4]);
    send(&first, to, &[100, 4]);
    let (result, verdict) = here.end().unwrap();
    assert_eq!((result.bytes(), counts(&result).foreign), (200, 3));
    assert_eq!(verdict.level, Level::Degraded);
}

/// Datagrams of other senders do not delay a receiver that has lost its own sender.
#[test]
fn a_second_sender_does_not_keep_it_for_ever() {
    let here = Here::start(TransferPlan { idle_ns: 200_000_000, ..receiver(Udp) });
    let (to, second) = (here.address(), socket());
    send(&socket(), to, &[4, 100]);
    let (ended, started) = (AtomicBool::new(false), Instant::now());
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Relaxed) && started.elapsed() < HANGS {
                let _ = second.send_to(&[1; 50], to);
                thread::sleep(Duration::from_millis(20));
            }
        });
        let result = here.result();
        ended.store(true, Relaxed);
        assert_eq!((result.bytes(), &result.end), (100, &TransferEnd::Idle));
        assert!(started.elapsed() < HANGS, "it ended only when the others did");
    });
}

/// Leaves no room in it.
fn fill(pipe: &PipeReader) {
    let mut into = File::options().write(true).open(format!("/proc/self/fd/{}", pipe.as_raw_fd())).unwrap();
    // As much as a pipe with room takes without waiting.
    while endpoint::writable(into.as_fd(), Duration::ZERO).unwrap() {
        into.write_all(&[0; 4096]).unwrap();
    }
}

/// Whether datagrams wait in the socket of this address: `rx_queue` of proc(5).
fn holds_any(at: SocketAddr) -> bool {
    let port = format!(":{:04X}", at.port());
    let table = fs::read_to_string("/proc/thread-self/net/udp").unwrap();
    let mut sockets = table.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    sockets.any(|words| words[1].ends_with(&port) && !words[4].ends_with(":00000000"))
}

/// Marks of the end find it full too, and are no data.
#[test]
fn what_finds_the_socket_full_is_counted_without_the_marks() {
    let mut here =
        Here::start(TransferPlan { generated: false, socket_buffer_bytes: Some(1 << 17), ..receiver(Udp) });
    let (to, classic) = (here.address(), socket());
    // Its output has no room: with the first datagram the receiver stands still, and then its socket fills.
    fill(here.output.as_ref().unwrap());
    send(&classic, to, &[1400]);
    while !matches!(here.event(), TransferEvent::Accept(_)) {}
    send(&classic, to, &[1400; 199]);
    send(&classic, to, &[1; 2000]);
    send(&classic, to, &[0; 4]);
    let mut output = here.output.take().unwrap();
    let (reading, began) = (thread::spawn(move || output.read_to_end(&mut Vec::new())), Instant::now());
    while holds_any(to) {
        assert!(began.elapsed() < HANGS, "the receiver goes on once its output is read");
        thread::yield_now();
    }
    send(&classic, to, &[0]);
    let (result, verdict) = here.end().unwrap();
    let counts = counts(&result);
    assert!(result.end == TransferEnd::Whole && counts.dropped > 0, "{result:?}");
    assert_eq!(counts.datagrams + counts.dropped, 2200);
    assert!(verdict.reasons.iter().any(|r| r.text.contains("of 2,200 datagrams (")), "{verdict:?}");
    reading.join().unwrap().unwrap();
}

/// From standard input any length may come, so that only no bytes at all are the end.
#[test]
fn short_data_from_standard_input_is_no_mark() {
    let mut to_here = Here::start(TransferPlan { generated: false, ..receiver(Udp) });
    let to = to_here.address();
    let mut from_here = Here::start(TransferPlan { generated: false, ..sender(Udp, to) });
    let mut input = from_here.input.take().unwrap();
    input.write_all(b"end").unwrap();
    drop(input);
    from_here.result();
    let mut output = to_here.output.take().unwrap();
    let (result, mut text) = (to_here.result(), String::new());
    output.read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), &result.end), ("end", &TransferEnd::Whole));
}
