//! The raw stream as Parquet: a row a message, a column a field of
//! [`Sample`](netfathom_model::sample::Sample), all INT64.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use netfathom_model::sample::Sample;
use parquet::basic::{Compression, Repetition, Type as PhysicalType};
use parquet::data_type::Int64Type;
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use super::run_dir::{ContentError, replace};
use super::{SAMPLES_FILE, WriteError};

/// Rows in a row group: what is in memory at once beside the samples themselves.
const GROUP_ROWS: usize = 100_000;

/// Writes `samples.parquet` into the directory of a run. Times are CLOCK_MONOTONIC ns;
/// null where the hook did not see the message.
///
/// # Errors
/// If the disk refuses; a file from before then stands unharmed.
pub fn write(dir: &Path, samples: &[Sample]) -> std::result::Result<(), WriteError> {
    replace(&dir.join(SAMPLES_FILE), |file| {
        encode(file, samples).map_err(|e| match e {
            ParquetError::External(source) => match source.downcast::<std::io::Error>() {
                Ok(io) => ContentError::Io(*io),
                Err(other) => ContentError::Encode(ParquetError::External(other)),
            },
            e => ContentError::Encode(e),
        })
    })
}

/// A column: its name and how its value is read from a sample.
enum Column {
    Required(&'static str, fn(&Sample) -> u64),
    Optional(&'static str, fn(&Sample) -> Option<u64>),
}

macro_rules! optional {
    ($($field:ident),*) => { [$(Column::Optional(stringify!($field), |s| s.$field)),*] };
}

/// The columns, in the order of the fields.
fn columns() -> Vec<Column> {
    let mut columns = vec![
        Column::Required("trial", |s| s.trial.into()),
        Column::Required("sequence", |s| s.sequence),
        Column::Required("intended_ns", |s| s.intended_ns),
        Column::Required("sent_ns", |s| s.sent_ns),
    ];
    columns.extend(optional![
        net_dev_queue_ns,
        qdisc_enqueue_ns,
        qdisc_dequeue_ns,
        net_dev_start_xmit_ns,
        net_dev_xmit_ns,
        arrival_ns,
        netif_receive_skb_ns,
        sk_data_ready_ns,
        sched_wakeup_ns,
        sched_switch_ns,
        receive_call_ns,
        sock_recv_length_ns,
        received_ns
    ]);
    columns
}

fn schema(columns: &[Column]) -> Result<TypePtr> {
    let field = |column: &Column| {
        let (name, repetition) = match column {
            Column::Required(name, _) => (name, Repetition::REQUIRED),
            Column::Optional(name, _) => (name, Repetition::OPTIONAL),
        };
        let builder = Type::primitive_type_builder(name, PhysicalType::INT64);
        builder.with_repetition(repetition).build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<_>>()?;
    Type::group_type_builder("sample").with_fields(fields).build().map(Arc::new)
}

fn encode(file: &mut File, samples: &[Sample]) -> Result<()> {
    let columns = columns();
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(file, schema(&columns)?, Arc::new(properties))?;
    for rows in samples.chunks(GROUP_ROWS) {
        let mut group = writer.next_row_group()?;
        for column in &columns {
            write_column(&mut group, column, rows)?;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

fn write_column<W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &Column,
    rows: &[Sample],
) -> Result<()> {
    let mut writer =
        group.next_column()?.ok_or_else(|| ParquetError::General("fewer columns than fields".into()))?;
    let typed = writer.typed::<Int64Type>();
    // CLOCK_MONOTONIC counts from boot: 63 bits last 292 years.
    match column {
        Column::Required(_, value) => {
            let values: Vec<i64> = rows.iter().map(|s| value(s) as i64).collect();
            typed.write_batch(&values, None, None)?;
        }
        Column::Optional(_, value) => {
            let values: Vec<i64> = rows.iter().filter_map(value).map(|v| v as i64).collect();
            let levels: Vec<i16> = rows.iter().map(|s| value(s).is_some().into()).collect();
            typed.write_batch(&values, Some(&levels), None)?;
        }
    }
    writer.close()
}
