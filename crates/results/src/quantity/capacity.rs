//! Of `netfathom capacity`.

use netfathom_model::print::counted;
use netfathom_model::record::{Bounded, CapacityResult, CapacityRow, Search};
use serde_json::Value;

use super::{Figures, Quantity, plan_with, word};

impl Figures for CapacityResult {
    /// The rates of each engine and number of workers, a value a search: on schedule, and sustained; and the inferred rate.
    fn quantities(&self) -> Vec<Quantity> {
        let mut all: Vec<Quantity> = self.rows.iter().flat_map(of_row).collect();
        all.push(Quantity::rate(
            "inferred",
            "load capability inferred from the stack time",
            self.trusted_inference().into_iter().map(|i| i.theoretical_per_s),
        ));
        all
    }

    fn plan(&self) -> Value {
        plan_with(&self.plan, &[])
    }
}

fn of_row(row: &CapacityRow) -> [Quantity; 4] {
    let prefix = format!("{}.{}", word(row.engine.name()), row.workers);
    let who = format!("{}, {}", row.engine.name(), counted(row.workers, "worker"));
    let found = |rate: fn(&Search) -> Option<f64>| row.searches.iter().filter_map(rate).collect::<Vec<_>>();
    // Its bursts are not kept one by one.
    let flat_out = row.flat_out_per_s.iter().map(|bursts: &Bounded| bursts.mean_per_s);
    [
        Quantity::rate(
            format!("{prefix}.capacity"),
            format!("{who}: on schedule"),
            found(|s| s.capacity_per_s),
        )
        .main(true),
        Quantity::rate(
            format!("{prefix}.sustained"),
            format!("{who}: sustained"),
            found(|s| s.sustained_per_s),
        )
        .main(true),
        Quantity::rate(
            format!("{prefix}.blocking"),
            format!("{who}: sustained with a sleeping receiver"),
            row.blocking.iter().filter_map(|s| s.sustained_per_s),
        ),
        Quantity::rate(format!("{prefix}.flat_out"), format!("{who}: in bursts, mean"), flat_out),
    ]
}
