//! The clock and the processors.

use std::thread;
use std::time::{Duration, Instant, SystemTime};

use netfathom_model::environment::Environment;
use netfathom_model::host::HostRow;
use netfathom_model::print::percent;
use netfathom_sys::cpu::machine_usage;

use super::{limited, missing, works};
use crate::ground::environment::hypervisor::{self, Hypervisor};
use crate::load::judge::chrt;

/// Above it a reading of the clock is a system call or worse: vDSO readings take 15 to 60 ns.
const DEAR_READING_NS: f64 = 200.0;
/// Above it converted stamps lose what they are for: a stage takes a few hundred ns.
const WIDE_BRACKET_NS: u128 = 2_000;

pub(super) fn clock(environment: &Environment) -> Vec<HostRow> {
    vec![source(environment), reading(environment.clock_read_ns), offset(bracket())]
}

fn source(environment: &Environment) -> HostRow {
    match &environment.clocksource {
        Some(source) => works("clocksource", source.as_str()),
        None => limited(
            "clocksource",
            "measurements work, their records do not name it",
            "the kernel does not report it",
            "mount /sys",
        ),
    }
}

fn reading(cost_ns: f64) -> HostRow {
    let detail = format!("{cost_ns:.0} ns for each reading of CLOCK_MONOTONIC");
    if cost_ns <= DEAR_READING_NS {
        return works("reading", detail);
    }
    let reason = "the clock is read through the kernel, which disturbs what is measured";
    limited("reading", &detail, reason, "boot with clocksource=tsc where the CPU's counter is stable")
}

/// The narrowest span within which CLOCK_REALTIME could be read between two readings of
/// CLOCK_MONOTONIC: what the offset between the two is good to.
fn bracket() -> Duration {
    let once = |_| {
        let before = Instant::now();
        std::hint::black_box(SystemTime::now());
        before.elapsed()
    };
    (0..64).map(once).min().unwrap_or_default()
}

fn offset(bracket: Duration) -> HostRow {
    let detail = format!("CLOCK_REALTIME is placed on CLOCK_MONOTONIC within {} ns", bracket.as_nanos());
    if bracket.as_nanos() <= WIDE_BRACKET_NS {
        return works("offset", detail);
    }
    let reason = "the timestamping tap's times are uncertain by as much";
    limited("offset", &detail, reason, "use the bpf tap, which needs no conversion")
}

pub(super) fn processors(environment: &Environment) -> Vec<HostRow> {
    vec![count(environment.cpus), use_of_them(busy_share()), sharing(hypervisor::find())]
}

fn count(cpus: usize) -> HostRow {
    match cpus {
        0 => missing(
            "CPUs",
            "sender and reader are bound to one each",
            "the kernel does not report which are allowed",
            "lift the filter on sched_getaffinity",
        ),
        1 => limited(
            "CPUs",
            "1 may be used",
            "sender and reader take turns on it: waits are in every time, and rates are those of half a machine",
            "give this machine a second CPU, or this process a wider taskset",
        ),
        n => works("CPUs", format!("{n} may be used; sender and reader take one each")),
    }
}

/// The part of all CPUs' time that they are busy while this process sleeps.
fn busy_share() -> Option<f64> {
    const LOOK: Duration = Duration::from_millis(300);
    let before = machine_usage().ok()?;
    thread::sleep(LOOK);
    let taken = machine_usage().ok()?.since(&before).times;
    let busy_ns = taken.busy_ns() as f64;
    Some(busy_ns / (busy_ns + (taken.idle_ns + taken.steal_ns) as f64))
}

fn use_of_them(busy: Option<f64>) -> HostRow {
    const NAME: &str = "CPU use";
    /// Of two CPUs one that is busy for half of the time.
    const MUCH: f64 = 0.25;
    let Some(share) = busy.filter(|share| share.is_finite()) else {
        return limited(NAME, "not known", "the kernel does not report it", "mount /proc");
    };
    let detail = format!("{} of all CPUs' time is taken", percent(share));
    if share < MUCH {
        return works(NAME, detail);
    }
    let reason = "other programs have the CPUs: waits for them are in the results, which may be VOID";
    let remedy = format!("stop other programs, or go before them: {} netfathom stack", chrt());
    limited(NAME, &detail, reason, remedy)
}

fn sharing(found: Hypervisor) -> HostRow {
    const NAME: &str = "hypervisor";
    match found {
        Hypervisor::NotNamed => works(NAME, "none found: neither CPU nor firmware names one"),
        Hypervisor::Unknown => limited(
            NAME,
            "not known",
            "neither CPU nor firmware of this machine would name one",
            "ask whoever runs this machine; if it is virtual, compare ratios rather than absolute times",
        ),
        Hypervisor::Found(which) => limited(
            NAME,
            &format!("{which}: compare ratios and orders rather than absolute times"),
            "a hypervisor decides clock rates and sleep states, and shares the CPUs: the work of other guests shows as outliers",
            "measure on bare metal, or on CPUs reserved for this machine",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(row: &HostRow) -> &'static str {
        row.status.name()
    }

    #[test]
    fn a_single_processor_is_a_drawback() {
        assert_eq!([0, 1, 2].map(|n| status(&count(n))), ["missing", "limited", "works"]);
    }

    #[test]
    fn disturbances_are_reported() {
        assert_eq!([30.0, 900.0].map(|ns| status(&reading(ns))), ["works", "limited"]);
        assert_eq!([60, 9000].map(|ns| status(&offset(Duration::from_nanos(ns)))), ["works", "limited"]);
        assert_eq!(
            [Some(0.1), Some(0.9), None].map(|share| status(&use_of_them(share))),
            ["works", "limited", "limited"]
        );
        let hypervisors = [Hypervisor::NotNamed, Hypervisor::Unknown, Hypervisor::Found("QEMU".into())];
        assert_eq!(hypervisors.map(|h| status(&sharing(h))), ["works", "limited", "limited"]);
    }

    #[test]
    fn the_bracket_is_not_nothing() {
        assert!(bracket() < Duration::from_millis(1));
    }
}
