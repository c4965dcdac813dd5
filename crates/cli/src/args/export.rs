//! Arguments of `netfathom export`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use netfathom_results::export::{Format, What};

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
      what iperf3 would have said of a transfer

What each format holds, and what stays as it is in later versions:
docs/export.md.";

/// `netfathom export`.
#[derive(Debug, ClapArgs)]
pub struct ExportArgs {
    /// The run.
    #[command(flatten)]
    pub run: RunArg,
    /// The format
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: FormatArg,
    /// Of parquet and csv: which table [default: trials]
    #[arg(long, value_enum, value_name = "TABLE")]
    pub what: Option<WhatArg>,
    /// Write to this file [default: -, standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The formats as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
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
    /// A trace of sampled messages (stack --samples)
    Perfetto,
    /// Sampled messages as packets, for Wireshark (stack --samples)
    Pcapng,
}

impl FormatArg {
    /// As it is meant.
    pub fn format(self) -> Format {
        match self {
            Self::Parquet => Format::Parquet,
            Self::Csv => Format::Csv,
            Self::Iperf3 => Format::Iperf3,
            Self::Netperf => Format::Netperf,
            Self::Openmetrics => Format::Openmetrics,
            Self::Hdr => Format::Hdr,
            Self::Perfetto => Format::Perfetto,
            Self::Pcapng => Format::Pcapng,
        }
    }
}

/// The tables as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WhatArg {
    /// Every quantity, a row a trial
    Trials,
    /// What the record has over time, a row a window
    Series,
    /// Every set of times, a row a bucket
    Histograms,
    /// Single messages (stack --samples), a row each
    Samples,
}

impl WhatArg {
    /// As it is meant.
    pub fn what(self) -> What {
        match self {
            Self::Trials => What::Trials,
            Self::Series => What::Series,
            Self::Histograms => What::Histograms,
            Self::Samples => What::Samples,
        }
    }
}
