use std::collections::{HashMap, HashSet};

use netfathom_model::message::Header;
use netfathom_model::record::PacketKind;
use proptest::prelude::*;

use super::*;
use crate::log::{Columns, LogEntry, Message};
use crate::packet::Packet;

mod clocks;

/// What CLOCK_REALTIME is ahead here.
const AHEAD_NS: i64 = 1_700_000_000_000_000_000;

#[derive(Clone, Default)]
struct Made {
    packets: Vec<(i64, Option<PacketDirection>, Vec<u8>)>,
    at: usize,
}

impl Made {
    fn message(
        &mut self,
        captured_ns: i64,
        flow: u32,
        sequence: u64,
        sent_ns: u64,
        way: Option<PacketDirection>,
    ) {
        let mut payload = [0; 32];
        Header { flow, sequence, intended_ns: sent_ns, sent_ns }.write(&mut payload);
        self.payload(captured_ns, way, &payload);
    }

    fn payload(&mut self, captured_ns: i64, way: Option<PacketDirection>, payload: &[u8]) {
        let mut data = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        data[2..4].copy_from_slice(&(28 + payload.len() as u16).to_be_bytes());
        data.extend([0x10, 0, 0x20, 0]);
        data.extend((8 + payload.len() as u16).to_be_bytes());
        data.extend([0, 0]);
        data.extend(payload);
        self.packets.push((captured_ns + AHEAD_NS, way, data));
    }
}

impl Packets for Made {
    fn next_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        let packet = self.packets.get(self.at).map(|(time_ns, way, data)| Packet {
            time_ns: *time_ns,
            resolution: Resolution::NANOSECONDS,
            link: LinkType::Raw,
            way: *way,
            original_bytes: data.len() as u32,
            data,
        });
        self.at += 1;
        Ok(packet)
    }
}

/// A log made of numbers, which states its clock.
struct Listed {
    messages: Vec<Message>,
    at: usize,
    columns: Columns,
}

impl Listed {
    fn new(columns: Columns, messages: Vec<Message>) -> Self {
        Self { messages, at: 0, columns }
    }
}

impl Messages for Listed {
    fn next_message(&mut self) -> Result<Option<Message>, CaptureError> {
        self.at += 1;
        Ok(self.messages.get(self.at - 1).copied())
    }

    fn clock(&self) -> Clock {
        Clock { ahead_ns: AHEAD_NS, first_ahead_ns: AHEAD_NS, statements: 1 }
    }

    fn columns(&self) -> Columns {
        self.columns
    }
}

fn sent(flow: u32, sequence: u64, sent_ns: u64, received_ns: u64) -> Message {
    let entry = LogEntry { sequence, intended_ns: sent_ns, sent_ns, received_ns };
    Message { flow, entry, ..Message::default() }
}

fn run(packets: &Made, log: Vec<Message>, columns: Columns, window: u32) -> (Joined, Vec<Sighting>) {
    let mut sightings = Vec::new();
    let options = Options { window, ..Options::default() };
    let mut log = Listed::new(columns, log);
    let joined = join(&mut packets.clone(), &mut log, &options, |s| sightings.push(*s));
    assert_eq!(joined.kinds.sum(), joined.packets);
    assert_eq!(joined.messages, joined.kinds.of(PacketKind::Joined) + joined.missing);
    (joined, sightings)
}

