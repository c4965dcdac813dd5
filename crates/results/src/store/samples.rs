//! The raw stream as Parquet: a row a message, a column a field of
//! [`Sample`](netfathom_model::sample::Sample), all INT64.

mod reading;

use std::fs::File;
use std::sync::Arc;

use netfathom_model::sample::Sample;
use netfathom_sys::directory::Directory;
use parquet::basic::{Compression, Repetition, Type as PhysicalType};
use parquet::data_type::Int64Type;
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use super::run_dir::{ContentError, replace};
use super::{SAMPLES_FILE, WriteError};

pub use reading::{SamplesError, read, rows};

/// Rows in a row group: what is in memory at once beside the samples themselves.
const GROUP_ROWS: usize = 100_000;

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

/// A column: its name, how its value is read from a sample, and how it is put into one.
pub(crate) enum Field {
    Required(&'static str, fn(&Sample) -> u64, fn(&mut Sample, u64)),
    Optional(&'static str, fn(&Sample) -> Option<u64>, fn(&mut Sample, Option<u64>)),
}

macro_rules! required {
    ($field:ident) => {
        Field::Required(stringify!($field), |s| s.$field, |s, v| s.$field = v)
    };
}

macro_rules! optional {
    ($field:ident) => {
        Field::Optional(stringify!($field), |s| s.$field, |s, v| s.$field = v)
    };
}

/// The columns, in the order of the fields.
pub(crate) const FIELDS: [Field; 17] = [
    // More trials than a run can have would be of a foreign file: they are no trial's.
    Field::Required(
        "trial",
        |s| s.trial as u64,
        |s, v| s.trial = if v > u32::MAX as u64 { u32::MAX } else { v as u32 },
    ),
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
];

fn schema() -> Result<TypePtr> {
    let field = |field: &Field| {
        let (name, repetition) = match field {
            Field::Required(name, ..) => (name, Repetition::REQUIRED),
            Field::Optional(name, ..) => (name, Repetition::OPTIONAL),
        };
        let builder = Type::primitive_type_builder(name, PhysicalType::INT64);
        builder.with_repetition(repetition).build().map(Arc::new)
    };
    let fields = FIELDS.iter().map(field).collect::<Result<_>>()?;
    Type::group_type_builder("sample").with_fields(fields).build().map(Arc::new)
}

fn encode(file: &mut File, samples: &[Sample]) -> Result<()> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(file, schema()?, Arc::new(properties))?;
    for rows in samples.chunks(GROUP_ROWS) {
        let mut group = writer.next_row_group()?;
        for field in &FIELDS {
            write_column(&mut group, field, rows)?;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

fn write_column<W: std::io::Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    field: &Field,
    rows: &[Sample],
) -> Result<()> {
    let mut writer =
        group.next_column()?.ok_or_else(|| ParquetError::General("fewer columns than fields".into()))?;
    let typed = writer.typed::<Int64Type>();
    // CLOCK_MONOTONIC counts from boot: 63 bits last 292 years.
    match field {
        Field::Required(_, value, _) => {
            let values: Vec<i64> = rows.iter().map(|s| value(s) as i64).collect();
            typed.write_batch(&values, None, None)?;
        }
        Field::Optional(_, value, _) => {
            let values: Vec<i64> = rows.iter().filter_map(value).map(|v| v as i64).collect();
            let levels: Vec<i16> = rows.iter().map(|s| value(s).is_some().into()).collect();
            typed.write_batch(&values, Some(&levels), None)?;
        }
    }
    writer.close()
}
