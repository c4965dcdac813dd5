//! What a run used and waited for, as far as it is known.

use netfathom_bpf::tree::{CallTimes, call_name};
use netfathom_model::record::{Amount, CallTotal, Resource};
use netfathom_sys::perf_event::{ChildCounters, PerfEvent};

use crate::kind::cost::watch::Spent;

/// What a tree of processes spent. Of one with threads that are in no sum nothing is known; where what some did
/// last is in none, what can still have grown then is left out.
pub fn amounts_of(spent: &Spent) -> Vec<Amount> {
    if spent.missing_threads.is_some_and(|missing| missing > 0) {
        return Vec::new();
    }
    let to_the_last =
        |value: Option<u64>| value.filter(|_| spent.early_threads.is_none_or(|early| early == 0));
    let all = [
        (Resource::Cpu, to_the_last(spent.ran_ns)),
        (Resource::UserCpu, to_the_last(spent.user_ns)),
        (Resource::SystemCpu, to_the_last(spent.system_ns)),
        (Resource::RunQueue, to_the_last(spent.waited_ns)),
        (Resource::BlockDelay, spent.blocked_ns),
        (Resource::MinorFaults, spent.minor_faults),
        (Resource::MajorFaults, spent.major_faults),
        (Resource::ReadBytes, spent.read_bytes),
        (Resource::VoluntarySwitches, to_the_last(spent.voluntary_switches)),
        (Resource::InvoluntarySwitches, to_the_last(spent.involuntary_switches)),
    ];
    let known = all.into_iter().filter_map(|(resource, value)| Some((resource, value?)));
    known.map(|(resource, value)| Amount { resource, value: value as f64 }).collect()
}

pub fn amounts_of_counters(counters: &ChildCounters) -> Vec<Amount> {
    let counts = counters.read();
    let all = [
        (Resource::Cycles, PerfEvent::Cycles),
        (Resource::Instructions, PerfEvent::Instructions),
        (Resource::CacheMisses, PerfEvent::CacheMisses),
    ];
    let of = |(resource, event)| Some(Amount { resource, value: counts.count(event)? as f64 });
    all.into_iter().filter_map(of).collect()
}

pub fn totals(calls: &[CallTimes]) -> Vec<CallTotal> {
    let total = |call: &CallTimes| CallTotal {
        name: call_name(call.number),
        calls: call.count,
        total_ns: call.total_ns,
    };
    calls.iter().map(total).collect()
}

/// Threads with unknown usage, in all runs.
#[derive(Default)]
pub struct Unknown {
    missing: Occurrences,
    early: Occurrences,
}

/// A number of threads, and the runs that had any.
#[derive(Default)]
pub struct Occurrences {
    pub count: u64,
    runs: u64,
}

impl Occurrences {
    pub fn add(&mut self, count: u64) {
        self.count += count;
        self.runs += u64::from(count > 0);
    }

    /// In how many runs, in words.
    pub fn runs(&self) -> String {
        if self.runs == 1 { "one run".into() } else { format!("{} runs", self.runs) }
    }
}

impl Unknown {
    pub fn add(&mut self, spent: &Spent) {
        let missing = spent.missing_threads.unwrap_or(0);
        self.missing.add(missing);
        if missing == 0 {
            self.early.add(spent.early_threads.unwrap_or(0));
        }
    }

    /// In words; nothing if all is known.
    pub fn descriptions(&self) -> Vec<String> {
        let Self { missing, early } = self;
        let mut texts = Vec::new();
        if missing.count > 0 {
            texts.push(format!(
                "what {} threads spent is unknown: {} without what was used and waited for",
                missing.count,
                missing.runs()
            ));
        }
        if early.count > 0 {
            texts.push(format!(
                "what {} threads did at their very end is unknown: {} without the CPU time, the wait for a \
                 CPU and the switches",
                early.count,
                early.runs()
            ));
        }
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(early: u64, missing: u64) -> Spent {
        let known = Some(7);
        Spent {
            ran_ns: known,
            minor_faults: known,
            early_threads: Some(early),
            missing_threads: Some(missing),
            ..Spent::default()
        }
    }

    #[test]
    fn amounts_are_unknown_while_threads_are_missing() {
        let known = |early, missing| {
            let amounts = amounts_of(&spent(early, missing));
            amounts.into_iter().map(|amount| amount.resource).collect::<Vec<_>>()
        };
        assert_eq!(known(0, 0), [Resource::Cpu, Resource::MinorFaults]);
        assert_eq!(known(2, 0), [Resource::MinorFaults]);
        assert_eq!(known(0, 1), []);
        assert_eq!(amounts_of(&Spent { ran_ns: Some(7), ..Spent::default() }).len(), 1);
    }

    #[test]
    fn unknown_usage_is_described_once() {
        let mut unknown = Unknown::default();
        unknown.add(&spent(0, 0));
        unknown.add(&Spent::default());
        assert!(unknown.descriptions().is_empty());
        [(0, 3), (5, 2), (4, 0)].iter().for_each(|&(early, missing)| unknown.add(&spent(early, missing)));
        let texts = unknown.descriptions();
        assert!(texts[0].starts_with("what 5 threads spent is unknown: 2 runs"), "{texts:?}");
        assert!(
            texts[1].starts_with("what 4 threads did at their very end is unknown: one run "),
            "{texts:?}"
        );
        assert_eq!(texts.len(), 2);
    }
}
