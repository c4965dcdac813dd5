//! Of `netfathom reproduce`.

use netfathom_model::record::{ReproduceResult, ReproducedRun};

use super::{Quantity, word};

/// What each of its measurements says, with the measurement's name before it.
pub fn of(result: &ReproduceResult) -> Vec<Quantity> {
    result.runs.iter().flat_map(of_run).collect()
}

fn of_run(run: &ReproducedRun) -> impl Iterator<Item = Quantity> {
    super::of(&run.measurement).into_iter().map(|quantity| Quantity {
        name: format!("{}.{}", word(&run.name), quantity.name),
        title: format!("{}: {}", run.name, quantity.title),
        ..quantity
    })
}
