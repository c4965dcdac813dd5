//! What trials say: each condition beside another, over the blocks.

use netfathom_model::record::{
    Comparison, CostBenchmark, CostResult, CostTrial, Effect, Estimate, Outcome, Overall, ProgramTrial,
    ProgramUse, Resource, SpanCost, Taken,
};
use netfathom_stats as stats;

use super::blocks::{self, Pair};
use super::conditions::{self, Compared};
use super::own_calls;

/// A run that cannot rule out, or would not have seen, so much says nothing.
pub(super) const SAYS_NOTHING: f64 = 0.25;

/// Tells of all benchmarks anew what their trials say.
pub fn renew(result: &mut CostResult) {
    let (conditions, compared) = (result.conditions.len(), conditions::compared(&result.conditions));
    for benchmark in &mut result.benchmarks {
        benchmark.comparisons =
            compared.iter().filter_map(|what| comparison(&benchmark.trials, *what)).collect();
        benchmark.calls = own_calls::ranked(benchmark, conditions);
    }
    result.overall = if result.benchmarks.len() > 1 {
        compared.iter().filter_map(|what| overall(&result.benchmarks, *what)).collect()
    } else {
        Vec::new()
    };
    result.program = program(result);
}

/// One condition beside another; `None` where they share no block.
pub fn comparison(trials: &[CostTrial], what: Compared) -> Option<Comparison> {
    let pairs = blocks::pairs(trials, what.condition, what.against);
    let totals: Vec<(f64, f64)> = pairs.iter().map(Pair::total_ns).collect();
    let pcosts: Vec<f64> = pairs.iter().filter_map(Pair::pcost).collect();
    let (outcome, smallest) = outcome(&totals);
    Some(Comparison {
        effect: what.effect,
        condition: what.condition,
        against: what.against,
        blocks: pairs.len() as u32,
        ratio: ratio(&totals)?,
        pcost: mean(&pcosts)?,
        outcome,
        smallest,
        spans: spans(&pairs),
        taken: Resource::ALL.into_iter().filter_map(|resource| taken(&pairs, resource)).collect(),
    })
}

/// Half the interval that decides, as a part of the ratio; 0 below two blocks.
pub(super) fn relative_width(comparison: &Comparison) -> f64 {
    stats::decided_width(comparison.ratio.into(), comparison.blocks).unwrap_or(0.0)
}

/// The ratio of pairs; of a single one without an interval.
fn ratio(pairs: &[(f64, f64)]) -> Option<Estimate> {
    match pairs {
        [] => None,
        &[(after, before)] => Some(Estimate { value: after / before, half_width: 0.0 }),
        _ => stats::paired_ratio(pairs).map(Estimate::from),
    }
    .filter(|ratio| ratio.value.is_finite())
}

/// The mean of values; of a single one without an interval.
fn mean(values: &[f64]) -> Option<Estimate> {
    match values {
        [] => None,
        &[value] => Some(Estimate { value, half_width: 0.0 }),
        _ => stats::between_trials(values).map(Estimate::from),
    }
}

/// What the pairs show, and the smallest slowdown that they could detect.
fn outcome(pairs: &[(f64, f64)]) -> (Outcome, Option<f64>) {
    let logs: Vec<f64> = pairs.iter().map(|&(after, before)| (after / before).ln()).collect();
    let Some(decision) = stats::decide(&logs).filter(|_| logs.iter().all(|log| log.is_finite())) else {
        return (Outcome::CannotTell, None);
    };
    let smallest = decision.smallest.exp() - 1.0;
    let most = stats::paired_ratio(pairs)
        .and_then(|ratio| stats::decided_interval(ratio, pairs.len() as u32))
        .map_or(f64::INFINITY, |ends| ends.1 - 1.0);
    let outcome = if decision.is_above() {
        Outcome::Cost
    } else if decision.is_below() {
        Outcome::Faster
    } else if smallest.max(most) > SAYS_NOTHING {
        Outcome::CannotTell
    } else {
        Outcome::NoCost
    };
    (outcome, smallest.is_finite().then_some(smallest))
}

