//! What other processes ran meanwhile: an end that waits for a CPU waits for one of them.

use std::collections::BTreeMap;

use netfathom_model::record::Holder;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::process;

use super::explain::Busiest;

/// What each process had run when it began.
pub(super) struct Beside {
    ran_ns: BTreeMap<u32, u64>,
    since_ns: u64,
}

impl Beside {
    pub fn begin() -> Self {
        Self { ran_ns: process::spent_by_all(), since_ns: monotonic_ns() }
    }

    /// The one that ran longest since then, this process apart; `None` where none ran.
    pub fn busiest(&self) -> Option<Busiest> {
        let own = std::process::id();
        let mut since = process::spent_by_all();
        since.retain(|pid, _| *pid != own);
        let (pid, ran_ns) =
            since.into_iter().map(|(pid, ns)| (pid, self.since(pid, ns))).max_by_key(|of| of.1)?;
        let name = process::name(pid).filter(|_| ran_ns > 0)?;
        let by = Holder::Process { name, pid, cgroup: None };
        Some(Busiest { by, cpus: ran_ns as f64 / (monotonic_ns() - self.since_ns).max(1) as f64 })
    }

    /// One that was not there ran all of it since, or has the number of one that was.
    fn since(&self, pid: u32, ns: u64) -> u64 {
        let before = self.ran_ns.get(&pid).copied().unwrap_or(0);
        ns.checked_sub(before).unwrap_or(ns)
    }
}

#[cfg(test)]
mod tests {
    use netfathom_testkit::Burner;

    use super::*;

    #[test]
    fn what_a_process_ran_since_is_its_own_count() {
        let burner = Burner::on(netfathom_sys::cpu::allowed().unwrap()[0]);
        let beside = Beside::begin();
        let before = beside.ran_ns[&burner.pid()];
        while burner.ran_ns() < before + 20_000_000 {
            std::thread::yield_now();
        }
        let now = process::spent_by_all()[&burner.pid()];
        let since = beside.since(burner.pid(), now);
        assert!(since >= 20_000_000 && since <= burner.ran_ns() - before, "{since} {before}");
        // Another test may run a busier one.
        let busiest = beside.busiest().unwrap();
        let is_another = matches!(busiest.by, Holder::Process { pid, .. } if pid != std::process::id());
        assert!(busiest.cpus > 0.0 && is_another, "{busiest:?}");
        assert_eq!(beside.since(u32::MAX, 5), 5);
    }
}
