//! What was measured here, found again among the runs.

use std::collections::{BTreeMap, BTreeSet};

use netfathom_model::record::{
    Comparison, CostBenchmark, CostResult, CostTrial, Effect, Holds, Measured, ReproducedRun, Resource,
};
use netfathom_stats::{Contrast, Estimate, mean, pcost};

use crate::claim::{above, both};
use crate::rounds::Rounds;

/// From execve to the first file, and from file to file.
const PAPER_SPANS: usize = 6;

/// Whether each is more than the one before.
pub fn rises(all: &[Rounds]) -> Holds {
    all.windows(2).map(|pair| above(pair[1].less(&pair[0]).estimate(), 0.0)).fold(Holds::Yes, both)
}

/// Whether any is less than the one before, at a level of 95 % for all of them together (Bonferroni).
pub fn falls(all: &[Rounds]) -> bool {
    let level = 1.0 - 0.05 / all.len().saturating_sub(1).max(1) as f64;
    let is_less = |c: Contrast| c.interval(level).1 < 0.0;
    all.windows(2).any(|pair| Contrast::paired(&pair[1].less(&pair[0]).values()).is_some_and(is_less))
}

/// What a benchmark used of a resource.
pub fn amount(trial: &CostTrial, resource: Resource) -> Option<f64> {
    trial.amounts.iter().find(|amount| amount.resource == resource).map(|amount| amount.value)
}

/// The cost that was measured, and its one benchmark.
pub struct Ours<'a> {
    pub result: &'a CostResult,
    pub tar: &'a CostBenchmark,
}

impl<'a> Ours<'a> {
    /// Of the runs of an experiment; `None` before there are trials.
    pub fn of(runs: &'a [ReproducedRun]) -> Option<Self> {
        let result = runs.iter().find_map(|run| CostResult::of(&run.measurement))?;
        Some(Self { result, tar: result.benchmarks.first()? })
    }

    pub fn at(&self, level: &str, effect: Effect) -> Option<&'a Comparison> {
        let is = |c: &&Comparison| {
            let condition = self.result.conditions.get(c.condition);
            condition.and_then(|c| c.level.as_ref()).is_some_and(|l| l.text == level)
        };
        self.tar.of_effect(effect).find(is)
    }

    /// What is beside the paper's: its baseline had no load, so it is program and load together where there is one.
    pub fn beside(&self, level: &str) -> Option<&'a Comparison> {
        self.at(level, Effect::Both).or_else(|| self.at(level, Effect::Program))
    }

    /// PCost over the paper's spans, which end at the last file, from block to block.
    pub fn pcost(&self, of: &Comparison) -> Option<Estimate> {
        self.pcosts(of).estimate()
    }

    /// The same of each block.
    pub fn pcosts(&self, of: &Comparison) -> Rounds {
        let spans = |condition, block| {
            let trials = self.tar.trials.iter().filter(|t| t.condition == condition && t.block == block);
            // A block with a trial that failed does not count: the drift of the machine would be in it.
            let whole =
                |trial: &'a CostTrial| trial.spans_ns.get(..PAPER_SPANS).filter(|_| trial.failed.is_none());
            let all: Vec<&[f64]> = trials.map(whole).collect::<Option<_>>()?;
            let mean = |span: usize| all.iter().map(|spans| spans[span]).sum::<f64>() / all.len() as f64;
            (!all.is_empty()).then(|| (0..PAPER_SPANS).map(mean).collect::<Vec<f64>>())
        };
        let blocks: BTreeSet<u32> = self.tar.trials.iter().map(|trial| trial.block).collect();
        let of_block =
            |block| Some((block, pcost(&spans(of.against, block)?, &spans(of.condition, block)?)?));
        blocks.into_iter().filter_map(of_block).collect()
    }

    /// Something of the trials in a condition: the mean of each block in which all have it.
    pub fn blocks(&self, condition: usize, of: impl Fn(&CostTrial) -> Option<f64>) -> Rounds {
        let mut blocks: BTreeMap<u32, Vec<Option<f64>>> = BTreeMap::new();
        for trial in self.tar.trials.iter().filter(|trial| trial.condition == condition) {
            blocks.entry(trial.block).or_default().push(of(trial));
        }
        let whole = |(block, all): (u32, Vec<Option<f64>>)| {
            Some((block, mean(&all.into_iter().collect::<Option<Vec<f64>>>()?)))
        };
        blocks.into_iter().filter_map(whole).collect()
    }

    /// Total, user and system time of the benchmark in a condition, in seconds: the paper's own columns.
    pub fn times_s(&self, condition: usize) -> [Option<f64>; 3] {
        let trials =
            || self.tar.trials.iter().filter(move |t| t.condition == condition && t.failed.is_none());
        let mean_s = |values: Vec<f64>| (!values.is_empty()).then(|| mean(&values) / 1e9);
        let amount = |resource| mean_s(trials().filter_map(|trial| amount(trial, resource)).collect());
        let total = mean_s(trials().map(|trial| trial.total_ns).collect());
        [total, amount(Resource::UserCpu), amount(Resource::SystemCpu)]
    }

    /// Whether there is a load of its own.
    pub fn has_load(&self) -> bool {
        self.tar.of_effect(Effect::Load).next().is_some()
    }

    /// What is distinguished, and the words for it: without a load it is the program alone, which needs none.
    pub fn effects(&self) -> &'static [(Effect, &'static str)] {
        if !self.has_load() {
            return &[(Effect::Program, "")];
        }
        &[
            (Effect::Both, "with its load"),
            (Effect::Program, "beside its load"),
            (Effect::Load, "the load alone"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three times its error: significant by itself, and not as one of five.
    #[test]
    fn one_fall_of_several_is_decided_together_with_the_others() {
        let row = |of: fn(u32) -> f64| (0..6).map(|block| (block, of(block))).collect::<Rounds>();
        let (before, after) = (row(|_| 5.0), row(|block| if block % 2 == 0 { 4.745 } else { 3.255 }));
        assert!(falls(&[before.clone(), after.clone()]));
        assert!(!falls(&[&[before], &vec![after; 5][..]].concat()));
    }
}
