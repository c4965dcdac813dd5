//! Trials by block: what conditions of one block had, beside each other.

use std::collections::BTreeMap;

use netfathom_model::record::{CostTrial, Resource};

/// The trials that count of two conditions in one block.
pub struct Pair<'a> {
    pub block: u32,
    after: Vec<&'a CostTrial>,
    before: Vec<&'a CostTrial>,
}

/// The blocks that both conditions have whole, there and back: half a block has the drift of the machine in it.
pub fn pairs(trials: &[CostTrial], condition: usize, against: usize) -> Vec<Pair<'_>> {
    let mut blocks: BTreeMap<u32, [Vec<&CostTrial>; 2]> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.failed.is_none()) {
        let of_block = blocks.entry(trial.block).or_default();
        if trial.condition == condition {
            of_block[0].push(trial);
        } else if trial.condition == against {
            of_block[1].push(trial);
        }
    }
    // One, where times were taken elsewhere.
    let whole = blocks.values().flatten().map(Vec::len).max().unwrap_or(0);
    blocks
        .into_iter()
        .filter(|(_, both)| whole > 0 && both.iter().all(|trials| trials.len() == whole))
        .map(|(block, [after, before])| Pair { block, after, before })
        .collect()
}

fn mean(trials: &[&CostTrial], value: impl Fn(&CostTrial) -> f64) -> f64 {
    trials.iter().map(|trial| value(trial)).sum::<f64>() / trials.len() as f64
}

fn spans_ns(trials: &[&CostTrial]) -> Vec<f64> {
    let spans = trials.iter().map(|trial| trial.spans_ns.len()).min().unwrap_or(0);
    (0..spans).map(|span| mean(trials, |trial| trial.spans_ns[span])).collect()
}

impl Pair<'_> {
    /// Time from the first mark to the last, in the condition and in what it is compared with.
    pub fn total_ns(&self) -> (f64, f64) {
        // Geometric: of times, in which one long one is nothing unusual.
        let of = |trials: &[&CostTrial]| mean(trials, |trial| trial.total_ns.ln()).exp();
        (of(&self.after), of(&self.before))
    }

    pub fn span_ns(&self, span: usize) -> (f64, f64) {
        let of = |trials: &[&CostTrial]| mean(trials, |t| t.spans_ns.get(span).copied().unwrap_or(f64::NAN));
        (of(&self.after), of(&self.before))
    }

    /// PCost of the block, 1 for 100 %: over all spans, or over the whole where the two have not the same ones.
    pub fn pcost(&self) -> Option<f64> {
        let of_spans = netfathom_stats::pcost(&spans_ns(&self.before), &spans_ns(&self.after));
        let (after, before) = self.total_ns();
        of_spans.or_else(|| netfathom_stats::pcost(&[before], &[after]))
    }

    /// How many spans both have; none if they have not the same ones.
    pub fn spans(&self) -> usize {
        let (after, before) = (spans_ns(&self.after).len(), spans_ns(&self.before).len());
        if after == before { after } else { 0 }
    }

    /// The mean of a value that every trial has; `None` if one has not.
    pub fn means(&self, value: impl Fn(&CostTrial) -> Option<f64>) -> Option<(f64, f64)> {
        let of = |trials: &[&CostTrial]| {
            let known: Option<Vec<f64>> = trials.iter().map(|trial| value(trial)).collect();
            known.map(|all| netfathom_stats::mean(&all))
        };
        Some((of(&self.after)?, of(&self.before)?))
    }

    /// How much of a resource; `None` if it is not known of every trial.
    pub fn amount(&self, resource: Resource) -> Option<(f64, f64)> {
        self.means(|trial| trial.amounts.iter().find(|a| a.resource == resource).map(|a| a.value))
    }
}
