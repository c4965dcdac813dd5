//! The raw stream as Parquet: a row a message, a column a field of
//! [`Sample`](netfathom_model::sample::Sample), all INT64.

mod reading;

use std::fs::File;
use std::sync::Arc;

use netfathom_model::sample::Sample;
use netfathom_sys::directory::Directory;
use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{DataType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::run_dir::{ContentError, replace};
use super::{SAMPLES_FILE, WriteError};

pub use reading::{SamplesError, read, rows};

/// Rows in a row group: what is in memory at once beside the samples themselves.
pub(crate) const GROUP_ROWS: usize = 100_000;

/// Writes `samples.parquet` into the directory of a run. Times are CLOCK_MONOTONIC ns;
/// null where the hook did not see the message.
///
/// # Errors
/// If the disk refuses; a file from before then stands unharmed.
pub fn write(run: &Directory, samples: &[Sample]) -> std::result::Result<(), WriteError> {
    replace(run, SAMPLES_FILE, |file| {
        encode(file, samples).map_err(|e| match e {
            ParquetError::External(source) => match source.downcast::<std::io::Error>() {
                Ok(io) => ContentError::Io(*io),
                Err(other) => ContentError::Encode(ParquetError::External(other)),
            },
            e => ContentError::Encode(e),
        })
    })
}

/// A column: how its value is read from a sample, and put into one.
pub(crate) struct Field {
    pub name: &'static str,
    pub optional: bool,
    pub get: fn(&Sample) -> Option<u64>,
    set: fn(&mut Sample, Option<u64>),
}

macro_rules! required {
    ($field:ident) => {
        Field {
            name: stringify!($field),
            optional: false,
            get: |s| Some(s.$field),
            set: |s, v| s.$field = v.unwrap_or_default(),
        }
    };
}

macro_rules! optional {
    ($field:ident) => {
        Field { name: stringify!($field), optional: true, get: |s| s.$field, set: |s, v| s.$field = v }
    };
}

/// The columns, in the order of the fields.
pub(crate) const FIELDS: [Field; 19] = [
    // More trials than a run can have would be of a foreign file: they are no trial's.
    Field {
        name: "trial",
        optional: false,
        get: |s| Some(s.trial.into()),
        set: |s, v| s.trial = u32::try_from(v.unwrap_or_default()).unwrap_or(u32::MAX),
    },
    required!(sequence),
    required!(intended_ns),
    required!(sent_ns),
    optional!(net_dev_queue_ns),
    optional!(qdisc_enqueue_ns),
    optional!(qdisc_dequeue_ns),
    optional!(net_dev_start_xmit_ns),
    optional!(net_dev_xmit_ns),
    optional!(arrival_ns),
    optional!(netif_receive_skb_ns),
    optional!(sk_data_ready_ns),
    optional!(sched_wakeup_ns),
    optional!(sched_switch_ns),
    optional!(receive_call_ns),
    optional!(sock_recv_length_ns),
    optional!(received_ns),
    optional!(tx_disturbed),
    optional!(rx_disturbed),
];

/// Begins a file of rows with these columns: the name of each, whether it is optional, and its types.
pub(crate) fn writer<W: std::io::Write + Send>(
    out: W,
    row: &str,
    columns: impl Iterator<Item = (&'static str, bool, PhysicalType, Option<LogicalType>)>,
) -> Result<SerializedFileWriter<W>> {
    let column = |(name, optional, physical, logical): (&str, bool, PhysicalType, Option<LogicalType>)| {
        let repetition = if optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let builder = Type::primitive_type_builder(name, physical);
        builder.with_repetition(repetition).with_logical_type(logical).build().map(Arc::new)
    };
    let schema = Type::group_type_builder(row).with_fields(columns.map(column).collect::<Result<_>>()?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    SerializedFileWriter::new(out, Arc::new(schema.build()?), Arc::new(properties))
}

fn encode(file: &mut File, samples: &[Sample]) -> Result<()> {
    let columns = FIELDS.iter().map(|field| (field.name, field.optional, PhysicalType::INT64, None));
    let mut writer = writer(file, "sample", columns)?;
    for rows in samples.chunks(GROUP_ROWS) {
        let mut group = writer.next_row_group()?;
        for field in &FIELDS {
            // CLOCK_MONOTONIC counts from boot: 63 bits last 292 years.
            let cells = rows.iter().map(|sample| (field.get)(sample).map(|value| value as i64));
            put_column::<Int64Type, _>(&mut group, field.optional, cells)?;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

/// Writes the next column of a row group. A cell may be missing if the column is optional.
pub(crate) fn put_column<T: DataType, W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    optional: bool,
    cells: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let fewer = || ParquetError::General("fewer columns than fields".into());
    let mut writer = group.next_column()?.ok_or_else(fewer)?;
    let cells: Vec<Option<T::T>> = cells.collect();
    let levels: Option<Vec<i16>> = optional.then(|| cells.iter().map(|cell| cell.is_some().into()).collect());
    let values: Vec<T::T> = cells.into_iter().flatten().collect();
    writer.typed::<T>().write_batch(&values, levels.as_deref(), None)?;
    writer.close()
}