/// Moves each number by less than `most`.
fn shuffled(n: u64, most: u64, seed: &[u16]) -> Vec<u64> {
    let key = |i: u64| i + u64::from(seed[i as usize % seed.len()]) % most;
    let mut order: Vec<u64> = (0..n).collect();
    order.sort_by_key(|&i| key(i));
    order
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever is lost, doubled or out of order within the window: as a join that has
    /// everything in memory would have it.
    #[test]
    fn is_what_a_join_in_memory_is(
        n in 1u64..2000,
        flows in prop::collection::vec(any::<u32>(), 1..3),
        window in prop::sample::select(vec![64u32, 256, 1000]),
        log_seed in prop::collection::vec(any::<u16>(), 16..64),
        capture_seed in prop::collection::vec(any::<u16>(), 16..64),
        lost_of_log in prop::collection::hash_set(0u64..2000, 0..40),
        lost_of_capture in prop::collection::hash_set(0u64..2000, 0..40),
        doubled in prop::collection::hash_set(0u64..2000, 0..40),
    ) {
        let flows: HashSet<u32> = flows.into_iter().collect();
        let part = u64::from(window) / 4;
        let (mut log, mut packets) = (Vec::new(), Made::default());
        let mut begin = 1_000u64;
        for &flow in &flows {
            for i in shuffled(n, part, &log_seed) {
                if !lost_of_log.contains(&i) {
                    log.push(sent(flow, i, begin + 100 * i, begin + 100 * i + 70));
                }
            }
            for i in shuffled(n, part, &capture_seed) {
                let captured = (begin + 100 * i) as i64 + 10 + i as i64 % 50 - 5;
                for _ in 0..1 + u32::from(doubled.contains(&i)) {
                    if !lost_of_capture.contains(&i) {
                        packets.message(captured, flow, i, begin + 100 * i, None);
                    }
                }
            }
            begin += 100 * n + 1_000_000;
        }
        let (joined, sightings) = run(&packets, log.clone(), Columns::ALL, window);

        let known: HashMap<(u32, u64), LogEntry> = log.iter().map(|m| ((m.flow, m.entry.sequence), m.entry)).collect();
        let listed: HashSet<u32> = log.iter().map(|m| m.flow).collect();
        let mut seen = HashSet::new();
        let (mut found, mut twice, mut without) = (0, 0, 0);
        let (mut out, mut inward) = (Vec::new(), Vec::new());
        for (time_ns, _, data) in &packets.packets {
            let header = Header::read(&data[28..]).unwrap();
            let key = (header.flow, header.sequence);
            let captured = time_ns - AHEAD_NS;
            if !seen.insert(key) {
                twice += 1;
                continue;
            }
            if listed.contains(&key.0) {
                out.push((key, captured - header.sent_ns as i64));
            }
            match known.get(&key) {
                Some(entry) => {
                    found += 1;
                    inward.push((key, entry.received_ns as i64 - captured));
                }
                None => without += 1,
            }
        }
        prop_assert_eq!(joined.kinds.of(PacketKind::Joined), found);
        prop_assert_eq!(joined.kinds.of(PacketKind::Duplicate), twice);
        prop_assert_eq!(joined.kinds.of(PacketKind::NotInLog), without);
        prop_assert_eq!(joined.missing, known.len() as u64 - found);
        let reported = |time: fn(&Sighting) -> Option<i64>| {
            let mut times: Vec<_> = sightings.iter().filter_map(|s| Some(((s.flow, s.sequence), time(s)?))).collect();
            times.sort_unstable();
            times
        };
        out.sort_unstable();
        inward.sort_unstable();
        prop_assert_eq!(reported(Sighting::out_ns), out);
        prop_assert_eq!(reported(Sighting::in_ns), inward);
    }
}

#[test]
fn blocks_of_several_senders_lie_within_the_window() {
    const LANES: u64 = 4;
    let n = 200_000;
    let mut log = Vec::new();
    for block in 0..n / (LANES * 4096) + 1 {
        for lane in 0..LANES {
            let of_block = (0..4096).map(|i| (block * 4096 + i) * LANES + lane);
            log.extend(of_block.filter(|&s| s < n).map(|s| sent(7, s, 1 + 100 * s, 0)));
        }
    }
    let mut packets = Made::default();
    (0..n).for_each(|s| packets.message(1 + 100 * s as i64 + 30, 7, s, 1 + 100 * s, None));
    let (joined, sightings) = run(&packets, log, Columns::SENT, 65_536);
    assert_eq!((joined.kinds.of(PacketKind::Joined), joined.missing, joined.reordered), (n, 0, 0));
    assert!(sightings.iter().all(|s| s.out_ns() == Some(30)));
}

