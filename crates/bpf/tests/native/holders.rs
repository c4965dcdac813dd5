//! A processor with tasks that hide how they leave it: no program runs while they are current.

use std::fmt::Write;

use super::printed;

/// The one that waits, and those that hide.
const READER: usize = 1;
const HIDE: [usize; 2] = [4, MEMBER];
/// It is of the tree that is followed, which is charged as the first.
const MEMBER: usize = 5;
/// A process without a number.
const OUTSIDE: usize = 8;
/// A thread of the kernel of the same name.
const KERNEL: usize = 9;
const TASKS: usize = 10;

/// Numbers below a bound, by chance; the same for the same seed.
pub(super) fn chance(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut random = seed;
    move |most| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % most
    }
}

/// What each task is charged with by the switches of a processor, and what it truly had of the reader's waits; the idle
/// one, which is the first, is charged with nothing. Each has it for some time, in an order by chance; where `in_a_row`
/// those that hide may follow each other.
fn charged(seed: u64, in_a_row: bool) -> ([u64; 8], [u64; 8]) {
    let mut below = chance(seed);
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
        // The programs keep more.
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

/// What the hypervisor, softirqs and interrupts are charged with.
fn causes(switches: &str) -> [u64; 3] {
    let lines = printed("holders", switches);
    std::array::from_fn(|cause| lines[TASKS + cause][0])
}

#[test]
fn what_takes_a_processor_from_a_task_is_charged_in_its_place() {
    // 2 has the processor for 1024, twice; so long 1 waits for it, or for half of it.
    let of = |lost: &str, waits: u64| {
        let switches = format!(
            "1000 1 2 1 0\n{lost}2024 2 1 1 {waits}\n2100 1 2 1 0\n3124 2 1 1 {waits}\n3200 1 2 1 0\n"
        );
        (charged_by(&switches)[2], causes(&switches))
    };
    let each = "0 0 0 0 256\n0 0 0 1 128\n0 0 0 2 512\n";
    assert_eq!(of(each, 1024), (1024 + 128, [256, 128, 512]));
    assert_eq!(of(each, 512), (512 + 64, [128, 64, 256]));
    // What is beyond the stay is of the next ones; 1 itself had 76 in between.
    assert_eq!(of("0 0 0 0 896\n0 0 0 1 716\n", 1024), (1024 - 512, [896, 128 + 512, 0]));
}

#[test]
fn what_an_idle_processor_lost_is_charged_to_nothing() {
    // 2 had 1024, and lost 512 more; then the processor idles until 2 comes again, for which 1 waits.
    let switches = "1000 1 2 1 0\n0 0 0 1 1536\n2024 2 0 1 0\n0 0 0 1 4000\n3000 0 2 1 0\n\
                    4024 2 1 1 1024\n4100 1 2 1 0\n";
    assert_eq!((charged_by(switches)[2], causes(switches)), (512, [0, 512, 0]));
}

/// They have more turns than the programs keep stays, and lose a part of the first ones.
#[test]
fn a_process_is_charged_although_threads_of_another_took_turns_after_it() {
    const TURN: u64 = 16;
    const TURNS: u64 = 256;
    let mut switches = "1000 1 2 1 0\n2000 2 6 1 0\n0 0 0 1 512\n".to_owned();
    for turn in 1..TURNS {
        let (prev, next) = if turn % 2 > 0 { (6, 7) } else { (7, 6) };
        let _ = writeln!(switches, "{} {prev} {next} 1 0", 2000 + turn * TURN);
    }
    let all = TURNS * TURN;
    let _ = writeln!(switches, "{} 7 1 1 {}\n{} 1 2 1 0", 2000 + all, 1000 + all, 2100 + all);
    let charged = charged_by(&switches);
    assert_eq!((charged[2], charged[6], causes(&switches)), (1000, all - 512, [0, 512, 0]));
}

#[test]
fn a_thread_of_the_kernel_and_a_process_of_its_name_are_charged_apart() {
    let switches = "1000 1 8 1 0\n1300 8 9 1 0\n2000 9 1 1 1000\n2100 1 2 1 0\n";
    let lines = printed("holders", switches);
    assert_eq!([OUTSIDE, KERNEL].map(|task| lines[task][0]), [300, 700]);
}

/// No program sees it leave: what the kernel counts until the next one leaves is of both.
#[test]
fn what_was_taken_from_a_task_that_hides_is_charged() {
    let switches = "1000 1 4 1 0\n0 0 0 0 256\n2024 4 2 0 0\n3048 2 1 1 2048\n3100 1 2 1 0\n";
    let charged = charged_by(switches);
    assert_eq!((charged[4], charged[2], causes(switches)), (1024, 1024 - 256, [256, 0, 0]));
}

/// A softirq has the first quarter of each stay, and is counted by ticks, each as long as several stays.
#[test]
fn what_is_counted_by_ticks_is_right_in_the_long_run() {
    const TICK: u64 = 4000;
    let mut below = chance(0x5851_f42d_4c95);
    let (mut input, mut now, mut current) = (String::new(), 1_000_000, READER);
    let (mut waited, mut truth, mut ticks) = (0, 0, 0_u32);
    for _ in 0..20_000 {
        let passed = 1 + below(1000);
        if now % TICK + passed / 4 >= TICK {
            ticks += 1;
            let _ = writeln!(input, "0 0 0 1 {TICK}");
        }
        now += passed;
        // One time in four the processor idles meanwhile.
        let next = if current == READER { 2 * below(4).min(1) as usize } else { READER };
        let waits = if current == 2 { passed } else { 0 };
        (waited, truth) = (waited + waits, truth + waits / 4);
        let _ = writeln!(input, "{now} {current} {next} 1 {waits}");
        current = next;
    }
    let (by_2, [_, softirqs, _]) = (charged_by(&input)[2], causes(&input));
    // The last wait may go on.
    assert!((waited - 1000..=waited).contains(&(by_2 + softirqs)), "{by_2} and {softirqs} of {waited}");
    // A tick hits a softirq or not: the hits spread by no more than the root of their number.
    let spread = TICK as f64 * f64::from(ticks).sqrt();
    assert!(softirqs.abs_diff(truth) as f64 <= 4.0 * spread, "{softirqs} of {truth}, {ticks} ticks");
}
