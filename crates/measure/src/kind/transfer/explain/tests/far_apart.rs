//! Of a long transfer the looks are far apart, and each is of something else.

use super::*;

/// Looks `times` as far apart, with everything else that much longer.
fn spread(mut stream: TransferStream, times: u64) -> TransferStream {
    stream.samples.iter_mut().for_each(|look| look.at_ns *= times);
    stream.duration_ns *= times;
    let took = stream.calls_took.as_mut().unwrap();
    (took.socket_ns, took.standard_ns) = (took.socket_ns * times, took.standard_ns * times);
    stream
}

/// The same look all the time, of other bytes each time.
fn of_rtt(rtt_us: u32, look: impl Fn(&mut TransferSample)) -> TransferStream {
    let mut stream = stream(|_, s| {
        s.rtt_us = rtt_us;
        look(s);
    });
    stream.tcp.as_mut().unwrap().min_rtt_us = Some(rtt_us);
    stream
}

#[test]
fn a_single_look_stands_for_no_time() {
    for rtt_us in [200, 1000, 80_000] {
        for period_ms in [1, 16, 32, 64, 512] {
            let small = spread(of_rtt(rtt_us, |s| queue(s, 40_000, 0, 28)), period_ms);
            assert_eq!(sender(&small), Cause::SendBuffer, "{rtt_us} us, {period_ms} ms");
        }
    }
}

#[test]
fn nor_does_one_that_came_late() {
    // As on a busy machine: of ten looks one comes 50 ms after the one before.
    let mut small = of_rtt(200, |s| queue(s, 40_000, 0, 28));
    let mut at_ns = 0;
    for (tick, look) in (0..).zip(&mut small.samples) {
        at_ns += if tick % 10 == 9 { 50_000_000 } else { 1_000_000 };
        look.at_ns = at_ns;
    }
    assert_eq!(sender(&small), Cause::SendBuffer);
}

#[test]
fn calls_show_delayed_acks() {
    for period_ms in [16, 64, 512] {
        let mut late = spread(of_rtt(200, |s| queue(s, 8192, 0, 1)), period_ms);
        late.calls_took.as_mut().unwrap().delayed_calls = LOOKS * period_ms / 44;
        assert_eq!(sender(&late), Cause::DelayedAcknowledgement, "{period_ms} ms");
        late.tcp.as_mut().unwrap().min_rtt_us = Some(20_000);
        assert_eq!(sender(&late), Cause::SendBuffer, "two round trips");
    }
}

#[test]
fn a_pause_before_a_retransmission_is_no_delayed_ack() {
    let stands = |lost: bool| {
        let mut stands = stream(|tick, s| {
            s.bytes = 1_000_000 + tick / 50 * 8192;
            queue(s, 8192, 0, 1);
            s.retransmits = if lost { (tick / 50) as u32 } else { 0 };
        });
        stands.tcp.as_mut().unwrap().min_rtt_us = Some(100);
        stands
    };
    assert_eq!(sender(&stands(false)), Cause::DelayedAcknowledgement);
    // The last of four ends with nothing.
    let explanation = explained(&stands(true));
    assert_eq!(explanation.cause, Cause::SendBuffer, "{explanation:?}");
}

/// A program that gives a small piece now and then, which each look finds in the queue.
fn pieces(rtt_us: u32) -> TransferStream {
    let mut slow = of_rtt(rtt_us, |s| queue(s, 800, 400, 1));
    slow.calls_took = Some(CallTimes { standard_ns: 195_000_000, ..CallTimes::default() });
    slow
}

#[test]
fn a_piece_that_is_seen_once_was_not_held() {
    for (rtt_us, period_ms) in [(200, 1), (1000, 64), (80_000, 16), (80_000, 64), (80_000, 512)] {
        let explanation = explained(&spread(pieces(rtt_us), period_ms));
        assert_eq!(explanation.cause, Cause::SlowSender, "{rtt_us} us, {period_ms} ms");
        let blind = period_ms >= 64;
        assert_eq!(explanation.evidence.iter().any(|e| e.contains("Nagle")), blind, "{explanation:?}");
    }
}

#[test]
fn looks_further_apart_than_half_a_round_trip_see_no_piece_wait() {
    let held = |period_ms: u64| {
        // Each is seen three times.
        let mut held = pieces(80_000);
        for (tick, look) in (0..).zip(&mut held.samples) {
            look.bytes = 1000 + tick / 3 * 440;
            queue(look, 440, 400, 1);
        }
        sender(&spread(held, period_ms))
    };
    assert_eq!(held(16), Cause::Nagle);
    assert_eq!(held(64), Cause::SlowSender);
}
