//! The head of a record: what a list shows, read without the rest.

use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use jiff::Timestamp;
use netfathom_model::record::{SCHEMA_VERSION, State};
use netfathom_model::verdict::Level;
use netfathom_sys::directory::Directory;
use serde::Serialize;

use super::open::{is_written, record_of};

mod partial;

use partial::Partial;

/// Most heads are shorter; of those that are not the whole record is read.
const WINDOW_BYTES: usize = 8192;

/// What a record says first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Head {
    /// The schema it was written by.
    pub schema_version: u32,
    /// The name it gave itself: that of its directory, unless that was renamed.
    pub id: String,
    /// The build that wrote it.
    pub tool: String,
    /// When it began, as it stands there.
    pub started_utc: String,
    /// Whether it is whole.
    pub state: State,
    /// Whether it is being written now.
    pub running: bool,
    /// How far it can be trusted.
    pub verdict: Level,
    /// The host's own name, where the record tells.
    pub host: Option<String>,
    /// Kernel release and build.
    pub kernel: String,
    /// The measurement's name, such as `stack`.
    pub measurement: String,
    /// The command that made it, where the record has it.
    pub command: Option<String>,
    /// What it says, where the record has it.
    pub answer: Option<String>,
}

impl Head {
    /// When it began; `None` where that is no time.
    #[must_use]
    pub fn started(&self) -> Option<Timestamp> {
        self.started_utc.parse().ok()
    }

    /// The kernel's release without its build.
    #[must_use]
    pub fn kernel_release(&self) -> &str {
        self.kernel.split_whitespace().next().unwrap_or_default()
    }

    /// Whether it is whole, in a word.
    #[must_use]
    pub fn condition(&self) -> &'static str {
        match self.state {
            State::Complete => "complete",
            State::Interrupted => "interrupted",
            State::Partial if self.running => "running",
            State::Partial => "partial",
        }
    }
}

/// Why a run has no head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// What sort of problem.
    pub kind: ProblemKind,
    /// In words.
    pub why: String,
}

/// The sorts of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// No record is there: just begun, or killed before the first trial.
    NoRecord,
    /// The record cannot be opened, or is not a file.
    Unreadable,
    /// No JSON, cut off, or not the fields of a record.
    Damaged,
    /// Written by a newer netfathom.
    Newer,
}

impl ProblemKind {
    /// As it is written in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoRecord => "no record",
            Self::Unreadable => "unreadable",
            Self::Damaged => "damaged",
            Self::Newer => "newer",
        }
    }
}

impl Problem {
    pub(super) fn new(kind: ProblemKind, why: impl Into<String>) -> Self {
        Self { kind, why: why.into() }
    }

    fn damaged(why: impl Into<String>) -> Self {
        Self::new(ProblemKind::Damaged, why)
    }
}

/// The head of the record in a run's directory.
pub(in crate::store) fn of_run(run: &Directory) -> Result<Head, Problem> {
    let (file, size) = record_of(run)?;
    let unreadable = |e: std::io::Error| Problem::new(ProblemKind::Unreadable, e.to_string());
    let mut window = [0; WINDOW_BYTES];
    let filled = read_at_most(&file, &mut window).map_err(unreadable)?;
    let mut partial = Partial::default();
    // The window may well end in the middle of something: what counts is whether the head was in it.
    let _ = partial.read(serde_json::Deserializer::from_slice(&window[..filled]));
    refuse_newer(&partial)?;
    if !(partial.is_whole() && ends_whole(&file, size).map_err(unreadable)?) {
        partial = read_whole(file).map_err(|e| Problem::damaged(what(&e)))?;
        refuse_newer(&partial)?;
    }
    let running = partial.state == Some(State::Partial) && is_written(run);
    partial.head(running).map_err(|missing| Problem::damaged(format!("it has no field `{missing}`")))
}

fn refuse_newer(partial: &Partial) -> Result<(), Problem> {
    match partial.schema_version {
        Some(found) if found > u64::from(SCHEMA_VERSION) => Err(Problem::new(
            ProblemKind::Newer,
            format!("schema {found}; this build reads up to {SCHEMA_VERSION}: upgrade netfathom"),
        )),
        Some(0) => Err(Problem::damaged("it has no schema_version")),
        _ => Ok(()),
    }
}

/// All of it, in constant memory: fields that no head has are checked and forgotten.
fn read_whole(mut file: File) -> Result<Partial, serde_json::Error> {
    file.seek(SeekFrom::Start(0)).map_err(serde_json::Error::io)?;
    let mut partial = Partial::to_the_end();
    partial.read(serde_json::Deserializer::from_reader(BufReader::new(file)))?;
    Ok(partial)
}

/// Whether the file ends as records end. A record is one line, and its only line break stands behind it; one that
/// was set in many lines ends in a brace of its own. What is cut off has neither.
fn ends_whole(file: &File, size: u64) -> std::io::Result<bool> {
    let mut end = [0; 3];
    let Some(at) = size.checked_sub(end.len() as u64) else { return Ok(false) };
    file.read_exact_at(&mut end, at)?;
    Ok(matches!(end, [before, b'}', b'\n'] if before == b'\n' || !before.is_ascii_whitespace()))
}

fn read_at_most(file: &File, window: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < window.len() {
        match file.read_at(&mut window[filled..], filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// An error in words that fit on a line.
fn what(e: &serde_json::Error) -> String {
    if e.is_eof() {
        return format!("it is cut off at line {}, column {}", e.line(), e.column());
    }
    e.to_string()
}
