//! Trials by block: what conditions of one block had, beside each other.

use std::collections::BTreeMap;

use netfathom_model::record::{CostTrial, Resource};

/// The trials that count of one condition in one block.
struct OfBlock<'a>(Vec<&'a CostTrial>);

pub struct Pair<'a> {
    pub block: u32,
    after: OfBlock<'a>,
    before: OfBlock<'a>,
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
    let pair = |(block, [after, before]): (u32, [Vec<_>; 2])| Pair {
        block,
        after: OfBlock(after),
        before: OfBlock(before),
    };
    blocks
        .into_iter()
        .map(pair)
        .filter(|pair| whole > 0 && pair.after.0.len() == whole && pair.before.0.len() == whole)
        .collect()
}

impl OfBlock<'_> {
    fn mean(&self, value: impl Fn(&CostTrial) -> f64) -> f64 {
        self.0.iter().map(|trial| value(trial)).sum::<f64>() / self.0.len() as f64
    }

    /// Geometric: of times, in which one long one is nothing unusual.
    fn usual(&self, value: impl Fn(&CostTrial) -> f64) -> f64 {
        self.mean(|trial| value(trial).ln()).exp()
    }

    fn spans_ns(&self) -> Vec<f64> {
        let spans = self.0.iter().map(|trial| trial.spans_ns.len()).min().unwrap_or(0);
        (0..spans).map(|span| self.mean(|trial| trial.spans_ns[span])).collect()
    }

    fn mean_of(&self, value: impl Fn(&CostTrial) -> Option<f64>) -> Option<f64> {
        let known: Option<Vec<f64>> = self.0.iter().map(|trial| value(trial)).collect();
        known.map(|all| netfathom_stats::mean(&all))
    }
}

impl Pair<'_> {
    /// Time from the first mark to the last, in the condition and in what it is compared with.
    pub fn total_ns(&self) -> (f64, f64) {
        (self.after.usual(|trial| trial.total_ns), self.before.usual(|trial| trial.total_ns))
    }

    pub fn span_ns(&self, span: usize) -> (f64, f64) {
        let of = |trials: &OfBlock<'_>| trials.mean(|t| t.spans_ns.get(span).copied().unwrap_or(f64::NAN));
        (of(&self.after), of(&self.before))
    }

    /// PCost of the block, 1 for 100 %: over all spans, or over the whole where the two have not the same ones.
    pub fn pcost(&self) -> Option<f64> {
        let of_spans = netfathom_stats::pcost(&self.before.spans_ns(), &self.after.spans_ns());
        let (after, before) = self.total_ns();
        of_spans.or_else(|| netfathom_stats::pcost(&[before], &[after]))
    }

    /// How many spans both have; none if they have not the same ones.
    pub fn spans(&self) -> usize {
        let (after, before) = (self.after.spans_ns().len(), self.before.spans_ns().len());
        if after == before { after } else { 0 }
    }

    /// The mean of a value that every trial has; `None` if one has not.
    pub fn means(&self, value: impl Fn(&CostTrial) -> Option<f64>) -> Option<(f64, f64)> {
        Some((self.after.mean_of(&value)?, self.before.mean_of(&value)?))
    }

    /// How much of a resource; `None` if it is not known of every trial.
    pub fn amount(&self, resource: Resource) -> Option<(f64, f64)> {
        self.means(|trial| trial.amounts.iter().find(|a| a.resource == resource).map(|a| a.value))
    }
}
