//! A row a quantity and trial.

use netfathom_model::record::Measurement;

use super::{Column, FieldKind, FieldValue, Table};
use crate::export::ExportError;
use crate::quantity::{self, Better, Quantity};

const COLUMNS: [Column; 8] = [
    Column::required("measurement", FieldKind::Text),
    Column::required("quantity", FieldKind::Text),
    Column::required("title", FieldKind::Text),
    Column::required("unit", FieldKind::Text),
    Column::required("better", FieldKind::Text),
    Column::required("main", FieldKind::Flag),
    Column::required("trial", FieldKind::Whole),
    Column::required("value", FieldKind::Real),
];

fn better(better: Better) -> &'static str {
    match better {
        Better::Less => "less",
        Better::More => "more",
    }
}

/// All that the measurement says. Trials are counted from 1 among those that count for the quantity.
pub fn table(measurement: &Measurement) -> Result<Table<'_>, ExportError> {
    let quantities = quantity::of(measurement);
    if quantities.is_empty() {
        let why = "not one trial of it came to an end that counts".into();
        return Err(ExportError::Empty { wanted: "a table of trials".into(), why });
    }
    let rows = quantities.into_iter().flat_map(move |quantity| rows(measurement.name(), &quantity));
    Ok(Table { name: "trials", columns: &COLUMNS, rows: Box::new(rows.map(Ok)) })
}

fn rows(measurement: &str, quantity: &Quantity) -> Vec<Vec<FieldValue>> {
    let row = |(trial, &value): (usize, &f64)| {
        vec![
            measurement.into(),
            quantity.name.as_str().into(),
            quantity.title.as_str().into(),
            quantity.unit.short().into(),
            better(quantity.better).into(),
            FieldValue::Flag(quantity.main),
            FieldValue::Whole(trial as i64 + 1),
            FieldValue::Real(value),
        ]
    };
    quantity.trials.iter().enumerate().map(row).collect()
}
