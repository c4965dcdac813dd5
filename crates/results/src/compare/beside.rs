//! What changes how times of two sides read, as far as the runs show it.

use netfathom_model::print;
use netfathom_model::record::Record;

use super::{Compared, Comparison, Run};
use crate::quantity::Beside;

/// Rates that differ by more than this part are of another load.
const OTHER_LOAD: f64 = 0.05;

/// Adds these cautions before those about the runs, which may be many.
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
    let words =
        |q: &Compared| format!("{} {} in A, {} in B", q.name, print::rate(q.a_mean), print::rate(q.b_mean));
    let rates: Vec<String> = rates.map(words).collect();
    (!rates.is_empty())
        .then(|| format!("the load differs ({}): times may differ for that alone", rates.join("; ")))
}
