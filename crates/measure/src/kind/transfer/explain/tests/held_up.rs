//! What else holds a transfer up, and what is proposed.

use super::*;

/// 333 MB/s against a window of 2 MB that is full.
fn fast(rtt_us: u32) -> TransferStream {
    let mut fast = stream(|tick, s| {
        (s.bytes, s.rtt_us) = (10_000_000 + tick * 333_000, rtt_us);
        (s.peer_window_bytes, s.window_bytes) = (2_000_000, 2_000_000);
        queue(s, 4_000_000, 2_000_500, 1380);
    });
    fast.bytes = LOOKS * 333_000;
    fast.tcp.as_mut().unwrap().min_rtt_us = Some(rtt_us);
    fast
}

#[test]
fn a_window_may_be_too_small_for_a_fast_transfer() {
    for rtt_us in [80, 6000] {
        let sends = explained(&fast(rtt_us));
        let mut there = fast(rtt_us);
        there.samples.iter_mut().for_each(|look| look.queued_bytes = 0);
        // As long as it waits to be read, a receiver's estimate grows.
        there.samples.iter_mut().for_each(|look| look.rtt_us = 6000);
        let receives = explain(&plan(Role::Receive), &there, &Host::default());
        let expected = if rtt_us == 80 { Cause::Nothing } else { Cause::ReceiveWindow };
        assert_eq!((sends.cause, receives.cause), (expected, expected), "{rtt_us} us");
        for explanation in [sends, receives] {
            assert!(!explanation.text.contains("CPUs"), "which hardly ran: {explanation:?}");
            assert!(
                !explanation.evidence.iter().any(|e| e.contains("busy")),
                "not measured: {explanation:?}"
            );
        }
    }
}

#[test]
fn of_two_windows_of_one_size_the_receivers_is_reported() {
    let equal = |window: u32| {
        sender(&stream(|_, s| {
            (s.cwnd, s.peer_window_bytes) = (100, window);
            queue(s, 300_000, 155_200, 100);
        }))
    };
    assert_eq!(equal(160_000), Cause::ReceiveWindow);
    assert_eq!(equal(320_000), Cause::Path);
}

/// 2 GB/s into a window of 6 MB with a round trip of 1 ms: a larger one would be as full.
#[test]
fn two_ends_that_share_the_time_are_both_named() {
    let mut fast = stream(|tick, s| {
        (s.bytes, s.peer_window_bytes, s.rtt_us) = (tick * 2_000_000, 6_000_000, 1000);
        if tick % 4 == 0 { queue(s, 9_000_000, 3_000_000, 50) } else { queue(s, 1000, 0, 1) }
    });
    fast.tcp.as_mut().unwrap().min_rtt_us = Some(1000);
    fast.system_ns = 120_000_000;
    let both = explained(&fast);
    assert_eq!(both.cause, Cause::BothProcessors, "{both:?}");
    assert!((0.8..0.9).contains(&both.share), "{both:?}");
    let (here, there) = both.remedy.split_once("; at the other end, ").expect("a remedy for each end");
    assert!(here.starts_with("less CPU time: "), "{here}");
    assert!(there.starts_with("netfathom watch --port "), "{there}");
    fast.samples.iter_mut().for_each(|look| queue(look, 1000, 0, 1));
    assert_eq!(sender(&fast), Cause::Processor);
}

/// Half of the time the receiver's window is full.
#[test]
fn two_ends_that_are_close_have_one_answer() {
    let limited = |of: &TransferPlan, ran_ms: u64| {
        let mut fast = stream(|tick, s| {
            (s.bytes, s.peer_window_bytes, s.rtt_us) = (tick * 2_000_000, 6_000_000, 1000);
            if tick % 2 == 0 { queue(s, 9_000_000, 3_000_000, 50) } else { queue(s, 1000, 0, 1) }
        });
        fast.tcp.as_mut().unwrap().min_rtt_us = Some(1000);
        fast.system_ns = ran_ms * 1_000_000;
        explain(of, &fast, &Host::default()).cause
    };
    let large = plan(Role::Transmit);
    for ran_ms in [60, 95, 105, 140] {
        assert_eq!(limited(&large, ran_ms), Cause::BothProcessors, "{ran_ms} ms");
    }
    assert_eq!(limited(&large, 10), Cause::Nothing);
    // Larger writes are no remedy for the receiver.
    let small = TransferPlan { buffer_bytes: 64, ..large };
    assert_eq!([60, 140].map(|ran_ms| limited(&small, ran_ms)), [Cause::Nothing, Cause::SmallWrites]);
}

#[test]
fn processors_that_hardly_ran_are_not_the_limit() {
    let mut idle = stream(|_, s| queue(s, 0, 0, 0));
    idle.calls_took = Some(CallTimes::default());
    let explanation = explained(&idle);
    assert_eq!(explanation.cause, Cause::Nothing);
    assert!(!explanation.text.contains("CPUs"), "{explanation:?}");
}

