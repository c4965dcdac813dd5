//! Pages that watched processes waited for.

use std::collections::BTreeMap;

use netfathom_model::print;
use netfathom_model::record::WatchResult;
use netfathom_model::verdict::Finding;
use netfathom_sys::process::{self, major_faults, proc_is_ours};

use super::FEWEST;

/// Faults for each message, from which on they are worth a word.
const LEAST_FAULTS: f64 = 0.01;

/// Major page faults of each process so far.
pub(in crate::kind::watch) type Faults = BTreeMap<u32, u64>;

/// Of those that are meant.
pub(in crate::kind::watch) fn counted(is_meant: impl Fn(u32) -> bool) -> Faults {
    let all = if proc_is_ours() { process::all().unwrap_or_default() } else { Vec::new() };
    let meant = all.into_iter().filter(|&pid| is_meant(pid));
    meant.filter_map(|pid| Some((pid, major_faults(pid)?))).collect()
}

/// Of the processes that are known to use a watched socket, and still run.
pub(in crate::kind::watch) fn faults(result: &WatchResult, before: &Faults) -> Option<Finding> {
    since(result, before, &counted(|pid| result.is_used_by(pid)))
}

fn since(result: &WatchResult, before: &Faults, now: &Faults) -> Option<Finding> {
    // One that has started since reads its program from disk.
    let new = |(pid, &n): (&u32, &u64)| Some((n.saturating_sub(*before.get(pid)?), *pid));
    let all: Vec<(u64, u32)> = now.iter().filter_map(new).collect();
    let faults: u64 = all.iter().map(|of| of.0).sum();
    let (_, most) = all.into_iter().max()?;
    // Samples see a part of the messages.
    let part = result.sampling.map_or(1.0, |of| of.followed_ns as f64 / result.watched_ns.max(1) as f64);
    let is_much = faults >= FEWEST && part * faults as f64 >= LEAST_FAULTS * result.messages() as f64;
    is_much.then(|| Finding {
        seen: WatchResult::WAITS_FOR_PAGES.into(),
        cause: "its cgroup or host has too little memory, or it uses these pages for the first time".into(),
        evidence: format!(
            "{} major page faults, {} messages seen; most faults in pid {most}",
            print::count(faults),
            print::count(result.messages())
        ),
        remedy: format!(
            "raise memory.max and memory.high of its cgroup, or free memory; `ps -o maj_flt,rss,cgroup -p {most}` shows whether the faults go on"
        ),
    })
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::{WatchSampling, WatchStage};

    use super::super::tests;
    use super::*;

    #[test]
    fn faults_of_the_run_are_compared_with_its_messages() {
        let mut result = tests::result(WatchStage::Sockqueue, 20_000, 10, 10_000);
        let mut found = |of_first: u64, seen, sampling| {
            result.account.seen = seen;
            (result.watched_ns, result.sampling) = (100, sampling);
            let (before, now) =
                (Faults::from([(7, 1000), (8, 1)]), Faults::from([(7, 1000 + of_first), (8, 5), (9, 99)]));
            since(&result, &before, &now)
        };
        let enough = found(6, 1000, None).unwrap();
        assert_eq!(enough.evidence, "10 major page faults, 1,000 messages seen; most faults in pid 7");
        let half = Some(WatchSampling { followed_ns: 50, ..WatchSampling::default() });
        assert_eq!([found(5, 10, None), found(6, 1001, None), found(6, 501, half)], [None, None, None]);
        assert!(found(6, 500, half).is_some());
    }

    #[test]
    fn faults_are_those_of_the_processes_that_are_meant() {
        let own = std::process::id();
        assert_eq!(counted(|pid| pid == own).into_keys().collect::<Vec<_>>(), [own]);
    }
}
