//! A row a window of time.

use netfathom_model::record::{Export, Measurement};

use super::{Column, FieldKind, FieldValue, Table};
use crate::export::ExportError;
use crate::quantity::{Curve, Point, curves};

const COLUMNS: [Column; 10] = [
    Column::required("measurement", FieldKind::Text),
    Column::required("series", FieldKind::Text),
    Column::required("unit", FieldKind::Text),
    Column::optional("trial_index", FieldKind::Whole),
    Column::required("start_ns", FieldKind::Whole),
    Column::required("end_ns", FieldKind::Whole),
    Column::optional("n", FieldKind::Whole),
    Column::optional("value", FieldKind::Real),
    Column::optional("min", FieldKind::Real),
    Column::optional("max", FieldKind::Real),
];

/// What the record says over time, from the start of each trial.
pub fn table(measurement: &Measurement) -> Result<Table<'_>, ExportError> {
    let curves = curves(measurement);
    if curves.is_empty() {
        return Err(ExportError::nothing("series", measurement, Export::Series));
    }
    let rows = curves.into_iter().flat_map(move |curve| rows(measurement.name(), &curve));
    Ok(Table { name: "series", columns: &COLUMNS, rows: Box::new(rows.map(Ok)) })
}

fn rows(measurement: &str, curve: &Curve) -> Vec<Vec<FieldValue>> {
    let row = |point: &Point| {
        vec![
            measurement.into(),
            curve.name.as_str().into(),
            curve.unit.into(),
            FieldValue::whole(curve.trial),
            FieldValue::whole(Some(point.start_ns)),
            FieldValue::whole(Some(point.end_ns)),
            FieldValue::whole(point.n),
            FieldValue::real(point.value),
            FieldValue::real(point.min),
            FieldValue::real(point.max),
        ]
    };
    curve.points.iter().map(row).collect()
}
