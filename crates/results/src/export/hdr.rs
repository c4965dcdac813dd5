//! A log of HdrHistograms, format 1.3, V2 compressed: an interval a trial, a tag a set of times.

use std::io::Write;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, IntervalLogWriterError, Tag};
use netfathom_model::record::{Export, Record};

use super::ExportError;
use crate::page::printable;
use crate::quantity::{self, histograms};

/// Significant decimal digits: finer than the record's own buckets.
const DIGITS: u8 = 3;

/// Writes the sets of times of a record, and returns what such a log cannot hold.
pub fn write(mut out: &mut (dyn Write + Send), record: &Record) -> Result<Vec<String>, ExportError> {
    let mut sets = histograms(&record.measurement);
    if sets.is_empty() {
        return Err(ExportError::nothing("hdr", &record.measurement, Export::Histograms));
    }
    // Readers want intervals in the order of their begin.
    sets.sort_by_key(|set| set.span_ns.map_or(0, |(begin, _)| begin));
    let untold = untold(&sets);
    let mut builder = IntervalLogWriterBuilder::new();
    // The one with tags; the writer does not say so by itself.
    builder.add_comment("[Histogram log format version 1.3]");
    let by = format!("[Logged with {}, run {}, values in nanoseconds]", record.tool, record.id);
    for sentence in [&by].into_iter().chain(&untold) {
        builder.add_comment(&printable(sentence));
    }
    let began = began(record);
    builder.with_start_time(began).with_base_time(began);
    let mut serializer = V2DeflateSerializer::new();
    let mut log = builder.begin_log_with(&mut out, &mut serializer)?;
    for set in &sets {
        let tag = printable(&set.name).replace([',', ' '], "_");
        let (begin_ns, length_ns) = set.span_ns.unwrap_or_default();
        let [begin, length] = [begin_ns, length_ns].map(Duration::from_nanos);
        log.write_histogram(&histogram(set)?, begin, length, Tag::new(&tag)).map_err(refused)?;
    }
    Ok(untold)
}

fn refused<E: std::fmt::Debug>(error: IntervalLogWriterError<E>) -> ExportError {
    match error {
        IntervalLogWriterError::IoError(source) => ExportError::Io(source),
        IntervalLogWriterError::SerializeError(why) => ExportError::Encode(format!("{why:?}")),
    }
}

/// When the run began; of a record that does not tell, 1970.
fn began(record: &Record) -> SystemTime {
    record.started_utc.parse::<jiff::Timestamp>().map_or(SystemTime::UNIX_EPOCH, SystemTime::from)
}

/// Each bucket of the record as its middle, the outermost within the smallest and the largest time.
fn histogram(set: &quantity::Histogram<'_>) -> Result<Histogram<u64>, ExportError> {
    let [min, max] = [set.times.min_ns, set.times.max_ns].map(|ns| u64::try_from(ns).unwrap_or(0));
    let encode = |why: &dyn std::fmt::Display| ExportError::Encode(why.to_string());
    let highest = set.buckets().map(|bucket| bucket.1).max().unwrap_or(2).max(2);
    let mut histogram = Histogram::new_with_max(highest, DIGITS).map_err(|e| encode(&e))?;
    for (low, high, count) in set.buckets() {
        let inside = (min.clamp(low, high - 1), max.clamp(low, high - 1));
        let middle = (low + (high - 1 - low) / 2).clamp(inside.0.min(inside.1), inside.0.max(inside.1));
        histogram.record_n(middle, count).map_err(|e| encode(&e))?;
    }
    Ok(histogram)
}

/// Times below zero, which an HdrHistogram has no place for.
fn untold(sets: &[quantity::Histogram<'_>]) -> Vec<String> {
    let negative = sets.iter().filter(|set| set.times.negative > 0);
    negative
        .map(|set| {
            let trial = set.trial.map_or(String::new(), |index| format!(" of the trial of index {index}"));
            let (left_out, n) = (set.times.negative, set.times.n);
            format!("{}{trial}: {left_out} of {n} times are below zero, which an HdrHistogram cannot hold: they are left out", set.name)
        })
        .collect()
}
