//! A processor with tasks that hide how they leave it: no program runs while they are current.

use std::fmt::Write;

use super::printed;

/// The one that waits, and those that hide.
const READER: usize = 1;
const HIDE: [usize; 2] = [4, MEMBER];
/// It is of the tree that is followed, which is charged as the first.
const MEMBER: usize = 5;

/// What each task is charged with by the switches of a processor, and what it truly had of the reader's waits; the idle
/// one, which is the first, is charged with nothing. Each has it for some time, in an order by chance; where `in_a_row`
/// those that hide may follow each other.
fn charged(seed: u64, in_a_row: bool) -> ([u64; 8], [u64; 8]) {
    let mut random = seed;
    let mut below = |most: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % most
    };
    let (mut input, mut now, mut current, mut left) = (String::new(), 1_000_000, READER, 1_000_000);
    let (mut truth, mut had, mut others) = ([0; 8], [0; 8], 0);
    for _ in 0..5000 {
        let passed = 1 + below(1000);
        now += passed;
        had[current] += passed;
        let can = |next: &usize| {
            *next != current && (in_a_row || ![current, *next].iter().all(|t| HIDE.contains(t)))
        };
        let by_chance = std::iter::repeat_with(|| below(7) as usize).find(can);
        // The programs keep the last 16.
        let next = by_chance.filter(|_| others < 12).unwrap_or(READER);
        others = if next == READER { 0 } else { others + 1 };
        if current == READER {
            (left, had) = (now, [0; 8]);
        }
        let waited = if next == READER { now - left } else { 0 };
        if next == READER {
            (0..8).for_each(|task| truth[task] += had[task]);
        }
        let _ = writeln!(input, "{now} {current} {next} {} {waited}", u8::from(!HIDE.contains(&current)));
        current = next;
    }
    if current == READER {
        let _ = writeln!(input, "{} {READER} 2 1 0", now + 1);
    }
    truth[0] = std::mem::take(&mut truth[MEMBER]);
    (charged_by(&input), truth)
}

fn charged_by(switches: &str) -> [u64; 8] {
    let lines = printed("holders", switches);
    std::array::from_fn(|task| lines[task][0])
}

#[test]
fn who_is_not_seen_to_leave_is_charged_with_what_it_had() {
    for seed in 1..6 {
        let (charged, truth) = charged(seed << 40 | 0x5851_f42d, false);
        assert!([HIDE[0], 0].iter().all(|&task| charged[task] > 0));
        assert_eq!(charged, truth);
    }
}

/// Of several in a row only the first is known: no task is charged with what another one had.
#[test]
fn nobody_is_charged_with_what_another_had() {
    for seed in 1..6 {
        let (charged, truth) = charged(seed << 40 | 0x2f4d_11a3, true);
        assert!(charged.iter().zip(truth).all(|(charged, truth)| *charged <= truth), "{charged:?} {truth:?}");
        assert!(charged.iter().sum::<u64>() * 10 > truth.iter().sum::<u64>() * 9, "{charged:?} {truth:?}");
    }
}

#[test]
fn what_a_task_had_of_another_processor_is_not_charged() {
    // 4 leaves to 5, which has 4000 and hides too; meanwhile 4 has as much of another processor.
    let charged = |elsewhere: &str| {
        charged_by(&format!(
            "1000 1 4 1 0\n1100 4 5 0 0\n{elsewhere}5100 5 2 0 0\n5300 2 1 1 4300\n5400 1 2 1 0\n"
        ))
    };
    assert_eq!(charged(""), [0, 0, 200, 0, 100, 0, 0, 0]);
    assert_eq!(charged("5100 4 4 0 4000\n"), [0, 0, 200, 0, 0, 0, 0, 0]);
}
