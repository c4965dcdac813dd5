//! Clocks that are not one: of the messages' sender, of the log, of the capture.

use super::*;

const WINDOW: u32 = 1024;
const FLOW_MESSAGES: u64 = 20_000;
/// When the first message of a flow is sent, on the clock of who captures and logs.
fn begin(flow: u32) -> u64 {
    1_000_000_000_000 + u64::from(flow) * 10_000_000_000
}

/// Flows one after the other, stamped by a sender with a clock ahead of the log's.
fn trials(flows: u32, sender_ahead_ns: i64) -> Made {
    let mut packets = Made::default();
    for flow in 0..flows {
        for s in 0..FLOW_MESSAGES {
            let at = begin(flow) + 1000 * s;
            let stamp = at.wrapping_add_signed(sender_ahead_ns);
            packets.message(at as i64 + 100, flow, s, stamp, None);
        }
    }
    packets
}

fn log(flows: u32, entry: fn(u64) -> (u64, u64)) -> Vec<Message> {
    let all = (0..flows).flat_map(|flow| (0..FLOW_MESSAGES).map(move |s| (flow, s)));
    let message = |(flow, s)| {
        let (sent_ns, received_ns) = entry(begin(flow) + 1000 * s);
        sent(flow, s, sent_ns, received_ns)
    };
    all.map(message).collect()
}

const SKEWS_NS: [i64; 6] =
    [0, 20_000_000_000, -20_000_000_000, 200_000_000_000, -200_000_000_000, 1_700_000_000_000_000_000];

#[test]
fn the_clock_of_another_host_does_not_keep_a_log_of_received_times_from_being_read() {
    for skew_ns in SKEWS_NS {
        let log = log(3, |at| (0, at + 500));
        let (joined, sightings) = run(&trials(3, skew_ns), log, Columns::RECEIVED, WINDOW);
        assert_eq!(joined.kinds.of(PacketKind::Joined), 3 * FLOW_MESSAGES, "{skew_ns}");
        assert!(sightings.iter().all(|s| s.in_ns() == Some(400)));
    }
}

#[test]
fn a_log_with_sent_times_other_than_those_in_the_messages_is_read() {
    for skew_ns in SKEWS_NS {
        let log = log(3, |at| (at, 0));
        let (joined, sightings) = run(&trials(3, skew_ns), log, Columns::SENT, WINDOW);
        assert_eq!(joined.kinds.of(PacketKind::Joined), 3 * FLOW_MESSAGES, "{skew_ns}");
        assert!(sightings.iter().all(|s| s.out_ns() == Some(100)));
    }
}

/// A capture has the time of day, its messages the clock of their sender.
#[test]
fn several_flows_are_joined_between_two_captures() {
    let (first, mut second) = (trials(3, 0), trials(3, 0));
    second.packets.iter_mut().for_each(|(time_ns, ..)| *time_ns += 77);
    let options = Options { window: WINDOW, ..Options::default() };
    let mut sightings = Vec::new();
    let joined = join(&mut second, &mut Captured::new(first, &options), &options, |s| sightings.push(*s));
    assert_eq!((joined.kinds.of(PacketKind::Joined), joined.missing), (3 * FLOW_MESSAGES, 0));
    assert!(sightings.iter().all(|s| s.out_ns() == Some(77)));
}

#[test]
fn what_a_message_says_itself_is_no_sending_time_of_a_log_without_any() {
    let skew_ns = 20_000_000_000;
    let is_there = |m: &Message| !m.entry.sequence.is_multiple_of(10);
    let received: Vec<Message> = log(1, |at| (0, at + 500)).into_iter().filter(is_there).collect();
    // Read before and after the packets, and of messages that it has not.
    for reversed in [false, true] {
        let mut log = received.clone();
        log[..WINDOW as usize / 2].sort_by_key(|m| if reversed { u64::MAX - m.entry.sequence } else { 0 });
        let (joined, sightings) = run(&trials(1, skew_ns), log, Columns::RECEIVED, WINDOW);
        assert_eq!(joined.unlogged, FLOW_MESSAGES / 10);
        assert_eq!(sightings.len() as u64, FLOW_MESSAGES);
        for s in &sightings {
            assert_eq!((s.sent_ns, s.out_ns()), (None, None));
            let stamp = begin(0) + 1000 * s.sequence + skew_ns as u64;
            assert_eq!(s.stamped_ns, Some(stamp));
        }
    }
}

