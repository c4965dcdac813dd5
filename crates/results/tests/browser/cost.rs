//! The report of a cost to others: its pictures hold the record's own values, and every kind and gap is drawn.

use netfathom_model::record::{CostResult, Measurement, Record};

use crate::kinds::{of, stays_quiet};

/// The fixtures, each of another kind of cost.
const ALL: [&str; 5] = ["cost", "cost-chance", "cost-offline", "cost-own", "cost-observers"];

#[test]
fn every_kind_is_drawn() {
    for name in ALL {
        stays_quiet(name, &of(name));
    }
}