fn spans(pairs: &[Pair<'_>]) -> Vec<SpanCost> {
    let spans = pairs.iter().map(Pair::spans).min().unwrap_or(0);
    (0..spans)
        .map(|span| {
            let of_blocks: Vec<(f64, f64)> = pairs.iter().map(|pair| pair.span_ns(span)).collect();
            let (after_ns, before_ns) = means(&of_blocks);
            SpanCost { before_ns, after_ns, ratio: ratio(&of_blocks), outcome: outcome(&of_blocks).0 }
        })
        .collect()
}

/// By the blocks where both trials have the amount.
fn taken(pairs: &[Pair<'_>], resource: Resource) -> Option<Taken> {
    let amounts: Vec<(f64, f64)> = pairs.iter().filter_map(|pair| pair.amount(resource)).collect();
    // A single one of several has no interval.
    let is_known = amounts.len() >= pairs.len().min(2);
    if !is_known || amounts.iter().all(|&(after, before)| after == 0.0 && before == 0.0) {
        return None;
    }
    let (after, before) = means(&amounts);
    let differences: Vec<f64> = amounts.iter().map(|(after, before)| after - before).collect();
    Some(Taken { resource, before, after, difference: mean(&differences)? })
}

/// Of the condition, and of what it is compared with.
fn means(pairs: &[(f64, f64)]) -> (f64, f64) {
    let (after, before): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    (stats::mean(&after), stats::mean(&before))
}

/// The paper's mean of PCost over benchmarks, and the geometric mean of their ratios, block by block.
fn overall(benchmarks: &[CostBenchmark], what: Compared) -> Option<Overall> {
    // That of observation points is a matter of each benchmark.
    if what.effect == Effect::Observation {
        return None;
    }
    let all: Vec<Vec<Pair<'_>>> =
        benchmarks.iter().map(|b| blocks::pairs(&b.trials, what.condition, what.against)).collect();
    let mut ratios = Vec::new();
    let mut pcosts = Vec::new();
    for first in all.first()? {
        // A block counts if every benchmark has it whole.
        let of_block: Option<Vec<&Pair<'_>>> =
            all.iter().map(|pairs| pairs.iter().find(|pair| pair.block == first.block)).collect();
        let Some(of_block) = of_block else { continue };
        let logs = of_block.iter().map(|pair| pair.total_ns()).map(|(after, before)| (after / before).ln());
        ratios.push(((logs.sum::<f64>() / all.len() as f64).exp(), 1.0));
        let together: Option<f64> = of_block.iter().map(|pair| pair.pcost()).sum();
        pcosts.extend(together.map(|sum| sum / all.len() as f64));
    }
    Some(Overall {
        effect: what.effect,
        condition: what.condition,
        against: what.against,
        ratio: ratio(&ratios)?,
        pcost: mean(&pcosts)?,
    })
}

fn program(result: &CostResult) -> Vec<ProgramUse> {
    let of_condition = |condition: usize| {
        let trials = result.benchmarks.iter().flat_map(|b| &b.trials).filter(|t| t.condition == condition);
        let programs: Vec<ProgramTrial> = trials.filter_map(|t| t.program).collect();
        let known: Vec<(u64, u64)> = programs.iter().filter_map(|p| Some((p.cpu_ns?, p.wall_ns))).collect();
        let wall_ns: u64 = known.iter().map(|&(_, wall)| wall).sum();
        let cpu_ns: u64 = known.iter().map(|&(cpu, _)| cpu).sum();
        (!programs.is_empty()).then(|| ProgramUse {
            condition,
            processors: (wall_ns > 0).then(|| cpu_ns as f64 / wall_ns as f64),
            peak_rss_bytes: programs.iter().filter_map(|p| p.peak_rss_bytes).max(),
        })
    };
    (0..result.conditions.len()).filter_map(of_condition).collect()
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::Amount;

    use super::super::fixture::trial;
    use super::*;

    const WHAT: Compared = Compared { effect: Effect::Program, condition: 1, against: 0 };

    /// Blocks of two trials each; the machine gets slower from block to block, and the condition takes `factor`.
    fn drifting(factor: f64, blocks: u32) -> Vec<CostTrial> {
        let of_block = |block: u32| {
            let drift = 1e6 * (1.0 + 0.2 * f64::from(block));
            let noise = 1.0 + 0.002 * f64::from(block % 3);
            let before = trial(block, 0, &[drift, 3.0 * drift]);
            let after = trial(block, 1, &[drift * factor * noise, 3.0 * drift * factor]);
            [before.clone(), after.clone(), after, before]
        };
        (0..blocks).flat_map(of_block).collect()
    }

    #[test]
    fn a_cost_is_found_through_the_drift_of_the_machine() {
        let found = comparison(&drifting(1.05, 6), WHAT).unwrap();
        assert_eq!((found.outcome, found.blocks), (Outcome::Cost, 6));
        assert!(found.ratio.holds(1.05) || (found.ratio.value - 1.05).abs() < 0.002, "{:?}", found.ratio);
        assert!(found.spans.len() == 2 && found.spans[1].ratio.unwrap().holds(1.05));
        // Two spans of 5 % each: 2 * 0.05 / 2.05.
        assert!((found.pcost.value - 0.0488).abs() < 2e-3, "{:?}", found.pcost);
        let faster = comparison(&drifting(0.9, 6), WHAT).unwrap();
        assert_eq!(faster.outcome, Outcome::Faster);
    }

    #[test]
    fn without_a_slowdown_the_smallest_detectable_one_is_reported() {
        let mut trials = drifting(1.0, 8);
        for trial in &mut trials {
            let wild = 1.0 + 0.01 * f64::from(i32::from(trial.condition == 1) * (trial.block as i32 % 3 - 1));
            trial.total_ns *= wild;
        }
        let found = comparison(&trials, WHAT).unwrap();
        assert_eq!(found.outcome, Outcome::NoCost);
        assert!((0.001..0.1).contains(&found.smallest.unwrap()), "{:?}", found.smallest);
    }

    #[test]
    fn what_cannot_be_ruled_out_is_inconclusive() {
        // 12 % on average, from -2 to 29 %: no slowdown that is significant, and none that is ruled out.
        let factors = [1.02, 1.18, 1.05, 1.20, 1.04, 1.25];
        let pairs: Vec<(f64, f64)> = factors.iter().map(|factor| (*factor, 1.0)).collect();
        let (found, smallest) = outcome(&pairs);
        assert!(smallest.unwrap() < SAYS_NOTHING, "{smallest:?}");
        assert_eq!(found, Outcome::CannotTell);
        // As wide around none.
        let pairs: Vec<(f64, f64)> = factors.iter().map(|factor| (*factor, 1.12)).collect();
        assert_eq!(outcome(&pairs).0, Outcome::NoCost);
    }

    #[test]
    fn one_block_tells_nothing_but_its_number() {
        let found = comparison(&drifting(2.0, 1), WHAT).unwrap();
        assert_eq!((found.outcome, found.smallest, found.ratio.half_width), (Outcome::CannotTell, None, 0.0));
        assert!((found.ratio.value - 2.0).abs() < 1e-12);
        assert!(comparison(&drifting(2.0, 0), WHAT).is_none());
    }

    #[test]
    fn trials_that_failed_do_not_count() {
        let mut trials = drifting(1.05, 6);
        let mut wrong = trial(0, 1, &[]);
        wrong.failed = Some("it ended".into());
        trials.push(wrong);
        assert_eq!(comparison(&trials, WHAT).unwrap().spans.len(), 2);
    }

    #[test]
    fn a_resource_is_compared_by_the_blocks_that_know_it() {
        let mut trials = drifting(1.05, 4);
        for trial in &mut trials {
            let value = if trial.condition == 1 { 5e6 } else { 1e6 } * f64::from(trial.block + 1);
            trial.amounts = vec![
                Amount { resource: Resource::RunQueue, value },
                Amount { resource: Resource::MajorFaults, value: 0.0 },
            ];
        }
        let found = comparison(&trials, WHAT).unwrap();
        // A resource that no trial used is left out.
        assert_eq!(found.taken.len(), 1);
        assert!((found.taken[0].difference.value - 10e6).abs() < 1.0 && found.taken[0].before == 2.5e6);
        // Without the first block, which differs by 4 ms.
        trials[3].amounts.clear();
        assert!((comparison(&trials, WHAT).unwrap().taken[0].difference.value - 12e6).abs() < 1.0);
        trials[..12].iter_mut().for_each(|trial| trial.amounts.clear());
        assert!(comparison(&trials, WHAT).unwrap().taken.is_empty());
    }
}
