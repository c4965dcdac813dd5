//! A row a message: `samples.parquet` as it is.

use std::path::Path;

use netfathom_model::sample::Sample;

use super::{Column, FieldKind, FieldValue, Table};
use crate::export::ExportError;
use crate::store::samples::{self, Field};

const COLUMNS: [Column; samples::FIELDS.len()] = columns();

const fn columns() -> [Column; samples::FIELDS.len()] {
    let mut columns = [Column::required("", FieldKind::Whole); samples::FIELDS.len()];
    let mut i = 0;
    while i < columns.len() {
        columns[i] = match samples::FIELDS[i] {
            Field::Required(name, ..) => Column::required(name, FieldKind::Whole),
            Field::Optional(name, ..) => Column::optional(name, FieldKind::Whole),
        };
        i += 1;
    }
    columns
}

/// The messages of a file, read as they are written.
pub fn table(file: &Path) -> Result<Table<'static>, ExportError> {
    let rows = samples::rows(file)?.map(|sample| Ok(row(&sample?)));
    Ok(Table { name: "samples", columns: &COLUMNS, rows: Box::new(rows) })
}

fn row(sample: &Sample) -> Vec<FieldValue> {
    samples::FIELDS
        .iter()
        .map(|field| match field {
            Field::Required(_, get, _) => FieldValue::whole(Some(get(sample))),
            Field::Optional(_, get, _) => FieldValue::whole(get(sample)),
        })
        .collect()
}
