//! What changes how times of two sides read, as far as the runs show it.

use netfathom_model::print;
use netfathom_model::record::Record;

use super::{Compared, Comparison, Run};
use crate::quantity::Beside;

/// From this part on rates of messages are another load.
const OTHER_LOAD: f64 = 0.05;

/// Adds it before the cautions about the runs, which may be many.
pub(super) fn caution(comparison: &mut Comparison, pairs: &[(&Run, &Run)]) {
    let (a, b): (Vec<&Record>, Vec<&Record>) = pairs.iter().map(|(a, b)| (&a.record, &b.record)).unzip();
    let Some(beside) = Beside::of(&a, &b) else { return };
    comparison.b_dropped = beside.b_dropped;
    let loads = other_load(&comparison.quantities);
    let all: Vec<String> = beside.drops.into_iter().chain(loads).chain(beside.stages).collect();
    comparison.cautions.splice(..0, all);
}

fn other_load(quantities: &[Compared]) -> Option<String> {
    let differs = |q: &&Compared| q.a_mean.max(q.b_mean) > (1.0 + OTHER_LOAD) * q.a_mean.min(q.b_mean);
    let rates = quantities.iter().filter(|q| ["rate", "tx.rate"].contains(&q.name.as_str())).filter(differs);
    let rates = rates.map(|q| {
        let [a, b] = [q.a_mean, q.b_mean].map(print::rate);
        format!("{} {a} in A, {b} in B", q.name)
    });
    let rates: Vec<String> = rates.collect();
    let why = "times may differ for that alone";
    (!rates.is_empty()).then(|| format!("the load differs ({}): {why}", rates.join("; ")))
}
