//! A table as Apache Parquet: texts as UTF8, whole numbers as INT64, numbers as DOUBLE, flags as BOOLEAN.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use super::ExportError;
use super::rows::{Column, FieldKind, FieldValue, Table};
use crate::store::samples::put_column;

/// Rows in a row group: what is in memory at once.
const GROUP_ROWS: usize = 100_000;

pub fn write(out: &mut (dyn Write + Send), mut table: Table<'_>) -> std::result::Result<(), ExportError> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let schema = schema(table.name, &table.columns)?;
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
    loop {
        let rows = table.rows.by_ref().take(GROUP_ROWS).collect::<std::result::Result<Vec<_>, _>>()?;
        if rows.is_empty() {
            break;
        }
        let mut group = writer.next_row_group()?;
        for (place, column) in table.columns.iter().enumerate() {
            let (cells, optional) = (rows.iter().map(|row| &row[place]), column.optional);
            match column.kind {
                FieldKind::Text => put_column::<ByteArrayType, _>(&mut group, optional, cells.map(text))?,
                FieldKind::Whole => put_column::<Int64Type, _>(&mut group, optional, cells.map(whole))?,
                FieldKind::Real => put_column::<DoubleType, _>(&mut group, optional, cells.map(real))?,
                FieldKind::Flag => put_column::<BoolType, _>(&mut group, optional, cells.map(flag))?,
            }
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

fn schema(name: &str, columns: &[Column]) -> Result<TypePtr> {
    let field = |column: &Column| {
        let (physical, logical) = match column.kind {
            FieldKind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            FieldKind::Whole => (PhysicalType::INT64, None),
            FieldKind::Real => (PhysicalType::DOUBLE, None),
            FieldKind::Flag => (PhysicalType::BOOLEAN, None),
        };
        let repetition = if column.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let builder = Type::primitive_type_builder(column.name, physical);
        builder.with_repetition(repetition).with_logical_type(logical).build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<_>>()?;
    Type::group_type_builder(name).with_fields(fields).build().map(Arc::new)
}

fn text(cell: &FieldValue) -> Option<ByteArray> {
    if let FieldValue::Text(text) = cell { Some(text.as_str().into()) } else { None }
}

fn whole(cell: &FieldValue) -> Option<i64> {
    if let FieldValue::Whole(value) = cell { Some(*value) } else { None }
}

fn real(cell: &FieldValue) -> Option<f64> {
    if let FieldValue::Real(value) = cell { Some(*value) } else { None }
}

fn flag(cell: &FieldValue) -> Option<bool> {
    if let FieldValue::Flag(value) = cell { Some(*value) } else { None }
}
