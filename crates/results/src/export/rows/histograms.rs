//! A row a bucket.

use netfathom_model::record::{Export, Measurement};

use super::{Column, FieldKind, FieldValue, Table};
use crate::export::ExportError;
use crate::quantity::{Histogram, histograms};

const COLUMNS: [Column; 6] = [
    Column::required("measurement", FieldKind::Text),
    Column::required("histogram", FieldKind::Text),
    Column::optional("trial_index", FieldKind::Whole),
    Column::optional("low_ns", FieldKind::Whole),
    Column::required("high_ns", FieldKind::Whole),
    Column::required("count", FieldKind::Whole),
];

/// The buckets that hold anything; those below zero share a row that has no lower end.
pub fn table(measurement: &Measurement) -> Result<Table<'_>, ExportError> {
    let sets = histograms(measurement);
    if sets.is_empty() {
        return Err(ExportError::nothing("histograms", measurement, Export::Histograms));
    }
    let rows = sets.into_iter().flat_map(move |set| rows(measurement.name(), &set));
    Ok(Table { name: "histograms", columns: &COLUMNS, rows: Box::new(rows.map(Ok)) })
}

fn rows(measurement: &str, set: &Histogram<'_>) -> Vec<Vec<FieldValue>> {
    let row = |low: Option<u64>, high: u64, count: u64| {
        vec![
            measurement.into(),
            set.name.as_str().into(),
            FieldValue::whole(set.trial),
            FieldValue::whole(low),
            FieldValue::whole(Some(high)),
            FieldValue::whole(Some(count)),
        ]
    };
    let negative = (set.times.negative > 0).then(|| row(None, 0, set.times.negative));
    let buckets = set.buckets().map(|(low, high, count)| row(Some(low), high, count));
    negative.into_iter().chain(buckets).collect()
}
