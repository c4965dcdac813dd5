//! Arguments of `netfathom marks`.

use std::ffi::OsString;

use clap::Args as ClapArgs;

pub const EXAMPLES: &str = "\
Examples:
  netfathom marks 4711
      what that process marks, until it ends or Ctrl-C
  netfathom marks server --quiet
      the same by its name, and only the table at the end
  netfathom marks --json -- ./server --port 80
      starts a program and records its marks from the first on

A program makes marks by netfathom's marks API, for Rust, C, C++ and Python: see
docs/marks.md. For a process that runs already, recording starts now.";

/// Either of two forms, which clap would draw as one.
const USAGE: &str = "\
netfathom marks [OPTIONS] <PID|NAME>
       netfathom marks [OPTIONS] -- <COMMAND>...";

/// `netfathom marks`.
#[derive(Debug, ClapArgs)]
#[command(override_usage = USAGE)]
pub struct MarksArgs {
    /// The process: its number, or its name if only one has it
    #[arg(value_name = "PID|NAME", required_unless_present = "command")]
    pub whom: Option<String>,
    /// A program to start, and its arguments; what it prints goes to standard error
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "whom")]
    pub command: Vec<OsString>,
    /// Write lines of JSON, one a mark, and at the end one with the table
    #[arg(long)]
    pub json: bool,
    /// No line for each mark: the table only
    #[arg(long)]
    pub quiet: bool,
}
