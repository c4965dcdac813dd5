//! What threads of another program waited for a CPU.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::holders::each;
use super::{Held, Holder, Holders};

/// What threads waited for a CPU, and who had it meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuWaits {
    /// All together, by the kernel's account of each thread.
    pub waited_ns: u64,
    /// Who had the CPU meanwhile, the longest first.
    pub holders: Vec<Held>,
}

impl CpuWaits {
    /// Who had the CPU, the longest first, with the part of the wait, 0 to 1; all processes of a name are one.
    pub fn parts(&self) -> impl Iterator<Item = (Holders<'_>, f64)> {
        let waited_ns = self.waited_ns.max(1) as f64;
        Holders::of(&self.holders).into_iter().map(move |(by, ns)| (by, ns as f64 / waited_ns))
    }

    /// What threads waited since an earlier state of the same sums, without those that had nothing of it.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let now = each(&self.holders);
        let before = earlier.by_names_of(&now);
        let since = |(by, ns): (&Holder, u64)| {
            let ns = ns.saturating_sub(before.get(by).copied().unwrap_or(0));
            (ns > 0).then(|| Held { by: by.clone(), ns })
        };
        let mut holders: Vec<Held> = now.into_iter().filter_map(since).collect();
        holders.sort_by_key(|held| Reverse(held.ns));
        Self { waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns), holders }
    }

    /// Holders as a later state has them: a process without room of its own loses its number once another has its name.
    fn by_names_of(&self, later: &[(&Holder, u64)]) -> HashMap<Holder, u64> {
        let there: HashSet<&Holder> = later.iter().map(|(by, _)| *by).collect();
        let mut sums: HashMap<Holder, u64> = HashMap::new();
        for (by, ns) in each(&self.holders) {
            let by = match by {
                Holder::Process { name, .. } | Holder::Unnumbered { name } if !there.contains(by) => {
                    Holder::Process { name: name.clone(), pid: 0, cgroup: None }
                }
                by => by.clone(),
            };
            *sums.entry(by).or_default() += ns;
        }
        sums
    }

    /// The part that no holder accounts for.
    pub fn unknown(&self) -> f64 {
        self.parts().find(|(by, _)| *by.first == Holder::Unknown).map_or(0.0, |(_, part)| part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_wait_are_of_names_the_longest_first() {
        let held = |by, ns| Held { by, ns };
        let named = |name: &str, pid| Holder::Process { name: name.into(), pid, cgroup: None };
        let many = (100..130).map(|pid| held(named("cc1", pid), 2));
        let holders = [held(named("tar", 7), 20)].into_iter().chain(many).chain([held(Holder::Unknown, 20)]);
        let waits = CpuWaits { waited_ns: 100, holders: holders.collect() };
        let parts: Vec<(String, f64)> = waits.parts().map(|(by, part)| (by.to_string(), part)).collect();
        let expected = [("cc1 (30 processes)", 0.6), ("tar (pid 7)", 0.2), ("unknown", 0.2)];
        assert_eq!(parts, expected.map(|(by, part)| (by.to_owned(), part)));
        assert_eq!(waits.unknown(), 0.2);
    }

    #[test]
    fn waits_since_an_earlier_state_have_what_was_added() {
        let held = |name: &str, ns| Held { by: Holder::Kernel { name: name.into() }, ns };
        let waits = |waited_ns, holders| CpuWaits { waited_ns, holders };
        let earlier = waits(100, vec![held("a", 70), held("b", 30)]);
        let later = waits(190, vec![held("a", 75), held("c", 60), held("b", 30)]);
        assert_eq!(later.since(&earlier), waits(90, vec![held("c", 60), held("a", 5)]));
    }

    fn cc1(pid: u32, ns: u64) -> Held {
        Held { by: Holder::Process { name: "cc1".into(), pid, cgroup: None }, ns }
    }

    #[test]
    fn the_time_of_a_process_that_loses_its_number_is_not_that_of_the_last_second() {
        let waits = |waited_ns, held| CpuWaits { waited_ns, holders: vec![held] };
        let (first, both) = (waits(70, cc1(712, 70)), waits(85, cc1(0, 85)));
        assert_eq!(both.since(&first), waits(15, cc1(0, 15)));
    }

    #[test]
    fn waits_since_an_earlier_state_have_all_holders_however_many() {
        let waits = |ns: u64| {
            let holders = (1..=3000).map(|pid| cc1(pid, ns)).collect();
            CpuWaits { waited_ns: 3000 * ns, holders }
        };
        assert_eq!(waits(7).since(&waits(5)), waits(2));
    }
}
