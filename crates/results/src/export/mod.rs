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

use netfathom_model::record::{Export, Record};
use netfathom_model::sample::Sample;
use strum::{EnumMessage, IntoStaticStr, VariantArray};

pub use error::ExportError;
pub use openmetrics::{Dialect, Exposition, Part, exposition};

use crate::quantity::{Figures, Sampled, figures};
use crate::store;

/// The formats there are. Each is described, to users too, by its own line here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumMessage, IntoStaticStr, VariantArray)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumMessage, IntoStaticStr, VariantArray)]
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
    let record = &run.record;
    let figures = figures(&record.measurement);
    let nothing = |what| ExportError::nothing(format.name(), &record.measurement, what);
    let streams = || intervals::transfer(&record.measurement).ok_or_else(|| nothing(Export::Streams));
    let sampled = |what| samples(run, format, figures).unwrap_or_else(|| Err(nothing(what)));
    match format {
        Format::Csv => csv::write(out, rows::table(run, what, format)?).map(|()| untold),
        Format::Parquet => parquet::write(out, rows::table(run, what, format)?).map(|()| untold),
        Format::Iperf3 => iperf3::write(out, record, streams()?).map(|()| untold),
        Format::Netperf => netperf::write(out, record, streams()?),
        Format::Openmetrics if all => openmetrics::write_all(out, record).map(|()| untold),
        Format::Openmetrics => openmetrics::write(out, record),
        Format::Hdr => hdr::write(out, record),
        Format::Perfetto => match figures.slow() {
            Some(Ok(slow)) => perfetto::slow::write(out, record, slow),
            Some(Err(why)) => Err(ExportError::Empty { wanted: format.name().into(), why: why.into() }),
            None => {
                let (of, samples) = sampled(Export::Traces)?;
                perfetto::write(out, record, of, &samples)
            }
        },
        Format::Pcapng => {
            let (of, samples) = sampled(Export::Samples)?;
            Ok(pcapng::capture(out, record, of, &samples).map(|()| untold)?)
        }
    }
}

/// `None` of a measurement that keeps none.
fn samples<'a>(
    run: &StoredRun,
    format: Format,
    figures: &'a dyn Figures,
) -> Option<Result<(Sampled<'a>, Vec<Sample>), ExportError>> {
    let of = figures.sampled()?;
    let read = || Ok((of, store::samples::read(rows::samples_file(run, format)?)?));
    Some(read())
}