/// Three trials; the log's or the capture's view of one may be gone altogether.
#[test]
fn a_trial_that_one_of_the_two_has_not_does_not_spoil_the_others() {
    let n = 20_000u64;
    let begin = |flow: u32| 1_000_000 + u64::from(flow) * 10_000_000_000;
    for columns in [Columns::SENT, Columns::RECEIVED] {
        for (no_log, no_capture) in [(9, 0), (9, 1), (0, 9), (1, 9), (2, 9), (0, 1), (9, 2)] {
            let (mut log, mut packets) = (Vec::new(), Made::default());
            for flow in 0..3 {
                for s in 0..n {
                    let at = begin(flow) + 1000 * s;
                    if flow != no_log {
                        let of = |there, time| if there { time } else { 0 };
                        log.push(sent(flow, s, of(columns.sent, at), of(columns.received, at + 500)));
                    }
                    if flow != no_capture {
                        packets.message(at as i64 + 100, flow, s, at, None);
                    }
                }
            }
            let both = (0..3).filter(|f| *f != no_log && *f != no_capture).count() as u64;
            let (joined, _) = run(&packets, log, columns, 1024);
            assert_eq!(
                joined.kinds.of(PacketKind::Joined),
                both * n,
                "log {no_log} capture {no_capture} {columns:?}"
            );
        }
    }
}

#[test]
fn other_peoples_numbers_are_joined_and_strays_do_not_matter() {
    let n = 50_000u64;
    let log: Vec<Message> = (0..n).map(|s| sent(99, s, 1 + 1000 * s, 0)).collect();
    let mut packets = Made::default();
    for s in 0..n {
        packets.payload(1000 * s as i64 + 40, None, &[&[9, 9][..], &(s as u32).to_be_bytes()].concat());
        // A foreign packet with arbitrary bytes, and one that is too short.
        packets.payload(1000 * s as i64 + 41, None, &(s * 7_777_777_777_777).to_be_bytes());
        packets.payload(1000 * s as i64 + 42, None, &[1]);
    }
    let mut sightings = Vec::new();
    let numbering = Numbering::Field { offset: 2, width: 4, little_endian: false };
    let options = Options { numbering, window: 1024, ..Options::default() };
    let mut log = Listed::new(Columns::SENT, log);
    let joined = join(&mut packets.clone(), &mut log, &options, |s| sightings.push(*s));
    assert!(joined.kinds.of(PacketKind::Joined) >= n - n / 1000, "{joined:?}");
    assert_eq!((joined.kinds.of(PacketKind::Foreign), joined.kinds.sum()), (n, 3 * n));
}

#[test]
fn a_capture_that_begins_late_is_joined() {
    let log: Vec<Message> = (0..100_000).map(|s| sent(0, s, 1 + 1000 * s, 0)).collect();
    let mut packets = Made::default();
    (90_000u64..100_000).for_each(|s| packets.payload(1000 * s as i64, None, &s.to_be_bytes()));
    let numbering = Numbering::Field { offset: 0, width: 8, little_endian: false };
    let options = Options { numbering, window: 256, ..Options::default() };
    let joined = join(&mut packets, &mut Listed::new(Columns::SENT, log), &options, |_| ());
    assert_eq!((joined.kinds.of(PacketKind::Joined), joined.missing), (10_000, 90_000));
}

#[test]
fn a_message_captured_in_both_directions_is_reported_twice_and_counted_once() {
    let mut packets = Made::default();
    for s in 0..100u64 {
        let at = 1 + 1000 * s as i64;
        packets.message(at + 10, 1, s, at as u64, Some(PacketDirection::Out));
        packets.message(at + 25, 1, s, at as u64, Some(PacketDirection::In));
    }
    // In the log's order, and with all of the log behind the packets.
    for reversed in [false, true] {
        let mut log: Vec<Message> = (0..100).map(|s| sent(1, s, 1 + 1000 * s, 1 + 1000 * s + 90)).collect();
        if reversed {
            log.reverse();
        }
        let (joined, sightings) = run(&packets, log, Columns::ALL, 256);
        assert_eq!((joined.kinds.of(PacketKind::Joined), joined.kinds.of(PacketKind::Duplicate)), (100, 100));
        let of = |first: bool| sightings.iter().filter(move |s| s.first == first);
        assert_eq!((of(true).count(), of(false).count()), (100, 100), "{reversed}");
        assert!(of(true).all(|s| (s.way, s.out_ns()) == (Some(PacketDirection::Out), Some(10))));
        assert!(of(false).all(|s| (s.way, s.in_ns()) == (Some(PacketDirection::In), Some(65))));
    }
}

