//! Every quantity of a run in one table.

use netfathom_model::record::Record;

use super::escape;
use crate::quantity::{self, Quantity, Unit};

/// Rows of the table; the record has the rest.
const MOST_ROWS: usize = 200;

/// Draws them, where there are any.
pub fn draw(text: &mut String, record: &Record) {
    let all = quantity::of(&record.measurement);
    if all.is_empty() {
        return;
    }
    if !text.ends_with("\n\n") {
        text.push('\n');
    }
    text.push_str("## Every quantity\n\n| quantity | unit | trials | mean | least | most |\n");
    text.push_str("| :-- | :-- | --: | --: | --: | --: |\n");
    all.iter().take(MOST_ROWS).for_each(|quantity| text.push_str(&row(quantity)));
    if all.len() > MOST_ROWS {
        text.push_str(&format!(
            "\n{} more quantities were left out here; the record has them all\n",
            all.len() - MOST_ROWS
        ));
    }
}

fn row(quantity: &Quantity) -> String {
    let values = &quantity.trials;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let [mean, least, most] = [mean, least, most].map(|value| number(quantity.unit, value));
    let title = escape::inline(&quantity.title);
    let title = if quantity.main { format!("**{title}**") } else { title };
    format!("| {title} | {} | {} | {mean} | {least} | {most} |\n", unit(quantity.unit), values.len())
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "µs",
        Unit::PerSecond => "/s",
        Unit::BytesPerSecond => "MB/s",
        Unit::Share => "%",
        Unit::Ratio => "×",
        Unit::Count => "",
    }
}

/// Four digits that count, in the unit of the row.
fn number(unit: Unit, value: f64) -> String {
    let value = match unit {
        Unit::Nanoseconds => value / 1e3,
        Unit::BytesPerSecond => value / 1e6,
        Unit::Share => value * 100.0,
        Unit::PerSecond | Unit::Ratio | Unit::Count => value,
    };
    if !(1e-4..1e15).contains(&value.abs()) && value != 0.0 {
        return format!("{value:.3e}");
    }
    let digits = if value == 0.0 { 0 } else { (3 - value.abs().log10().floor() as i32).max(0) };
    format!("{value:.*}", digits.unsigned_abs() as usize)
}
