//! The distributions that records keep, by the name of what they are of.

use netfathom_stats as stats;

use super::Run;
use crate::quantity::{Pooled, pooled};

/// Those that both sides have, the runs of a side merged.
pub(super) fn both(pairs: &[(&Run, &Run)]) -> Vec<(Pooled, Pooled)> {
    let a = merged(pairs.iter().map(|pair| pooled(&pair.0.record.measurement)));
    let b = merged(pairs.iter().map(|pair| pooled(&pair.1.record.measurement)));
    a.into_iter()
        .filter_map(|of_a| {
            let of_b = b.iter().find(|of_b| of_b.name == of_a.name)?.clone();
            Some((of_a, of_b))
        })
        .collect()
}

fn merged(runs: impl Iterator<Item = Vec<Pooled>>) -> Vec<Pooled> {
    let mut all: Vec<Pooled> = Vec::new();
    for spread in runs.flatten() {
        match all.iter_mut().find(|known| known.name == spread.name) {
            // Buckets of another width do not add up.
            Some(known) if known.times.grain != spread.times.grain => {}
            Some(known) => {
                let mut sum = stats::Distribution::from(&known.times);
                sum.merge(&(&spread.times).into());
                known.times = (&sum).into();
            }
            None => all.push(spread),
        }
    }
    all
}