#[test]
fn a_lost_message_still_has_its_way_out() {
    let mut packets = Made::default();
    (0..10u64).for_each(|s| packets.message(1000 * s as i64 + 60, 5, s, 1000 * s + 50, None));
    let log = (0..10).filter(|s| s % 2 == 0).map(|s| sent(5, s, 1000 * s + 50, 1000 * s + 300)).collect();
    let (joined, sightings) = run(&packets, log, Columns::ALL, 64);
    assert_eq!((joined.kinds.of(PacketKind::NotInLog), joined.unlogged), (5, 5));
    assert!(sightings.iter().all(|s| s.out_ns() == Some(10) && s.in_log == s.in_ns().is_some()));
    assert_eq!(sightings.len(), 10);
}

#[test]
fn ports_and_ways_that_are_not_wanted_are_foreign() {
    let mut packets = Made::default();
    (0..4u64).for_each(|s| {
        packets.message(0, 1, s, 1, Some(if s < 1 { PacketDirection::In } else { PacketDirection::Out }))
    });
    let log = || Listed::new(Columns::SENT, (0..4).map(|s| sent(1, s, 1, 0)).collect());
    for (port, way, foreign) in [
        (Some(0x2000), None, 0),
        (Some(0x1000), None, 0),
        (Some(53), None, 4),
        (None, Some(PacketDirection::Out), 1),
    ] {
        let options = Options { port, way, ..Options::default() };
        let joined = join(&mut packets.clone(), &mut log(), &options, |_| ());
        assert_eq!(joined.kinds.of(PacketKind::Foreign), foreign, "{port:?} {way:?}");
    }
}

#[test]
fn a_message_that_is_in_the_log_twice_counts_once() {
    let mut packets = Made::default();
    (0..4u64).for_each(|s| packets.message(0, 1, s, 1, None));
    let log = [0, 0, 1, 2, 1, 3, 3].map(|s| sent(1, s, 1, 5)).to_vec();
    let (joined, _) = run(&packets, log, Columns::ALL, 64);
    assert_eq!((joined.repeated, joined.missing, joined.messages, joined.received), (3, 0, 4, 4));
}

#[test]
fn a_capture_is_the_log_of_the_next() {
    let (mut first, mut second) = (Made::default(), Made::default());
    for s in 0..1000u64 {
        first.message(1000 * s as i64, 1, s, 1, None);
        second.message(1000 * s as i64 + 77 + AHEAD_NS - AHEAD_NS, 1, s, 1, None);
    }
    let options = Options::default();
    let mut sightings = Vec::new();
    let joined = join(&mut second, &mut Captured::new(first, &options), &options, |s| sightings.push(*s));
    assert_eq!(joined.kinds.of(PacketKind::Joined), 1000);
    assert!(sightings.iter().all(|s| s.in_log && s.out_ns() == Some(77)));
}

#[test]
fn clocks_that_drift_are_put_together() {
    let (offset, drift) = (-3_600_000_000_123i64, 20e-6);
    let mut fit = ClockFit::default();
    let mut state = 1u64;
    for i in 0..200_000i64 {
        let t = i * 100_000;
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let queue = (state >> 40) as i64 % 200_000;
        // A queue that grows and falls is no drift.
        let swell = if (50_000..90_000).contains(&i) { 3_000_000 } else { 0 };
        fit.add(AHEAD_NS + t, offset + (drift * t as f64) as i64 + queue + swell);
    }
    let fit = fit.fit().unwrap();
    assert!((fit.fitted.drift - drift).abs() < 0.2e-6, "{fit:?}");
    for t in [0, 10_000_000_000, 20_000_000_000i64] {
        let truth = offset + (drift * t as f64) as i64;
        assert!((fit.fitted.ahead_ns(AHEAD_NS + t) - truth).abs() < 3_000, "{fit:?} {t}");
    }
    assert!((fit.moved_ns.unwrap() - 400_000).abs() < 5_000);
    assert_eq!(ClockFit::default().fit(), None);
}

#[test]
fn a_short_capture_has_an_offset_and_no_drift() {
    let mut fit = ClockFit::default();
    (0..1000i64).for_each(|i| fit.add(AHEAD_NS + i * 1_000_000, 500 + i % 7));
    assert_eq!(fit.fit().unwrap().fitted, Fitted { offset_ns: 500, at_ns: AHEAD_NS, drift: 0.0 });
}
