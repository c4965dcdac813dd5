//! A table as Apache Parquet: texts as UTF8, whole numbers as INT64, numbers as DOUBLE, flags as BOOLEAN.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use super::ExportError;
use super::rows::{Cell, Column, Kind, Table};

/// Rows in a row group: what is in memory at once.
const GROUP_ROWS: usize = 100_000;

pub fn write(out: &mut (dyn Write + Send), mut table: Table<'_>) -> std::result::Result<(), ExportError> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let schema = schema(table.name, table.columns)?;
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
    loop {
        let rows = table.rows.by_ref().take(GROUP_ROWS).collect::<std::result::Result<Vec<_>, _>>()?;
        if rows.is_empty() {
            break;
        }
        let mut group = writer.next_row_group()?;
        for (place, column) in table.columns.iter().enumerate() {
            let cells = rows.iter().map(|row| &row[place]);
            match column.kind {
                Kind::Text => put::<ByteArrayType, _>(&mut group, column, cells, text)?,
                Kind::Whole => put::<Int64Type, _>(&mut group, column, cells, whole)?,
                Kind::Real => put::<DoubleType, _>(&mut group, column, cells, real)?,
                Kind::Flag => put::<BoolType, _>(&mut group, column, cells, flag)?,
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
            Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Whole => (PhysicalType::INT64, None),
            Kind::Real => (PhysicalType::DOUBLE, None),
            Kind::Flag => (PhysicalType::BOOLEAN, None),
        };
        let repetition = if column.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let builder = Type::primitive_type_builder(column.name, physical);
        builder.with_repetition(repetition).with_logical_type(logical).build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<_>>()?;
    Type::group_type_builder(name).with_fields(fields).build().map(Arc::new)
}

fn text(cell: &Cell) -> Option<ByteArray> {
    if let Cell::Text(text) = cell { Some(text.as_str().into()) } else { None }
}

fn whole(cell: &Cell) -> Option<i64> {
    if let Cell::Whole(value) = cell { Some(*value) } else { None }
}

fn real(cell: &Cell) -> Option<f64> {
    if let Cell::Real(value) = cell { Some(*value) } else { None }
}

fn flag(cell: &Cell) -> Option<bool> {
    if let Cell::Flag(value) = cell { Some(*value) } else { None }
}

fn put<'a, T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &Column,
    cells: impl Iterator<Item = &'a Cell>,
    value: fn(&Cell) -> Option<T::T>,
) -> Result<()> {
    let fewer = || ParquetError::General("fewer columns than fields".into());
    let mut writer = group.next_column()?.ok_or_else(fewer)?;
    let cells: Vec<Option<T::T>> = cells.map(value).collect();
    let levels: Option<Vec<i16>> =
        column.optional.then(|| cells.iter().map(|cell| cell.is_some().into()).collect());
    let values: Vec<T::T> = cells.into_iter().flatten().collect();
    writer.typed::<T>().write_batch(&values, levels.as_deref(), None)?;
    writer.close()
}
