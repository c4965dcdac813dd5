//! Results in formats that other programs read.
//!
//! Everything comes from the record, and from `samples.parquet` where single messages are wanted. What a format
//! cannot hold is left out and named, never bent to fit.

mod csv;
mod error;
mod hdr;
mod intervals;
mod iperf3;
mod netperf;
mod openmetrics;
mod parquet;
pub mod pcapng;
mod perfetto;
mod rows;

use std::io::Write;
use std::path::PathBuf;

use netfathom_model::record::{
    Export, Measured, Record, SlowMessage, StackResult, TransferResult, WatchResult,
};
use netfathom_model::sample::Sample;
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

pub use error::ExportError;
pub use openmetrics::{Part, exposition};

use crate::store;

/// The formats there are. Each is described, to users too, by its own line here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Format {
    /// Apache Parquet
    Parquet,
    /// Comma-separated values
    Csv,
    /// What iperf3 --json writes (ttcp)
    Iperf3,
    /// KEY=VALUE as netperf -k, for Flent (ttcp)
    Netperf,
    /// OpenMetrics, for Prometheus
    Openmetrics,
    /// A log of HdrHistograms
    Hdr,
    /// A trace of single messages (stack --samples, watch --slow)
    Perfetto,
    /// Sampled messages as packets, for Wireshark (stack --samples)
    Pcapng,
}

impl Format {
    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn is_text(self) -> bool {
        !matches!(self, Self::Parquet | Self::Perfetto | Self::Pcapng)
    }

    /// Whether it is a table: a run has several.
    pub fn is_table(self) -> bool {
        matches!(self, Self::Parquet | Self::Csv)
    }
}

/// The tables there are. Each is described, to users too, by its own line here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum What {
    /// Every quantity, a row a trial
    Trials,
    /// What the record has over time, a row a window
    Series,
    /// Every set of times, a row a bucket
    Histograms,
    /// Single messages (stack --samples), a row each
    Samples,
}

#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The table, of formats that are tables.
    pub what: What,
    /// Of openmetrics: each trial and each set of times, too.
    pub all: bool,
}

impl From<What> for Extent {
    fn from(what: What) -> Self {
        Self { what, all: false }
    }
}

/// A run as it is on disk.
#[derive(Clone, Debug)]
pub struct StoredRun {
    pub record: Record,
    /// Where its single messages stand; `None` of a record that has no directory.
    pub samples: Option<PathBuf>,
}

/// Writes a run in a format, and returns what could not be written, a sentence each.
///
/// # Errors
/// If the measurement has nothing for the format (then nothing is written), the samples cannot be read, or `out`
/// refuses.
pub fn write(
    out: &mut (dyn Write + Send),
    run: &StoredRun,
    format: Format,
    extent: impl Into<Extent>,
) -> Result<Vec<String>, ExportError> {
    let Extent { what, all } = extent.into();
    let untold = Vec::new();
    match format {
        Format::Csv => csv::write(out, rows::of(run, what, format)?).map(|()| untold),
        Format::Parquet => parquet::write(out, rows::of(run, what, format)?).map(|()| untold),
        Format::Iperf3 => iperf3::write(out, &run.record, transfer(run, format)?).map(|()| untold),
        Format::Netperf => netperf::write(out, &run.record, transfer(run, format)?),
        Format::Openmetrics if all => openmetrics::write_all(out, &run.record).map(|()| untold),
        Format::Openmetrics => openmetrics::write(out, &run.record),
        Format::Hdr => hdr::write(out, &run.record),
        Format::Perfetto => match WatchResult::of(&run.record.measurement) {
            Some(watch) => perfetto::slow::write(out, &run.record, slow_messages(watch, format)?),
            None => {
                let (stack, samples) = stack_and_samples(run, format, Export::Traces)?;
                perfetto::write(out, &run.record, stack, &samples)
            }
        },
        Format::Pcapng => {
            let (stack, samples) = stack_and_samples(run, format, Export::Samples)?;
            Ok(pcapng::write_to(out, &run.record, stack, &samples).map(|()| untold)?)
        }
    }
}

fn transfer(run: &StoredRun, format: Format) -> Result<&TransferResult, ExportError> {
    let measurement = &run.record.measurement;
    TransferResult::of(measurement)
        .ok_or_else(|| ExportError::nothing(format.name(), measurement, Export::Streams))
}

fn slow_messages(watch: &WatchResult, format: Format) -> Result<&[SlowMessage], ExportError> {
    let why = || "it kept no single messages; watch again with --slow 10ms, say".to_owned();
    let slow = watch.slow.as_ref().map(|slow| slow.messages.as_slice());
    slow.ok_or_else(|| ExportError::Empty { wanted: format.name().into(), why: why() })
}

fn stack_and_samples(
    run: &StoredRun,
    format: Format,
    what: Export,
) -> Result<(&StackResult, Vec<Sample>), ExportError> {
    let Some(stack) = StackResult::of(&run.record.measurement) else {
        return Err(ExportError::nothing(format.name(), &run.record.measurement, what));
    };
    Ok((stack, store::samples::read(rows::samples_file(run, format)?)?))
}
