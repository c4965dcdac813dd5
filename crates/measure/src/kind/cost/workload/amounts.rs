//! What a run used and waited for, as far as it is known.

use netfathom_bpf::tree::{CallTimes, call_name};
use netfathom_model::record::{Amount, CallTotal, Resource};
use netfathom_sys::perf_event::{ChildCounters, PerfEvent};

use crate::kind::cost::observation::{Spent, known};

pub fn amounts_of_counters(counters: &ChildCounters) -> Vec<Amount> {
    let counts = counters.read();
    known([
        (Resource::Cycles, counts.count(PerfEvent::Cycles)),
        (Resource::Instructions, counts.count(PerfEvent::Instructions)),
        (Resource::CacheMisses, counts.count(PerfEvent::CacheMisses)),
    ])
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
    count: u64,
    runs: u64,
}

impl Occurrences {
    pub fn add(&mut self, count: u64) {
        self.count += count;
        self.runs += u64::from(count > 0);
    }

    /// In words, of the number and of its runs; nothing if there are none.
    pub fn described(&self, text: impl FnOnce(u64, &str) -> String) -> Option<String> {
        let runs = if self.runs == 1 { "one run".into() } else { format!("{} runs", self.runs) };
        (self.count > 0).then(|| text(self.count, &runs))
    }
}

impl Unknown {
    pub fn add(&mut self, spent: &Spent) {
        self.missing.add(spent.missing_threads);
        self.early.add(spent.early_threads);
    }

    /// In words; nothing if all is known.
    pub fn descriptions(&self) -> impl Iterator<Item = String> {
        let missing = self.missing.described(|threads, runs| {
            format!("what {threads} threads spent is unknown: {runs} without what was used and waited for")
        });
        let early = self.early.described(|threads, runs| {
            format!(
                "what {threads} threads did at their very end is unknown: {runs} without the CPU time, the wait for a \
                 CPU and the switches"
            )
        });
        missing.into_iter().chain(early)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_usage_is_described_once() {
        let mut unknown = Unknown::default();
        unknown.add(&Spent::default());
        assert_eq!(unknown.descriptions().count(), 0);
        for (early_threads, missing_threads) in [(0, 3), (0, 2), (4, 0)] {
            unknown.add(&Spent { early_threads, missing_threads, ..Spent::default() });
        }
        let texts: Vec<String> = unknown.descriptions().collect();
        assert!(texts[0].starts_with("what 5 threads spent is unknown: 2 runs"), "{texts:?}");
        assert!(
            texts[1].starts_with("what 4 threads did at their very end is unknown: one run "),
            "{texts:?}"
        );
        assert_eq!(texts.len(), 2);
    }
}
