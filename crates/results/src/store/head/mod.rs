//! The head of a record: what a list shows. It stands in a small file beside the record, so that the record is
//! read only where that file is missing or of another record.

mod open;

use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read, Seek};
use std::os::unix::fs::FileExt;

use flate2::Crc;
use jiff::Timestamp;
use netfathom_model::record::{SCHEMA_VERSION, State};
use netfathom_model::verdict::Level;
use netfathom_sys::directory::Directory;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::HEAD_FILE;
use super::record_file::Version;
pub(super) use open::{is_written, record_of};

/// Longer ones are not read: commands and answers are a few lines.
const MOST_HEAD_BYTES: u64 = 64 << 10;

/// What is checked of a record, from its beginning and from its end. The verdict stands within it.
const END_BYTES: usize = 4 << 10;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    pub schema_version: u32,
    /// The name it gave itself: that of its directory, unless that was renamed.
    pub id: String,
    /// The build that wrote it.
    pub tool: String,
    /// When it began, as it stands there.
    pub started_utc: String,
    pub state: State,
    #[serde(skip_deserializing)]
    pub running: bool,
    pub verdict: Level,
    /// The host's own name, where the record tells.
    pub host: Option<String>,
    /// Kernel release and build.
    pub kernel: String,
    /// The measurement's name, such as `stack`.
    pub measurement: String,
    /// The command that made it, as a shell takes it.
    pub command: String,
    /// What it says, where the record has it.
    pub answer: Option<String>,
}

impl Head {
    /// When it began; `None` where that is no time.
    pub fn started(&self) -> Option<Timestamp> {
        self.started_utc.parse().ok()
    }

    /// The kernel's release without its build.
    pub fn kernel_release(&self) -> &str {
        self.kernel.split_whitespace().next().unwrap_or_default()
    }

    /// Whether it is whole, in a word.
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
    pub kind: ProblemKind,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, Serialize)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum ProblemKind {
    /// No record is there: just begun, or killed before the first trial.
    #[strum(serialize = "no record")]
    NoRecord,
    /// The record cannot be opened, or is not a file.
    Unreadable,
    /// No JSON, cut off, or not the fields of a record.
    Damaged,
    Newer,
}

impl ProblemKind {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Problem {
    pub(super) fn new(kind: ProblemKind, why: impl Into<String>) -> Self {
        Self { kind, why: why.into() }
    }
}

#[derive(Serialize, Deserialize)]
struct HeadFile {
    record_bytes: u64,
    /// The CRC-32 of its two ends. A restored copy keeps size and time of a record, a lost page its size.
    record_ends: u32,
    head: Head,
}

/// The fields of a record that its head is made of; all others are passed over.
#[derive(Deserialize)]
#[serde(expecting = "a record")]
struct Beginning {
    schema_version: u32,
    id: String,
    tool: String,
    started_utc: String,
    state: State,
    verdict: Verdict,
    command: String,
    answer: Option<String>,
    environment: Machine,
    measurement: MeasurementKind,
}

#[derive(Deserialize)]
struct Verdict {
    level: Level,
}

#[derive(Deserialize)]
struct Machine {
    host: Option<String>,
    kernel: String,
}

#[derive(Deserialize)]
struct MeasurementKind {
    kind: String,
}

impl From<Beginning> for Head {
    fn from(record: Beginning) -> Self {
        let kind = record.measurement.kind;
        Self {
            schema_version: record.schema_version,
            id: record.id,
            tool: record.tool,
            started_utc: record.started_utc,
            state: record.state,
            running: false,
            verdict: record.verdict.level,
            host: record.environment.host,
            kernel: record.environment.kernel,
            measurement: netfathom_model::record::name_of_kind(&kind).map_or(kind, str::to_owned),
            command: record.command,
            answer: record.answer,
        }
    }
}

fn ends_crc(first: &[u8], last: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(first);
    crc.update(last);
    crc.sum()
}

fn ends_of(record: &File, bytes: u64) -> io::Result<u32> {
    let end = bytes.min(END_BYTES as u64);
    let [mut first, mut last] = [(); 2].map(|()| vec![0; end as usize]);
    record.read_exact_at(&mut first, 0)?;
    record.read_exact_at(&mut last, bytes - end)?;
    Ok(ends_crc(&first, &last))
}

/// The content of the file with the head of this record.
pub(in crate::store) fn file_of(record: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
    let head = serde_json::from_slice::<Beginning>(record)?.into();
    let end = record.len().min(END_BYTES);
    let record_ends = ends_crc(&record[..end], &record[record.len() - end..]);
    let mut json = serde_json::to_vec(&HeadFile { record_bytes: record.len() as u64, record_ends, head })?;
    json.push(b'\n');
    Ok(json)
}

/// The head of the record in a run's directory.
pub(in crate::store) fn of_run(run: &Directory) -> Result<Head, Problem> {
    let (file, about) = record_of(run)?;
    let head = from_head_file(run, &file, &about).map_or_else(|| read_whole(file), Ok);
    head.map(|head| with_writer(head, run))
}

/// The same by the record alone, for those who act upon it.
pub(in crate::store) fn of_record(run: &Directory) -> Result<Head, Problem> {
    record_of(run).and_then(|(file, _)| read_whole(file)).map(|head| with_writer(head, run))
}

fn with_writer(mut head: Head, run: &Directory) -> Head {
    head.running = head.state == State::Partial && is_written(run);
    head
}

/// The head that was written after this record and for it.
fn from_head_file(run: &Directory, file: &File, record: &Metadata) -> Option<Head> {
    let head_file = run.file(HEAD_FILE).ok()?;
    let about = head_file.metadata().ok()?;
    if !about.is_file() || about.len() > MOST_HEAD_BYTES || about.modified().ok()? < record.modified().ok()? {
        return None;
    }
    let mut json = Vec::with_capacity(about.len() as usize);
    head_file.take(MOST_HEAD_BYTES).read_to_end(&mut json).ok()?;
    let HeadFile { record_bytes, record_ends, head } = serde_json::from_slice(&json).ok()?;
    let is_of_it = record_bytes == record.len() && ends_of(file, record_bytes).ok()? == record_ends;
    (is_of_it && head.schema_version == SCHEMA_VERSION).then_some(head)
}

/// Reads the whole record, in constant memory.
fn read_whole(mut file: File) -> Result<Head, Problem> {
    let damaged = |why| Problem::new(ProblemKind::Damaged, why);
    let found = serde_json::from_reader::<_, Beginning>(BufReader::new(&file));
    let version = match &found {
        Ok(record) => Some(record.schema_version.into()),
        // A newer one may have other fields.
        Err(_) => file.rewind().ok().and_then(|()| version(file)),
    };
    match (version, found) {
        (Some(found), _) if found > u64::from(SCHEMA_VERSION) => Err(Problem::new(
            ProblemKind::Newer,
            format!("schema {found}; this build reads up to {SCHEMA_VERSION}: upgrade netfathom"),
        )),
        (Some(0), _) => Err(damaged("it has no schema_version".into())),
        (_, Ok(record)) => Ok(record.into()),
        (_, Err(e)) if e.is_eof() => {
            Err(damaged(format!("it is cut off at line {}, column {}", e.line(), e.column())))
        }
        (_, Err(e)) => Err(damaged(e.to_string())),
    }
}

fn version(file: File) -> Option<u64> {
    serde_json::from_reader::<_, Version>(BufReader::new(file)).ok()?.number()
}
