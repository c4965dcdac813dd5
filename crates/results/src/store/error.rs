//! What can go wrong with a run on disk: what was tried, on what, why it failed, what to do.

use std::io;
use std::path::{Path, PathBuf};

use netfathom_model::record::SCHEMA_VERSION;

use super::MOST_RECORD_BYTES;

/// Why something could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A run of that name is there already; two runs never share a directory.
    #[error("cannot make the run directory {path}: it is there already; start again for a new run id", path = .path.display())]
    AlreadyThere { path: PathBuf },
    #[error("cannot {action} {path}: {source}; {remedy}{kept}", path = .path.display(), remedy = remedy_of(.source, .path), kept = unharmed(*.kept))]
    Io {
        /// What was tried, as `write`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
        /// Whether an earlier version of the file stands as it was.
        kept: bool,
    },
    /// The record cannot be put into JSON so that it can be read again.
    #[error("the record of {path} cannot be written: {why}; this is a defect of netfathom, please report it", path = .path.display())]
    Unwritable {
        /// Where it was to go.
        path: PathBuf,
        /// What JSON cannot hold, such as a number that is not finite.
        why: String,
    },
    #[error("cannot encode the samples for {path}: {source}; this is a defect of netfathom, please report it", path = .path.display())]
    Encode { path: PathBuf, source: parquet::errors::ParquetError },
}

/// What to do about a refusal of the operating system.
fn remedy_of(source: &io::Error, path: &Path) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space there or choose another disk with --out DIR"
        }
        io::ErrorKind::FileTooLarge => "raise the limit of file sizes (ulimit -f)",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "choose a directory that you may write to with --out DIR"
        }
        io::ErrorKind::AlreadyExists if path.ancestors().any(is_dangling) => {
            "a symbolic link stands there, and its target is missing: make that, or choose another directory with --out DIR"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "a file stands where a directory should be: choose another with --out DIR"
        }
        _ => "choose another directory with --out DIR",
    }
}

fn is_dangling(path: &Path) -> bool {
    path.is_symlink() && !path.exists()
}

fn unharmed(kept: bool) -> &'static str {
    if kept { " (what was written before is unharmed)" } else { "" }
}

/// Why a record could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("{path}: there is no such run; name a run directory, its record.json, or - for standard input", path = .path.display())]
    NotFound { path: PathBuf },
    /// A directory without a record, or a file that holds something else.
    #[error("{path} is not a run: {why}", path = .path.display())]
    NotARun {
        path: PathBuf,
        /// What it is instead, and what to name.
        why: String,
    },
    #[error("cannot read {path}: {source}", path = .path.display())]
    Io { path: PathBuf, source: io::Error },
    /// No JSON, cut off, or not the fields of a record.
    #[error("{path} is damaged at line {line}, column {column}: {why}; netfathom never leaves a record half written, so look for a copy from before it was changed", path = .path.display())]
    Damaged {
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column in bytes, from 1.
        column: usize,
        why: String,
    },
    #[error("{path} is damaged: {excess}; netfathom writes no such number, so look for a copy from before it was changed", path = .path.display())]
    BeyondMeasure {
        path: PathBuf,
        /// The name of the number, the number and what is wrong with it.
        excess: String,
    },
    #[error("{path} has more than {} MiB: no record of netfathom is so large, and it is not read", MOST_RECORD_BYTES >> 20, path = .path.display())]
    TooLarge {
        /// What was to be read.
        path: PathBuf,
    },
    #[error("{path} has no schema_version, which every record starts with: it is not a record of netfathom", path = .path.display())]
    MissingVersion { path: PathBuf },
    #[error("{path} was written by a newer netfathom, schema {found}; this build reads up to {SCHEMA_VERSION}: upgrade netfathom to read it", path = .path.display())]
    Newer { path: PathBuf, found: u64 },
}
