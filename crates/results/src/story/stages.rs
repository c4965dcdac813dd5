//! The table of the stages that a message passes.

use netfathom_model::record::Distribution;

use super::number;
use crate::page::{Cell, Table};

/// The longest bar; more would not be read more closely.
const LONGEST_BAR: usize = 24;

/// What stands under the table where it is so.
pub(super) const PARTLY: &str = "n below the total's: mean over the messages in that stage, share over all";

pub(super) fn new_table() -> Table {
    Table::of("<stage|n|mean|p50|p99|p99.9|share|<").bars(7, LONGEST_BAR)
}

/// Beside a stage's part of a mean over `all` messages: the mean over those that passed it.
pub(super) fn each(d: &Distribution, all: u64) -> Option<String> {
    let passed = d.n as f64 / all as f64;
    (d.n < all).then(|| format!("{} passed, {} each", number::percent(passed), number::mean(d.mean_ns)))
}

/// A stage, with the share that has the longest bar.
pub(super) fn row(table: &mut Table, name: &str, d: &Distribution, share: Option<f64>, most: f64) {
    let q = |ns| number::quantile(d, ns);
    table.row([
        name.into(),
        number::short_count(d.n).into(),
        if d.n > 0 { number::mean(d.mean_ns).into() } else { "-".into() },
        q(d.p50_ns).into(),
        q(d.p99_ns).into(),
        q(d.p999_ns).into(),
        share.map_or_else(|| "-".into(), number::percent).into(),
        share.map_or_else(|| "".into(), |share| Cell::Bar { bar: share / most }),
    ]);
}
