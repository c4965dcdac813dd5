//! What a benchmark spent, from whoever knows it.

use netfathom_bpf::tree;
use netfathom_model::record::{Amount, Resource};
use netfathom_sys::cpu::Scheduling;
use netfathom_sys::process::Usage;

/// What a tree of processes spent, as far as it is known.
///
/// With tracepoints, the sum over all threads that had ended, from their forks on. Otherwise, what the
/// kernel reports to a parent: for the first process, and for those that their own parents waited for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spent {
    pub amounts: Vec<Amount>,
    /// Threads that are in no sum: they had not ended, nothing was heard of their end, or there was no room to follow
    /// them. Nothing is known then.
    pub missing_threads: u64,
    /// Threads without their last moments, up to a clock tick each: no process reaped them, or the kernel reported them
    /// too late. What can still have grown then is left out.
    pub early_threads: u64,
}

impl Spent {
    /// What the threads of a tree spent; others were not followed.
    pub(super) fn of_tree(spent: &tree::Spent, others: u64) -> Self {
        let missing_threads = spent.running + spent.unsettled + others;
        if missing_threads > 0 {
            return Self { missing_threads, ..Self::default() };
        }
        let to_the_last = |value: u64| Some(value).filter(|_| spent.early == 0);
        let system_ns = system_part(spent);
        let amounts = known([
            (Resource::Cpu, to_the_last(spent.ran_ns)),
            (Resource::UserCpu, to_the_last(spent.ran_ns - system_ns)),
            (Resource::SystemCpu, to_the_last(system_ns)),
            (Resource::RunQueue, spent.waited_ns.and_then(to_the_last)),
            (Resource::BlockDelay, spent.blocked_ns),
            (Resource::MinorFaults, Some(spent.minor_faults)),
            (Resource::MajorFaults, Some(spent.major_faults)),
            (Resource::ReadBytes, spent.read_bytes),
            (Resource::VoluntarySwitches, to_the_last(spent.voluntary_switches)),
            (Resource::InvoluntarySwitches, to_the_last(spent.involuntary_switches)),
        ]);
        Self { amounts, missing_threads, early_threads: spent.early }
    }

    /// From the usage that the kernel reports to a parent. `first` are the times of the process's first thread.
    pub(super) fn of_usage(usage: &Usage, first: Option<Scheduling>) -> Self {
        let ran_ns = usage.user_ns + usage.system_ns;
        // Both are cut to microseconds. If the first thread is all that ran, its wait is all there was.
        let is_all = |first: &Scheduling| first.on_cpu_ns.abs_diff(ran_ns) <= 2_000;
        let amounts = known([
            (Resource::Cpu, Some(ran_ns)),
            (Resource::UserCpu, Some(usage.user_ns)),
            (Resource::SystemCpu, Some(usage.system_ns)),
            (Resource::RunQueue, first.filter(is_all).map(|first| first.run_delay_ns)),
            (Resource::MinorFaults, Some(usage.minor_faults)),
            (Resource::MajorFaults, Some(usage.major_faults)),
            (Resource::ReadBytes, Some(usage.read_bytes)),
            (Resource::VoluntarySwitches, Some(usage.voluntary_switches)),
            (Resource::InvoluntarySwitches, Some(usage.involuntary_switches)),
        ]);
        Self { amounts, ..Self::default() }
    }
}

/// The part of the CPU time in system mode. Most kernels count user and system time by who runs at a tick, and miss who
/// seldom does; their sums divide the time that was run, as in `cputime_adjust` of kernel/sched/cputime.c, which `time`
/// shows.
fn system_part(spent: &tree::Spent) -> u64 {
    match (spent.user_ns, spent.system_ns) {
        (_, 0) => 0,
        (user_ns, system_ns) => {
            let part = system_ns as f64 / (user_ns as f64 + system_ns as f64);
            ((part * spent.ran_ns as f64) as u64).min(spent.ran_ns)
        }
    }
}

/// Those with a known value.
pub fn known<const N: usize>(all: [(Resource, Option<u64>); N]) -> Vec<Amount> {
    let amount = |(resource, value): (_, Option<u64>)| Some(Amount { resource, value: value? as f64 });
    all.into_iter().filter_map(amount).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_system_time_are_what_was_run() {
        let of = |ran_ns, user_ns, system_ns| {
            let spent = tree::Spent { ran_ns, user_ns, system_ns, ..tree::Spent::default() };
            let amounts = Spent::of_tree(&spent, 0).amounts;
            let value = |resource| amounts.iter().find(|a| a.resource == resource).unwrap().value;
            (value(Resource::UserCpu), value(Resource::SystemCpu))
        };
        // A fifth of the ticks saw another program.
        assert_eq!(of(1000, 600, 200), (750.0, 250.0));
        assert_eq!(of(1000, 800, 0), (1000.0, 0.0));
        assert_eq!(of(1000, 0, 4), (0.0, 1000.0));
        assert_eq!(of(1000, 0, 0), (1000.0, 0.0));
    }

    #[test]
    fn amounts_are_unknown_while_threads_are_missing() {
        let of = |early, running| tree::Spent {
            ran_ns: 7,
            minor_faults: 7,
            early,
            running,
            ..tree::Spent::default()
        };
        let known = |spent: &Spent| spent.amounts.iter().map(|a| a.resource).collect::<Vec<_>>();
        let all = Spent::of_tree(&of(0, 0), 0);
        assert!(known(&all).starts_with(&[Resource::Cpu, Resource::UserCpu]));
        let early = Spent::of_tree(&of(2, 0), 0);
        assert_eq!(known(&early), [Resource::MinorFaults, Resource::MajorFaults]);
        assert_eq!((early.missing_threads, early.early_threads), (0, 2));
        for missing in [Spent::of_tree(&of(0, 1), 0), Spent::of_tree(&of(0, 0), 1)] {
            assert_eq!((known(&missing), missing.missing_threads), (vec![], 1));
        }
    }
}
