//! Arguments of `netfathom report`.

use std::path::PathBuf;

use clap::builder::ArgPredicate;
use clap::{Args as ClapArgs, ValueEnum};

use super::RunArg;

pub const EXAMPLES: &str = "\
Examples:
  netfathom report runs/20261121T031400Z-stack-1a2b3c --open
  netfathom report last -v
      the tables as text, and no file
  netfathom report runs/20261121T031400Z-stack-1a2b3c --format md > result.md
  netfathom stack both --json | netfathom report - -v";

/// `netfathom report`.
#[derive(Debug, ClapArgs)]
pub struct ReportArgs {
    /// The run.
    #[command(flatten)]
    pub run: RunArg,
    /// html writes report.html beside the record and prints its path, md and txt print the tables
    #[arg(
        long,
        value_enum,
        default_value = "html",
        default_value_if("verbose", ArgPredicate::IsPresent, "txt")
    )]
    pub format: Format,
    /// Print all tables, not only the answer and the main one. Without --format it prints text (--format txt)
    /// and writes no file
    #[arg(long, short, conflicts_with_all = ["output", "open"])]
    pub verbose: bool,
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
