//! From whom it takes: benchmarks, and how their marks are taken.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::{MS, PlanError, S, conflict, range, span};

/// The most names that the BPF programs compare.
const MOST_FILES: usize = 64;

/// A benchmark: a program that is run again and again; its times are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Benchmark {
    /// Its name in tables.
    pub name: String,
    /// What it does.
    pub kind: BenchmarkKind,
}

/// What a benchmark does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum BenchmarkKind {
    /// tar reads a tree that is made for it.
    Tar {
        /// Whether gzip compresses what it reads.
        gzip: bool,
        /// Files and directories.
        entries: u32,
        /// Bytes of all files.
        bytes: u64,
        /// Whether the files are dropped from the page cache before each trial; they are read beforehand otherwise.
        cold: bool,
        /// Where the tree is made; `None` for the directory of temporary files.
        #[serde(serialize_with = "crate::plan::path_text::as_text")]
        directory: Option<PathBuf>,
        /// Whether its marks lie dense at the beginning and sparse at the end, for programs that end early.
        early: bool,
    },
    /// Short phases, one a resource.
    Light {
        /// Which phases, by name; all if empty.
        phases: Vec<String>,
        /// How long a phase takes on the machine at rest.
        phase_ns: u64,
    },
    /// A command.
    Command {
        /// The program and its arguments: `sh -c TEXT` where the command is one for the shell.
        command: Vec<String>,
        /// What is seen of it.
        marks: MarkSource,
    },
    /// A program that runs already and marks itself; it is watched for a while.
    Marking {
        /// Its process number.
        pid: u32,
        /// How long a trial watches it.
        window_ns: u64,
    },
}

/// Where the marks of a command come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarkSource {
    /// It marks itself, by the marks API; its start and its end alone if it does not.
    Emitted,
    /// It opens these files.
    Files(#[serde(serialize_with = "crate::plan::path_text::as_text")] Vec<PathBuf>),
    /// Characteristic system calls, chosen from two runs.
    Auto,
}

/// How marks are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarkMeans {
    /// Programs at tracepoints, filtered in the kernel to the benchmark's processes.
    Tracepoints,
    /// seccomp notification: each call that opens a file waits for us.
    Notification,
    /// The benchmark's start and end alone.
    Ends,
}

named! { MarkMeans: Tracepoints = "tracepoints", Notification = "notification", Ends = "ends" }

impl BenchmarkKind {
    pub(super) fn check(&self) -> Result<(), PlanError> {
        match self {
            Self::Tar { entries, bytes, early, .. } => {
                range("entries", u64::from(*entries), if *early { 1000 } else { 50 }, 1_000_000)?;
                range("bytes", *bytes, 100_000, 1 << 40)
            }
            Self::Light { phase_ns, .. } => span("phase", *phase_ns, (5 * MS, 60 * S)),
            Self::Command { command, .. } if names_nothing(command) => {
                conflict("--benchmark: give NAME=COMMAND")
            }
            Self::Command { marks: MarkSource::Files(files), .. } => files_check(files),
            Self::Command { .. } => Ok(()),
            Self::Marking { window_ns, .. } => span("window", *window_ns, (10 * MS, 600 * S)),
        }
    }
}

/// Whether there is no program, or nothing for the shell to do.
fn names_nothing(command: &[String]) -> bool {
    match command {
        [shell, flag, text] if shell == "sh" && flag == "-c" => text.trim().is_empty(),
        _ => command.first().is_none_or(String::is_empty),
    }
}

fn files_check(files: &[PathBuf]) -> Result<(), PlanError> {
    range("marks: their number", files.len() as u64, 1, MOST_FILES as u64)?;
    match files.iter().find(|file| file.file_name().is_none()) {
        Some(file) => conflict(format!("--marks: {} names no file", file.display())),
        None => Ok(()),
    }
}
