//! A benchmark's own system calls, ranked by the time that a run spends in them.

use std::collections::BTreeSet;

use netfathom_model::record::{CallTotal, Comparison, CostBenchmark, CostTrial, Estimate, OwnCall, OwnTime};

use super::blocks;

/// All calls of all conditions, those of the baseline that take most first.
pub fn ranked(benchmark: &CostBenchmark, conditions: usize) -> Vec<OwnCall> {
    let names: BTreeSet<&str> =
        benchmark.trials.iter().flat_map(|trial| &trial.calls).map(|call| call.name.as_str()).collect();
    let mut calls: Vec<OwnCall> = names
        .into_iter()
        .map(|name| OwnCall {
            name: name.into(),
            times: (0..conditions).map(|condition| time(&benchmark.trials, condition, name)).collect(),
            adds: benchmark.comparisons.iter().map(|c| adds(&benchmark.trials, c, name)).collect(),
        })
        .collect();
    let first = |call: &OwnCall| call.times.iter().flatten().next().map_or(0.0, |time| time.total_ns);
    calls.sort_by(|a, b| first(b).total_cmp(&first(a)));
    calls
}

/// Those of a trial in which calls were recorded; one that was not made took no time.
fn total<'a>(trial: &'a CostTrial, name: &str) -> Option<Option<&'a CallTotal>> {
    let recorded = trial.failed.is_none() && !trial.calls.is_empty();
    recorded.then(|| trial.calls.iter().find(|call| call.name == name))
}

fn time(trials: &[CostTrial], condition: usize, name: &str) -> Option<OwnTime> {
    let of_condition = trials.iter().filter(|trial| trial.condition == condition);
    let totals: Vec<Option<&CallTotal>> = of_condition.filter_map(|trial| total(trial, name)).collect();
    let made: Vec<&CallTotal> = totals.iter().copied().flatten().collect();
    let mean = |sum: u64| sum as f64 / totals.len() as f64;
    (!made.is_empty()).then(|| OwnTime {
        calls: mean(made.iter().map(|call| call.calls).sum()),
        total_ns: mean(made.iter().map(|call| call.total_ns).sum()),
    })
}

/// What a run lasts longer by it, in a condition beside another: both have to have been recorded.
fn adds(trials: &[CostTrial], comparison: &Comparison, name: &str) -> Option<Estimate> {
    let pairs = blocks::pairs(trials, comparison.condition, comparison.against);
    let took =
        |trial: &CostTrial| total(trial, name).map(|call| call.map_or(0.0, |call| call.total_ns as f64));
    let differences: Option<Vec<f64>> =
        pairs.iter().map(|pair| pair.means(took).map(|(after, before)| after - before)).collect();
    let estimate = netfathom_stats::between_trials(&differences?)?;
    Some(estimate.into())
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::{Effect, Outcome};

    use super::super::fixture::{self, trial};
    use super::*;

    fn called(block: u32, condition: usize, calls: &[(&str, u64)]) -> CostTrial {
        let total = |&(name, total_ns): &(&str, u64)| CallTotal { name: name.into(), calls: 2, total_ns };
        CostTrial { calls: calls.iter().map(total).collect(), ..trial(block, condition, &[1e6]) }
    }

    #[test]
    fn calls_are_ranked_by_time_with_what_they_add() {
        let trials = (0..3).flat_map(|block| {
            let more = u64::from(block);
            [
                called(block, 0, &[("read", 100), ("open", 500)]),
                called(block, 1, &[("read", 900 + more), ("open", 500)]),
            ]
        });
        let mut benchmark = fixture::benchmark(trials.collect());
        benchmark.comparisons = vec![fixture::comparison(Effect::Load, 1, 0, Outcome::Cost)];
        let ranked = ranked(&benchmark, 2);
        assert_eq!(ranked.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), ["open", "read"]);
        assert_eq!(ranked[1].times[0], Some(OwnTime { calls: 2.0, total_ns: 100.0 }));
        assert!((ranked[1].adds[0].unwrap().value - 801.0).abs() < 1e-9);
        assert!(ranked[0].adds[0].unwrap().holds(0.0));
    }

    #[test]
    fn a_call_that_only_one_condition_makes_is_listed_for_it() {
        let trials =
            (0..2).flat_map(|block| [called(block, 0, &[("a", 1)]), called(block, 1, &[("a", 1), ("b", 7)])]);
        let mut benchmark = fixture::benchmark(trials.collect());
        benchmark.comparisons = vec![fixture::comparison(Effect::Load, 1, 0, Outcome::Cost)];
        let ranked = ranked(&benchmark, 2);
        let b = ranked.iter().find(|call| call.name == "b").unwrap();
        assert_eq!((b.times[0], b.times[1].unwrap().total_ns, b.adds[0].unwrap().value), (None, 7.0, 7.0));
    }
}