#[test]
fn a_file_that_is_waited_for_is_no_small_buffer() {
    // Most of the time less is under way than the buffer has held.
    let slow = stream(|tick, s| match tick % 10 {
        0 => queue(s, 100_000, 0, 70),
        1..9 => queue(s, 20_000, 0, 14),
        _ => queue(s, 0, 0, 0),
    });
    let mut file = plan(Role::Transmit);
    file.generated = false;
    let cause = |stream: &TransferStream, plan: &TransferPlan| explain(plan, stream, &Host::default()).cause;
    assert_eq!(cause(&slow, &file), Cause::SlowSender);
    assert_ne!(cause(&slow, &plan(Role::Transmit)), Cause::SlowSender, "it is generated");
    let mut small = stream(|_, s| queue(s, 40_000, 0, 28));
    assert_eq!(cause(&small, &file), Cause::SendBuffer, "the buffer never held more");
    // A pipe's program is waited for elsewhere.
    small.calls_took.as_mut().unwrap().standard_ns = 1;
    assert_eq!(cause(&small, &file), Cause::SendBuffer);
}

#[test]
fn a_limit_is_only_raised_and_only_where_it_is_one() {
    let small = stream(|_, s| queue(s, 40_000, 0, 28));
    let mut host = Host { buffer_limits: Host::limits("4096\t16384\t4194304\n"), ..Host::default() };
    let remedy = |plan: &TransferPlan, host: &Host| explain(plan, &small, host).remedy;
    let plan = plan(Role::Transmit);
    assert!(remedy(&plan, &host).contains("tcp_wmem='4096 16384 8388608'"), "{}", remedy(&plan, &host));
    host.buffer_limits = Some([1, 2, 3]);
    assert!(remedy(&plan, &host).contains("tcp_wmem='1 2 524288'"), "{}", remedy(&plan, &host));
    host.buffer_limits = None;
    assert!(!remedy(&plan, &host).contains("-w"), "{}", remedy(&plan, &host));
    host.buffer_limits = Some([1, 2, 3]);
    let asked = TransferPlan { socket_buffer_bytes: Some(16_384), ..plan };
    let explanation = remedy(&asked, &host);
    assert!(explanation.starts_with("leave -b out") && !explanation.contains("sysctl -w"), "{explanation}");
    assert_eq!(Host::limits("4096 1"), None);
}

/// A congestion window that is full, and a program that does not read for 60 of 200 ms: meanwhile an acknowledgment
/// comes after 44 ms, and what is acknowledged takes room in the window.
fn stops(reads: bool, again: u32) -> TransferStream {
    stream(|tick, s| {
        let (come, lies) = match tick {
            0..100 => (tick * 25_000, 0),
            100..144 => (2_500_000, 0),
            144..160 => (3_000_000, 500_000),
            _ => (3_000_000 + (tick - 160) * 25_000, 0),
        };
        s.bytes = come + 300_000;
        (s.cwnd, s.rtt_us) = (138, 30_000);
        s.peer_window_bytes = if reads { 4_000_000 } else { 4_000_000 - lies };
        s.retransmits = if tick >= 144 { again } else { 0 };
        queue(s, 300_000, 100_000, 138);
    })
}

#[test]
fn a_reader_that_stops_now_and_then_is_reported_in_addition_to_a_full_path() {
    let explanation = explained(&stops(false, 0));
    assert_eq!(explanation.cause, Cause::Path, "{explanation:?}");
    let [(Cause::SlowReceiver, share)] = explanation.others[..] else { panic!("{explanation:?}") };
    assert!((0.28..0.33).contains(&share) && explanation.share < 0.73, "{explanation:?}");
    for reads in [stops(true, 0), stops(false, 1)] {
        let explanation = explained(&reads);
        assert_eq!((explanation.cause, explanation.others.len()), (Cause::Path, 0), "{explanation:?}");
    }
}

/// A program that reads 16 MB/s in gulps: half of the time the window is full, as its acknowledgment is delayed, and half
/// of it closed. `closes` is whether it does; `rtt_us` the round trip.
fn reads_in_gulps(closes: bool, rtt_us: u32) -> TransferStream {
    let mut gulps = stream(|tick, s| {
        s.rtt_us = 5400;
        s.bytes = 10_000_000 + tick / 7 * 111_616;
        s.peer_window_bytes = 111_616;
        queue(s, 4_000_000, 3_888_384, 2);
        if closes && tick % 2 == 1 {
            s.peer_window_bytes = 0;
            queue(s, 4_000_000, 4_000_000, 0);
        }
    });
    gulps.tcp.as_mut().unwrap().min_rtt_us = Some(rtt_us);
    gulps
}

#[test]
fn a_window_that_a_sleeping_reader_closes_is_not_blamed() {
    let explained = |closes, rtt_us| explained(&reads_in_gulps(closes, rtt_us));
    let sleeps = explained(true, 7);
    assert_eq!(sleeps.cause, Cause::SlowReceiver, "{sleeps:?}");
    assert!(sleeps.share > 0.95 && sleeps.others.is_empty(), "{sleeps:?}");
    assert!(!sleeps.evidence.iter().any(|line| line.starts_with("0 %")), "{sleeps:?}");
    let small = explained(false, 7);
    assert_eq!(small.cause, Cause::ReceiveWindow, "it never closes: {small:?}");
    assert!(small.evidence.iter().any(|line| line.contains("165 Mb/s")), "{small:?}");
    let long = explained(true, 5400);
    assert!(
        long.others.iter().any(|(cause, _)| *cause == Cause::ReceiveWindow)
            || long.cause == Cause::ReceiveWindow
    );
}
