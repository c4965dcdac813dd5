//! A table as Apache Parquet: texts as UTF8, whole numbers as INT64, numbers as DOUBLE, flags as BOOLEAN.

use std::io::Write;

use parquet::basic::{LogicalType, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};

use super::ExportError;
use super::rows::{Column, FieldKind, FieldValue, Table};
use crate::store::samples::{GROUP_ROWS, put_column, writer};

pub fn write(out: &mut (dyn Write + Send), mut table: Table<'_>) -> Result<(), ExportError> {
    let typed = |column: &Column| {
        let (physical, logical) = match column.kind {
            FieldKind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            FieldKind::Whole => (PhysicalType::INT64, None),
            FieldKind::Real => (PhysicalType::DOUBLE, None),
            FieldKind::Flag => (PhysicalType::BOOLEAN, None),
        };
        (column.name, column.optional, physical, logical)
    };
    let mut writer = writer(out, table.name, table.columns.iter().map(typed))?;
    loop {
        let rows = table.rows.by_ref().take(GROUP_ROWS).collect::<Result<Vec<_>, _>>()?;
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
