//! Of `netfathom capacity`.

use netfathom_model::print::counted;
use netfathom_model::record::{CapacityResult, CapacityRow, Search};
use netfathom_model::verdict::{Level, Verdict};

use super::{Figures, Quantity, word};

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

    /// That of its row; what is inferred rests on all of them.
    fn level(&self, verdict: &Verdict, name: &str) -> Level {
        let is_of = |row: &&CapacityRow| name.starts_with(&format!("{}.", prefix(row)));
        let row = self.rows.iter().find(is_of);
        row.map_or(verdict.level, |row| row.verdict.level.max(verdict.of_whole()))
    }
}

fn prefix(row: &CapacityRow) -> String {
    format!("{}.{}", word(row.engine.name()), row.workers)
}

fn of_row(row: &CapacityRow) -> [Quantity; 4] {
    let prefix = prefix(row);
    let who = format!("{}, {}", row.engine.name(), counted(row.workers, "worker"));
    let of = |what: &str, title: &str, rates: Vec<f64>| {
        Quantity::rate(format!("{prefix}.{what}"), format!("{who}: {title}"), rates)
    };
    let found = |rate: fn(&Search) -> Option<f64>| row.searches.iter().filter_map(rate).collect::<Vec<_>>();
    let asleep = row.blocking.iter().filter_map(|s| s.sustained_per_s).collect();
    // Its bursts are not kept one by one.
    let flat_out = row.flat_out_per_s.iter().map(|bursts| bursts.mean_per_s).collect();
    [
        of("capacity", "on schedule", found(|s| s.capacity_per_s)).main(true),
        of("sustained", "sustained", found(|s| s.sustained_per_s)).main(true),
        of("blocking", "sustained with a sleeping receiver", asleep),
        of("flat_out", "in bursts, mean", flat_out),
    ]
}
