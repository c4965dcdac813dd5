//! Who had the processors while a test ran, as the kernel counts it.

use std::{process, thread};

use netfathom_sys::cpu::{ProcessorTimes, machine_usage, process_time_ns};
use netfathom_sys::process::spent_ns;

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
    found(decided(process_time_ns, check))
}

/// The same where the test is about programs that it has started: these, and its children that end meanwhile, are no others.
///
/// # Panics
/// With the failure, if the processors were free.
pub fn unless_disturbed_beside<T>(programs: &[u32], check: impl FnOnce() -> Result<T, String>) -> Option<T> {
    found(decided(|| own_ns(programs), check))
}

fn found<T>(decided: Result<T, String>) -> Option<T> {
    let skip = |why: &String| skipped(thread::current().name().unwrap_or("a test"), why);
    decided.inspect_err(skip).ok()
}

/// What this process, these programs and the children that they waited for had so far.
fn own_ns(programs: &[u32]) -> u64 {
    programs.iter().chain([&process::id()]).filter_map(|pid| spent_ns(*pid).ok()).sum()
}

/// What the check found, or why nothing follows from its failure.
fn decided<T>(own_ns: impl Fn() -> u64, check: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let before = taken(own_ns());
    let failure = match check() {
        Ok(found) => return Ok(found),
        Err(failure) => failure,
    };
    let (whole_ns, others_ns) = taken(own_ns()).since(before);
    let share = others_ns as f64 / whole_ns.max(1) as f64;
    assert!(share > DISTURBED, "{failure}\nothers had {:.1} % of the processors", 100.0 * share);
    Err(format!("disturbed: others had {:.0} % of the processors", 100.0 * share))
}

/// The processors' time so far, and what the test had of it.
#[derive(Clone, Copy)]
struct Taken {
    machine: ProcessorTimes,
    own_ns: u64,
}

fn taken(own_ns: u64) -> Taken {
    Taken { own_ns, machine: machine_usage().expect("/proc/stat").times }
}

impl Taken {
    /// The time of all CPUs since then, and the part of other processes. Interrupts serve the test's own packets too,
    /// so they count for no process.
    fn since(self, earlier: Self) -> (u64, u64) {
        let times = self.machine.since(&earlier.machine);
        let programs_ns = times.user_ns + times.system_ns + times.steal_ns;
        let others_ns = programs_ns.saturating_sub(self.own_ns.saturating_sub(earlier.own_ns));
        (times.busy_ns() + times.idle_ns + times.steal_ns, others_ns)
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
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

    fn busy() -> Child {
        Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap()
    }

    #[test]
    fn what_programs_of_the_test_had_is_its_own_and_stays_so_when_they_end() {
        let mut busy = busy();
        let programs = [busy.id()];
        let (before_ns, first_ns) = (own_ns(&programs), spent_ns(busy.id()).unwrap());
        while spent_ns(busy.id()).unwrap() < first_ns + 200_000_000 {
            thread::sleep(Duration::from_millis(10));
        }
        assert!(own_ns(&programs) - before_ns >= 200_000_000);
        busy.kill().unwrap();
        busy.wait().unwrap();
        // The kernel keeps the part of children in ticks.
        assert!(own_ns(&programs) - before_ns >= 150_000_000);
    }

    #[test]
    fn a_failure_beside_a_busy_program_is_not_one() {
        let mut busy = busy();
        let fails = || -> Result<(), String> {
            let until = Instant::now() + Duration::from_millis(400);
            while Instant::now() < until {
                thread::sleep(Duration::from_millis(10));
            }
            Err("slow".into())
        };
        let seen = decided(process_time_ns, fails);
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert!(seen.unwrap_err().starts_with("disturbed"));
    }
}
