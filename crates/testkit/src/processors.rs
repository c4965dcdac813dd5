//! Who had the processors while a test ran, as the kernel counts it.

use std::thread;

use netfathom_sys::cpu::{ProcessorTimes, machine_usage, process_time_ns};

use crate::skipped;

/// With a larger share of all processors, others may be why a test saw what it did not expect. The kernel counts in
/// ticks: a run of a second is right to about a hundredth.
const DISTURBED: f64 = 0.03;

/// What a check found. Where it failed while other programs or the hypervisor had the processors, nothing follows from
/// that: the test is skipped, with their share.
///
/// Programs that the test starts count as others. Invariants that hold on any machine belong in assertions within.
///
/// # Panics
/// With the failure, if the processors were free.
pub fn unless_disturbed<T>(check: impl FnOnce() -> Result<T, String>) -> Option<T> {
    let why = match decided(check) {
        Ok(found) => return Some(found),
        Err(why) => why,
    };
    skipped(thread::current().name().unwrap_or("a test"), &why);
    None
}

/// What the check found, or why nothing follows from its failure.
fn decided<T>(check: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let before = taken();
    let failure = match check() {
        Ok(found) => return Ok(found),
        Err(failure) => failure,
    };
    let (whole_ns, others_ns) = taken().since(before);
    let share = others_ns as f64 / whole_ns.max(1) as f64;
    assert!(share > DISTURBED, "{failure}\nothers had {:.1} % of the processors", 100.0 * share);
    Err(format!("disturbed: others had {:.0} % of the processors", 100.0 * share))
}

/// The processors' time so far, and what this process had of it.
#[derive(Clone, Copy)]
struct Taken {
    machine: ProcessorTimes,
    own_ns: u64,
}

fn taken() -> Taken {
    Taken { own_ns: process_time_ns(), machine: machine_usage().expect("/proc/stat").times }
}

impl Taken {
    /// The time of all CPUs since then, and the part of other processes. Interrupts serve the test's own packets too,
    /// so they count for no process.
    fn since(self, earlier: Self) -> (u64, u64) {
        let times = self.machine.since(&earlier.machine);
        let programs_ns = times.user_ns + times.system_ns + times.steal_ns;
        let others_ns = programs_ns.saturating_sub(self.own_ns - earlier.own_ns);
        (times.busy_ns() + times.idle_ns + times.steal_ns, others_ns)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn own_time_is_no_disturbance_and_that_of_others_is() {
        let times = |user_ns, steal_ns, idle_ns| ProcessorTimes {
            user_ns,
            steal_ns,
            idle_ns,
            ..ProcessorTimes::default()
        };
        let at = |machine, own_ns| Taken { machine, own_ns };
        let begin = at(times(1_000, 0, 0), 100);
        assert_eq!(at(times(1_400, 0, 600), 500).since(begin), (1_000, 0));
        assert_eq!(at(times(1_400, 50, 550), 200).since(begin), (1_000, 350));
    }

    #[test]
    fn a_failure_beside_a_busy_program_is_not_one() {
        let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let fails = || -> Result<(), String> {
            let until = Instant::now() + Duration::from_millis(400);
            while Instant::now() < until {
                thread::sleep(Duration::from_millis(10));
            }
            Err("slow".into())
        };
        let seen = decided(fails);
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert!(seen.unwrap_err().starts_with("disturbed"));
    }
}
