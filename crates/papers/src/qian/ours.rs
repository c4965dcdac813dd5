//! What was measured here, found again among the runs.

use netfathom_model::record::{Comparison, CostBenchmark, CostResult, Effect, Measurement, ReproducedRun};

/// The cost that was measured, and its one benchmark.
pub struct Ours<'a> {
    pub result: &'a CostResult,
    pub tar: &'a CostBenchmark,
}

impl<'a> Ours<'a> {
    /// Of the runs of an experiment; `None` before there are trials.
    pub fn of(runs: &'a [ReproducedRun]) -> Option<Self> {
        let result = runs.iter().find_map(|run| match &run.measurement {
            Measurement::Cost(result) => Some(result.as_ref()),
            _ => None,
        })?;
        Some(Self { result, tar: result.benchmarks.first()? })
    }

    /// What is said of a level.
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

    /// Whether there is a load of its own.
    pub fn has_load(&self) -> bool {
        self.tar.of_effect(Effect::Load).next().is_some()
    }
}
