//! A thread with a CPU quota, beside a task that hides how it leaves the CPU: no program runs while it is current.

use std::fmt::Write;

use super::holders::chance;
use super::printed;

const FOLLOWED: usize = 1;
const HIDES: usize = 3;

/// What the followed thread waited, and what of it was for its quota.
fn accounted(switches: &str) -> (u64, u64) {
    let lines = printed("contention", switches);
    (lines[0][0], lines[1][0])
}

#[test]
fn a_quota_has_the_wait_until_it_is_filled_up_whoever_hides() {
    for seed in 1..6 {
        let mut below = chance(seed << 40 | 0x5851_f42d);
        // The programs know the thread from its first departure on.
        let mut input = String::from("1000 1 2 1 0\n2000 2 1 1 0\n");
        let (mut now, mut current, mut is_used_up, mut truth) = (2000, FOLLOWED, false, 0);
        for _ in 0..5000 {
            let passed = 1 + below(10_000);
            now += passed;
            truth += if is_used_up { passed } else { 0 };
            let is_filled_up = is_used_up && below(3) == 0;
            is_used_up = if current == FOLLOWED { below(2) == 0 } else { is_used_up && !is_filled_up };
            let can = |next: &usize| *next != current && (*next != FOLLOWED || !is_used_up);
            let by_chance = std::iter::repeat_with(|| below(4) as usize).find(can);
            // Otherwise only the next switch that is seen shows that it is filled up.
            let next = by_chance.filter(|_| !is_filled_up || current != HIDES).unwrap_or(FOLLOWED);
            let (is_seen, used_up) = (u8::from(current != HIDES), u8::from(is_used_up));
            let _ = writeln!(input, "{now} {current} {next} {is_seen} {used_up}");
            current = next;
        }
        if current != FOLLOWED {
            truth += u64::from(is_used_up);
            now += 1;
            let _ = writeln!(input, "{now} {current} {FOLLOWED} 1 0");
        }
        let _ = writeln!(input, "{} {FOLLOWED} 2 1 0", now + 1);
        let (waited, by_quota) = accounted(&input);
        assert!(0 < truth && truth < waited);
        assert_eq!(by_quota, truth);
    }
}
