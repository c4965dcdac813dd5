//! A row a quantity and trial.

use netfathom_model::record::Measurement;

use super::{Cell, Column, Kind, Table};
use crate::export::ExportError;
use crate::quantity::{self, Better, Quantity};

const COLUMNS: [Column; 8] = [
    Column::required("measurement", Kind::Text),
    Column::required("quantity", Kind::Text),
    Column::required("title", Kind::Text),
    Column::required("unit", Kind::Text),
    Column::required("better", Kind::Text),
    Column::required("main", Kind::Flag),
    Column::required("trial", Kind::Whole),
    Column::required("value", Kind::Real),
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

fn rows(measurement: &str, quantity: &Quantity) -> Vec<Vec<Cell>> {
    let row = |(trial, &value): (usize, &f64)| {
        vec![
            measurement.into(),
            quantity.name.as_str().into(),
            quantity.title.as_str().into(),
            quantity.unit.short().into(),
            better(quantity.better).into(),
            Cell::Flag(quantity.main),
            Cell::Whole(trial as i64 + 1),
            Cell::Real(value),
        ]
    };
    quantity.trials.iter().enumerate().map(row).collect()
}
