//! Arguments of `netfathom report`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

pub const EXAMPLES: &str = "\
Examples:
  netfathom report runs/20261121T031400Z-stack-1a2b3c --open
  netfathom report runs/20261121T031400Z-stack-1a2b3c --format md > result.md
  netfathom stack both --json | netfathom report - --format txt";

/// `netfathom report`.
#[derive(Clone, Debug, ClapArgs)]
pub struct ReportArgs {
    /// The run's directory or its record.json, or its name as `netfathom runs` has it (a
    /// beginning, a tag, last); - reads a record from standard input
    pub run: PathBuf,
    /// Where runs are sought by their names
    #[arg(long, default_value = "runs", value_name = "DIR")]
    pub out: PathBuf,
    /// html writes report.html beside the record, md and txt print the tables
    #[arg(long, value_enum, default_value = "html")]
    pub format: Format,
    /// Write to this file instead; - is standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Show the written file: by $BROWSER, else by xdg-open
    #[arg(long)]
    pub open: bool,
}

/// How a report is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One interactive file
    Html,
    /// Tables for GitHub and other Markdown
    Md,
    /// Tables for a terminal
    Txt,
}
