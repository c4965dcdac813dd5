//! A row a window of time.

use netfathom_model::record::Measurement;

use super::{Cell, Column, Kind, Table};
use crate::export::ExportError;
use crate::quantity::{Curve, Point, curves};

const COLUMNS: [Column; 10] = [
    Column::required("measurement", Kind::Text),
    Column::required("series", Kind::Text),
    Column::required("unit", Kind::Text),
    Column::optional("trial_index", Kind::Whole),
    Column::required("start_ns", Kind::Whole),
    Column::required("end_ns", Kind::Whole),
    Column::optional("n", Kind::Whole),
    Column::optional("value", Kind::Real),
    Column::optional("min", Kind::Real),
    Column::optional("max", Kind::Real),
];
const HAS: &str = "netfathom stack, load send, reverse, join and reproduce, and of ttcp with --explain";

/// What the record says over time, from the start of each trial.
pub fn table(measurement: &Measurement) -> Result<Table<'_>, ExportError> {
    let curves = curves(measurement);
    if curves.is_empty() {
        return Err(ExportError::nothing("series", measurement, HAS));
    }
    let rows = curves.into_iter().flat_map(move |curve| rows(measurement.name(), &curve));
    Ok(Table { name: "series", columns: &COLUMNS, rows: Box::new(rows.map(Ok)) })
}

fn rows(measurement: &str, curve: &Curve) -> Vec<Vec<Cell>> {
    let row = |point: &Point| {
        vec![
            measurement.into(),
            curve.name.as_str().into(),
            curve.unit.into(),
            Cell::whole(curve.trial),
            Cell::whole(Some(point.start_ns)),
            Cell::whole(Some(point.end_ns)),
            Cell::whole(point.n),
            Cell::real(point.value),
            Cell::real(point.min),
            Cell::real(point.max),
        ]
    };
    curve.points.iter().map(row).collect()
}
