//! Arguments of `netfathom export`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args as ClapArgs;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use netfathom_results::export::{Format, What};
use strum::{EnumMessage, ParseError, VariantArray};

use super::RunArg;

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
    #[arg(long, value_parser = one_of::<Format>(), value_name = "FORMAT")]
    pub to: Format,
    /// Of parquet and csv: which table [default: trials]
    #[arg(long, value_parser = one_of::<What>(), value_name = "TABLE")]
    pub what: Option<What>,
    /// Of openmetrics: each trial and each set of times, thousands of series, instead of what a dashboard shows
    #[arg(long)]
    pub all: bool,
    /// Write to this file [default: -, standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// One of those that `results` has, by its name.
fn one_of<T>() -> impl TypedValueParser<Value = T>
where
    T: VariantArray + EnumMessage + FromStr<Err = ParseError> + Into<&'static str> + Copy + Send + Sync,
{
    let described = |one: &T| {
        let value = PossibleValue::new((*one).into());
        one.get_documentation().into_iter().fold(value, PossibleValue::help)
    };
    PossibleValuesParser::new(T::VARIANTS.iter().map(described)).try_map(|name| name.parse())
}
