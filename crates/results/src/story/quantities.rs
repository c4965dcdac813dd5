//! Every quantity of a run in one table.

use netfathom_model::print::NOT_KNOWN;
use netfathom_model::record::Record;

use crate::page::{Page, Table};
use crate::quantity::{self, Quantity, Unit};

/// Rows of the table; the record has the rest.
const MOST_ROWS: usize = 200;

/// A section with them, where there are any.
pub fn draw(page: &mut Page, record: &Record) {
    let all = quantity::of(&record.measurement);
    if all.is_empty() {
        return;
    }
    let mut table = Table::of("<quantity|<unit|trials|mean|least|most");
    for quantity in all.iter().take(MOST_ROWS) {
        if quantity.main { table.row_strong(row(quantity)) } else { table.row(row(quantity)) }
    }
    page.heading("Every quantity");
    page.table(table);
    if all.len() > MOST_ROWS {
        page.note(&format!("{} more quantities are in the record.", all.len() - MOST_ROWS));
    }
}

fn row(quantity: &Quantity) -> [String; 6] {
    let values = &quantity.trials;
    let mean = netfathom_stats::mean(values);
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (unit, in_unit) = unit(quantity.unit);
    let [mean, least, most] = [mean, least, most].map(|value| number(in_unit(value)));
    [quantity.title.clone(), unit.into(), values.len().to_string(), mean, least, most]
}

/// What a row is counted in, and a value in it.
fn unit(unit: Unit) -> (&'static str, fn(f64) -> f64) {
    match unit {
        Unit::Nanoseconds => ("µs", |ns| ns / 1e3),
        Unit::PerSecond => ("/s", |value| value),
        Unit::BytesPerSecond => ("MB/s", |bytes| bytes / 1e6),
        Unit::Share => ("%", |part| part * 100.0),
        Unit::Ratio => ("×", |value| value),
        Unit::Count => ("", |value| value),
    }
}

/// Four digits that count.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return NOT_KNOWN.into();
    }
    if !(1e-4..1e15).contains(&value.abs()) && value != 0.0 {
        return format!("{value:.3e}");
    }
    let digits = if value == 0.0 { 0 } else { (3 - value.abs().log10().floor() as i32).max(0) };
    format!("{value:.*}", digits.unsigned_abs() as usize)
}
