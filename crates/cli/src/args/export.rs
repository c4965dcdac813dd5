//! Arguments of `netfathom export`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use netfathom_results::export::{Format, What};
use strum::{EnumMessage, VariantArray};

use super::RunArg;
use super::words::{Word, one_of};

pub const EXAMPLES: &str = "\
Examples:
  netfathom export runs/20260401T120000Z-stack-1f --to csv
      every quantity of every trial, a line each
  netfathom export RUN --to parquet --what histograms -o times.parquet
      the buckets of every set of times
  netfathom export RUN --to perfetto -o messages.pftrace
      sampled messages, to be opened in ui.perfetto.dev
  netfathom ttcp -t -s host --json | netfathom export - --to iperf3
      a transfer in the form of iperf3 --json

What each format holds, and what stays as it is in later versions:
docs/export.md.";

/// `netfathom export`.
#[derive(Debug, ClapArgs)]
pub struct ExportArgs {
    /// The run.
    #[command(flatten)]
    pub run: RunArg,
    /// The format
    #[arg(long, value_parser = one_of(described::<Format>()), value_name = "FORMAT")]
    pub to: Format,
    /// Of parquet and csv: which table [default: trials]
    #[arg(long, value_parser = one_of(described::<What>()), value_name = "TABLE")]
    pub what: Option<What>,
    /// Of openmetrics: each trial and each set of times, thousands of series, instead of what a dashboard shows
    #[arg(long)]
    pub all: bool,
    /// Write to this file [default: -, standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Those that `results` has, by their names.
fn described<T: VariantArray + EnumMessage + Into<&'static str> + Copy>() -> Vec<Word<T>> {
    let word = |&one: &T| (one.into(), one, one.get_documentation().unwrap_or_default());
    T::VARIANTS.iter().map(word).collect()
}
