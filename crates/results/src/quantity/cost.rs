//! Of `netfathom cost`.

use std::collections::BTreeMap;

use netfathom_model::plan::CostPlan;
use netfathom_model::record::{Comparison, CostBenchmark, CostResult, CostTrial};

use super::{Better, Figures, Quantity, Unit, word};

impl Figures for CostResult {
    /// What each benchmark takes in each condition, and how many times that is of what it is compared with, block by
    /// block.
    fn quantities(&self) -> Vec<Quantity> {
        let headline = self.headline();
        let mut all = Vec::new();
        for benchmark in &self.benchmarks {
            let any = benchmark.of_effect(headline).next().is_some();
            let is_alone = self.plan.as_ref().is_some_and(CostPlan::is_alone);
            all.extend(is_alone.then(|| alone(self, benchmark)));
            let slowdowns = benchmark.comparisons.iter();
            let main = |c: &Comparison| c.effect == headline && !is_alone;
            all.extend(slowdowns.map(|c| slowdown(self, benchmark, c).main(main(c))));
            for (place, condition) in self.conditions.iter().enumerate() {
                // A program that was only looked at has nothing beside it: its time is what was measured.
                all.extend(times(benchmark, place, &condition.name, !any));
            }
        }
        all
    }

    /// A command that was timed by itself.
    fn asked(&self) -> Option<&'static str> {
        self.plan.as_ref()?.timed().map(|_| "benchmarks.")
    }
}

/// What it takes: with nothing beside it, its conditions are samples of one thing. That of a command has one name, so
/// that any two can be compared.
fn alone(result: &CostResult, benchmark: &CostBenchmark) -> Quantity {
    let is_command = result.plan.as_ref().is_some_and(|plan| plan.timed().is_some());
    let name = if is_command { "command".into() } else { word(&benchmark.name) };
    let armed = |trial: &&CostTrial| result.conditions.get(trial.condition).is_some_and(|c| c.armed);
    let times = counted(benchmark).filter(armed).map(|trial| trial.total_ns);
    Quantity::time(format!("{name}.time"), format!("{}: time", benchmark.name), times).main(true)
}

/// A block's time in the condition as a multiple of that in the other.
fn slowdown(result: &CostResult, benchmark: &CostBenchmark, comparison: &Comparison) -> Quantity {
    let name = |place: usize| result.conditions.get(place).map_or("unknown", |c| c.name.as_str());
    let (condition, against) = (name(comparison.condition), name(comparison.against));
    let ratios = blocks(benchmark, comparison.condition, comparison.against);
    Quantity::new(
        (
            format!("{}.{}.over.{}", word(&benchmark.name), word(condition), word(against)),
            format!("{}, slowdown: {condition}, over {against}", benchmark.name),
        ),
        (Unit::Ratio, Better::Less),
        ratios,
    )
}

/// The ratios of the blocks that have both conditions whole.
fn blocks(benchmark: &CostBenchmark, condition: usize, against: usize) -> Vec<f64> {
    let mut blocks: BTreeMap<u32, [Vec<f64>; 2]> = BTreeMap::new();
    for trial in counted(benchmark).filter(|trial| trial.total_ns > 0.0) {
        let of_block = blocks.entry(trial.block).or_default();
        if trial.condition == condition {
            of_block[0].push(trial.total_ns.ln());
        } else if trial.condition == against {
            of_block[1].push(trial.total_ns.ln());
        }
    }
    // There and back; half a block has the drift of the machine in it.
    let whole = blocks.values().flatten().map(Vec::len).max().unwrap_or(0);
    let both = blocks.into_values().filter(|block| whole > 0 && block.iter().all(|of| of.len() == whole));
    both.map(|[after, before]| (netfathom_stats::mean(&after) - netfathom_stats::mean(&before)).exp())
        .collect()
}

fn times(benchmark: &CostBenchmark, place: usize, condition: &str, main: bool) -> Vec<Quantity> {
    let trials: Vec<&CostTrial> = counted(benchmark).filter(|trial| trial.condition == place).collect();
    let named = |what: &str| format!("{}.{}.{}", word(&benchmark.name), word(condition), word(what));
    let who = format!("{}, {condition}", benchmark.name);
    let total =
        Quantity::time(named("time"), format!("{who}: time"), trials.iter().map(|t| t.total_ns)).main(main);
    let span = |(number, name): (usize, &String)| {
        let of_span = trials.iter().filter_map(|trial| trial.spans_ns.get(number).copied());
        Quantity::time(format!("{}.span", named(name)), format!("{who}: {name}"), of_span)
    };
    std::iter::once(total).chain(benchmark.spans.iter().enumerate().map(span)).collect()
}

fn counted(benchmark: &CostBenchmark) -> impl Iterator<Item = &CostTrial> {
    benchmark.trials.iter().filter(|trial| trial.failed.is_none())
}
