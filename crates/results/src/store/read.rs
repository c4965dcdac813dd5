//! Reading a record back.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

use netfathom_model::record::{Record, SCHEMA_VERSION};
use netfathom_sys::directory::Directory;
use rustix::io::Errno;

use super::head::record_of;
use super::record_file::Version;
use super::{MOST_RECORD_BYTES, RECORD_FILE, ReadError, bounds, catalogue};

/// Reads a record from a run directory, from a `record.json`, or from standard input if
/// the path is `-`.
///
/// # Errors
/// If there is none, it is damaged (with the place), beyond all bounds, or it comes from a newer netfathom.
pub fn read(path: &Path) -> Result<Record, ReadError> {
    if path == Path::new("-") {
        let path = PathBuf::from("standard input");
        return read_from(&path, io::stdin().lock());
    }
    if path.is_dir() {
        let record = path.join(RECORD_FILE);
        return match fs::metadata(&record) {
            Ok(about) if about.is_file() => read_file(&record),
            Ok(_) => Err(ReadError::NotARun {
                path: path.to_owned(),
                why: format!("its {RECORD_FILE} is no plain file"),
            }),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Err(without_record(path)),
            Err(source) => Err(ReadError::Io { path: record, source }),
        };
    }
    read_file(path)
}

/// Reads the record of a run of a directory of runs by its directory's name, and follows no link there.
///
/// # Errors
/// As [`read`], and if it is a link.
pub fn read_run(out: &Path, name: &OsStr) -> Result<Record, ReadError> {
    let path = out.join(name);
    let not_a_run = |why: String| ReadError::NotARun { path: path.clone(), why };
    if name.as_encoded_bytes().contains(&0) || Path::new(name).components().ne([Component::Normal(name)]) {
        return Err(not_a_run("it is not the name of a directory".into()));
    }
    let io = |source: io::Error| ReadError::Io { path: path.clone(), source };
    let inside =
        Directory::open(out).map_err(io)?.within(name).map_err(|e| match Errno::from_io_error(&e) {
            Some(Errno::NOENT) => ReadError::NotFound { path: path.clone() },
            Some(Errno::LOOP | Errno::NOTDIR) => not_a_run("it is a file or a symbolic link".into()),
            _ => io(e),
        })?;
    let (file, _) = record_of(&inside).map_err(|problem| not_a_run(problem.why))?;
    read_from(&path.join(RECORD_FILE), file)
}

fn read_file(path: &Path) -> Result<Record, ReadError> {
    if is_fifo(path) {
        let why =
            "it is a FIFO, and it may never have a writer; for a record from a pipe write -, standard input";
        return Err(ReadError::NotARun { path: path.to_owned(), why: why.into() });
    }
    match File::open(path) {
        // Of a file it is known without reading.
        Ok(file) if file.metadata().is_ok_and(|about| about.len() > MOST_RECORD_BYTES) => {
            Err(ReadError::TooLarge { path: path.to_owned() })
        }
        Ok(file) => read_from(path, file),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(ReadError::NotFound { path: path.to_owned() })
        }
        Err(source) => Err(ReadError::Io { path: path.to_owned(), source }),
    }
}

/// A pipe between processes, as of `<(...)`, has a writer, and no path that it is found by.
fn is_fifo(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.file_type().is_fifo()) && path.canonicalize().is_ok()
}

fn read_from(path: &Path, from: impl Read) -> Result<Record, ReadError> {
    match bounds::read_to_end(from) {
        Ok(Some(json)) => parse(path, &json),
        Ok(None) => Err(ReadError::TooLarge { path: path.to_owned() }),
        Err(source) => Err(ReadError::Io { path: path.to_owned(), source }),
    }
}

/// Says what a directory without a record is instead.
fn without_record(path: &Path) -> ReadError {
    let runs = catalogue(path).map(|all| all.entries).unwrap_or_default();
    let why = match runs.iter().find(|run| run.has_record()) {
        Some(newest) => {
            let newest = newest.path.display();
            format!("it is a directory of runs; name one of them, such as the newest, {newest}")
        }
        None => {
            format!("it holds no {RECORD_FILE}; a run that was killed before its first trial leaves none")
        }
    };
    ReadError::NotARun { path: path.to_owned(), why }
}

fn parse(path: &Path, json: &[u8]) -> Result<Record, ReadError> {
    let path = path.to_owned();
    // What never was a record is not a damaged one.
    let never = match json.trim_ascii_start().first() {
        Some(b'[') => Some("it holds JSON, but not that of a record"),
        Some(b'<') => Some("it holds HTML, such as that of a report; name the record.json beside it"),
        _ => None,
    };
    if let Some(why) = never {
        return Err(ReadError::NotARun { path, why: why.into() });
    }
    let version = match serde_json::from_slice::<Version>(json) {
        Ok(v) => v.number(),
        Err(e) if e.is_data() => {
            return Err(ReadError::NotARun { path, why: "it holds JSON, but not that of a record".into() });
        }
        Err(e) => return Err(damaged(path, &e)),
    };
    match version {
        None | Some(0) => Err(ReadError::MissingVersion { path }),
        Some(found) if found > u64::from(SCHEMA_VERSION) => Err(ReadError::Newer { path, found }),
        Some(_) => {
            let record = serde_json::from_slice(json).map_err(|e| damaged(path.clone(), &e))?;
            match bounds::excess(json) {
                Some(excess) => Err(ReadError::BeyondMeasure { path, excess }),
                None => Ok(record),
            }
        }
    }
}

fn damaged(path: PathBuf, e: &serde_json::Error) -> ReadError {
    let text = e.to_string();
    // serde_json appends the place that the fields already say.
    let why = text.split(" at line ").next().unwrap_or(&text).to_owned();
    ReadError::Damaged { path, line: e.line(), column: e.column(), why }
}
