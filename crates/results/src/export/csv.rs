//! A table as comma-separated values: a line of column names, then a line a row (RFC 4180, UTF-8). An empty field is
//! a value that is not known.

use std::io::{self, Write};

use super::ExportError;
use super::rows::{FieldValue, Table};

pub fn write(out: &mut (dyn Write + Send), table: Table<'_>) -> Result<(), ExportError> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(table.columns.iter().map(|column| column.name)).map_err(refused)?;
    for row in table.rows {
        writer.write_record(row?.iter().map(text)).map_err(refused)?;
    }
    writer.flush()?;
    Ok(())
}

fn refused(error: csv::Error) -> ExportError {
    match error.into_kind() {
        csv::ErrorKind::Io(source) => ExportError::Io(source),
        other => ExportError::Io(io::Error::other(format!("{other:?}"))),
    }
}

fn text(cell: &FieldValue) -> String {
    match cell {
        FieldValue::Text(text) => text.clone(),
        FieldValue::Whole(value) => value.to_string(),
        // The shortest digits that are read back as the same number.
        FieldValue::Real(value) => value.to_string(),
        FieldValue::Flag(value) => value.to_string(),
        FieldValue::Empty => String::new(),
    }
}