/// Two programs send at the same time, and one of them has no log.
#[test]
fn a_flow_without_a_log_does_not_draw_the_log_of_another_away() {
    for skew_ns in SKEWS_NS {
        let mut packets = Made::default();
        for s in 0..FLOW_MESSAGES {
            let at = begin(0) + 1000 * s;
            for flow in [5, 0] {
                packets.message(at as i64 + 100, flow, s, at.wrapping_add_signed(skew_ns), None);
            }
        }
        for (columns, log) in
            [(Columns::RECEIVED, log(1, |at| (0, at + 500))), (Columns::SENT, log(1, |at| (at, 0)))]
        {
            // A sent log has the clock of who stamps.
            if columns.sent && skew_ns != 0 {
                continue;
            }
            let (joined, _) = run(&packets, log, columns, WINDOW);
            assert_eq!(joined.kinds.of(PacketKind::Joined), FLOW_MESSAGES, "{skew_ns}");
        }
    }
}

#[test]
fn a_stamp_does_not_stand_in_for_the_time_of_day() {
    let is_there = |m: &Message| !m.entry.sequence.is_multiple_of(10) || m.entry.sequence == 0;
    for since_1970_ns in [0, 1_700_000_000_000_000_000] {
        let packets = trials(1, 0);
        let mut log: Vec<Message> = log(1, |at| (at, 0)).into_iter().filter(is_there).collect();
        log.iter_mut().for_each(|m| m.entry.sent_ns = m.entry.sent_ns.wrapping_add(since_1970_ns));
        let (joined, sightings) = run(&packets, log, Columns::SENT, WINDOW);
        assert_eq!(joined.unlogged, FLOW_MESSAGES / 10 - 1);
        let mut unlogged = sightings.iter().filter(|s| !s.in_log);
        assert!(unlogged.all(|s| s.sent_ns.is_some() == (since_1970_ns == 0)));
    }
}

/// Of a message each millisecond, for 4 s and a pause in the middle: these times, and up to 6 us.
fn jump(pause_ms: i64, time_ns: fn(i64) -> i64) -> Option<Jump> {
    let mut fit = ClockFit::default();
    for message in 0..4_000 {
        let at_ms = message + if message < 2_000 { 0 } else { pause_ms };
        fit.add(AHEAD_NS + at_ms * 1_000_000, time_ns(at_ms) + message % 7 * 1_000);
    }
    fit.fit().unwrap().jump
}

const DRIFT_NS_EACH_MS: i64 = 300;

#[test]
fn a_clock_that_is_set_is_a_jump() {
    let set: [fn(i64) -> i64; 3] = [
        |ms| if ms < 1_000 { 0 } else { 5_000_000 },
        |ms| if ms < 1_000 { 0 } else { -5_000_000 },
        |ms| ms * DRIFT_NS_EACH_MS + if ms < 1_000 { 0 } else { 5_000_000 },
    ];
    for (place, time_ns) in set.into_iter().enumerate() {
        let found = jump(0, time_ns).unwrap();
        assert!(found.by_ns.abs_diff(5_000_000) < 20_000, "{place}: {found:?}");
        assert!(found.after_ns.abs_diff(1_000_000_000) < 20_000_000, "{place}: {found:?}");
    }
}

#[test]
fn what_changes_otherwise_is_no_jump() {
    type Change = (&'static str, i64, fn(i64) -> i64);
    let others: [Change; 6] = [
        ("nothing", 0, |_| 0),
        ("a drift over a pause", 20_000, |ms| ms * DRIFT_NS_EACH_MS),
        ("a queue for a while", 0, |ms| if (1_000..3_000).contains(&ms) { 5_000_000 } else { 0 }),
        ("a queue that fills", 0, |ms| (ms - 2_000).max(0) * 10_000),
        ("less than a millisecond", 0, |ms| if ms < 2_000 { 0 } else { 900_000 }),
        ("the last messages", 0, |ms| if ms < 3_960 { 0 } else { 5_000_000 }),
    ];
    for (what, pause_ms, time_ns) in others {
        assert_eq!(jump(pause_ms, time_ns), None, "{what}");
    }
}
