use std::net::UdpSocket;

use super::*;
use crate::load::engine::Send;

fn run(departures: Vec<u64>, deadline_ns: u64, stop: bool) -> (Sent, usize) {
    let reader = UdpSocket::bind("127.0.0.1:0").unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(reader.local_addr().unwrap()).unwrap();
    let stop = AtomicBool::new(stop);
    let start_ns = monotonic_ns() + 1_000_000;
    let task = SenderTask {
        plan: SenderPlan::single(7, Windows { start_ns, shift: 20 }, start_ns + deadline_ns, Spin::Auto),
        stop: &stop,
        gone: &AtomicBool::new(false),
        live: &Live::default(),
    };
    let sent = send_all(&task, departures.into_iter(), &mut Send::new(socket, 64), &mut ());
    reader.set_nonblocking(true).unwrap();
    let mut got = 0;
    let mut buffer = [0; 64];
    while reader.recv(&mut buffer).is_ok() {
        assert_eq!(Header::read(&buffer).unwrap().sequence, got);
        got += 1;
    }
    (sent, got as usize)
}

#[test]
fn no_message_leaves_early_and_each_has_its_number() {
    let (sent, got) = run((0..50).map(|i| i * 100_000).collect(), u64::MAX / 2, false);
    assert_eq!((sent.accepted, got, sent.unsent), (50, 50, 0));
    assert_eq!(sent.lag.distribution.moments.n, 50);
    assert!(sent.lag.distribution.moments.min >= 0);
    assert_eq!(sent.intervals.moments.n, 49);
    let by_second: u64 = sent.lag_by_second.iter().map(|d| d.moments.n).sum();
    assert_eq!(by_second, 50);
}

#[test]
fn the_last_message_misses_no_slot() {
    let (sent, _) = run(vec![0], u64::MAX / 2, false);
    assert_eq!((sent.accepted, sent.lateness.missed_slots), (1, 0));
    assert!(sent.lateness.p99_of_slot() < 1.0);
}

#[test]
fn lateness_is_lag_and_missed_slots_not_silence() {
    // All due at once: each but the first leaves after the next was due.
    let (sent, got) = run((0..100).map(|i| i * 10).collect(), u64::MAX / 2, false);
    assert_eq!(got, 100);
    assert!(sent.lateness.missed_slots > 50, "{}", sent.lateness.missed_slots);
    assert!(sent.lateness.p99_of_slot() > 1.0);
}

#[test]
fn what_is_not_sent_by_the_deadline_is_counted() {
    let (sent, got) = run((0..10).map(|i| i * 1_000_000).collect(), 4_500_000, false);
    assert_eq!(got as u64 + sent.unsent, 10);
    assert!(sent.unsent >= 5);
}

#[test]
fn a_stop_is_obeyed() {
    let (sent, _) = run(vec![0, 60_000_000_000], u64::MAX / 2, true);
    assert_eq!((sent.accepted, sent.unsent), (0, 2));
}
