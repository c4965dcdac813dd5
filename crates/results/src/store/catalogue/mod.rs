//! The runs of a directory, found without reading more of each than its head.
//!
//! Nothing is followed out of the directory: an entry that is a symbolic link is no run, and neither is a record that
//! is one.

mod filter;
mod moment;
mod resolve;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use itertools::Itertools as _;
use jiff::Timestamp;
use netfathom_sys::directory::Directory;
use serde::{Serialize, Serializer};

pub use filter::Filter;
pub use moment::{Moment, MomentError};
pub use resolve::{ResolveError, resolve};

use super::head::{self, Head, Problem, ProblemKind};
use super::{id, tags};

/// How many entries that are no runs are named.
const MOST_STRANGERS: usize = 8;
/// Beyond this number of threads the disk is the limit.
const MOST_THREADS: usize = 4;

#[derive(Debug)]
pub struct Catalogue {
    /// Its runs, the newest first.
    pub entries: Vec<RunEntry>,
    /// How many entries are no runs: files, links, directories with neither a record nor a run's name.
    pub strangers: usize,
    /// The names of the first of them.
    pub stranger_names: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct RunEntry {
    /// The name of its directory, by which it is called; what is not UTF-8 in it is replaced.
    pub name: String,
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// When it began: by its record, or else by its name, or else when the directory was last changed.
    #[serde(serialize_with = "rfc3339")]
    pub started: Timestamp,
    pub tags: Vec<String>,
    /// Why its tags are not known.
    pub tags_problem: Option<String>,
    pub head: Option<Head>,
    /// Why there is none.
    pub problem: Option<Problem>,
}

impl RunEntry {
    /// Whether it has a record, be it a damaged one.
    pub(in crate::store) fn has_record(&self) -> bool {
        self.problem.as_ref().is_none_or(|problem| problem.kind != ProblemKind::NoRecord)
    }
}

fn lossy<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

fn rfc3339<S: Serializer>(time: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&id::in_ms(*time))
}

/// Why a directory of runs could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    #[error("there is no directory {path}: runs go to `runs` where netfathom is started, or to --out DIR; name theirs with --out DIR", path = .path.display())]
    NotFound { path: PathBuf },
    #[error("cannot read the directory of runs {path}: {source}; name another with --out DIR", path = .path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl CatalogueError {
    fn of(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path },
            _ => Self::Io { path, source },
        }
    }
}

/// Reads the heads of all runs in `out`. What is damaged is listed as such; what disappears meanwhile is left out.
pub fn catalogue(out: &Path) -> Result<Catalogue, CatalogueError> {
    read(out, head::of_run)
}

/// The same by the records alone, which takes longer: for those who act upon what they say.
pub fn catalogue_of_records(out: &Path) -> Result<Catalogue, CatalogueError> {
    read(out, head::of_record)
}

/// Fewer runs are read sooner than a thread starts.
const LEAST_SHARE: usize = 64;

/// How the head of a run is found.
type ReadHead = fn(&Directory) -> Result<Head, Problem>;

fn read(out: &Path, head: ReadHead) -> Result<Catalogue, CatalogueError> {
    let failed = |e| CatalogueError::of(out, e);
    let inside = Directory::open(out).map_err(failed)?;
    let mut directories = Vec::new();
    let mut strangers = Vec::new();
    for name in inside.names().map_err(failed)? {
        let which = if inside.is_directory(&name) { &mut directories } else { &mut strangers };
        which.push(name);
    }
    let share = directories.len().div_ceil(threads()).max(LEAST_SHARE);
    let found: Vec<Found> = thread::scope(|scope| {
        let read = |names| names_read(&inside, names, head);
        let start =
            |names| thread::Builder::new().spawn_scoped(scope, move || read(names)).map_err(|_| names);
        let mut shares = directories.chunks(share);
        let own = shares.next().unwrap_or_default();
        let parts: Vec<_> = shares.map(start).collect();
        let mut found = read(own);
        found.extend(parts.into_iter().flat_map(|part| match part {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // Where no thread can be had this one reads.
            Err(names) => read(names),
        }));
        found
    });
    let (mut entries, none): (Vec<RunEntry>, Vec<OsString>) = found.into_iter().partition_result();
    strangers.extend(none);
    entries.sort_unstable_by(|a, b| (b.started, &b.name).cmp(&(a.started, &a.name)));
    strangers.sort_unstable();
    let stranger_names = strangers.iter().take(MOST_STRANGERS).map(|n| n.to_string_lossy().into_owned());
    Ok(Catalogue { entries, strangers: strangers.len(), stranger_names: stranger_names.collect() })
}

fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS)
}

/// A run, or the name of what is none.
type Found = Result<RunEntry, OsString>;

fn names_read(out: &Directory, names: &[OsString], head: ReadHead) -> Vec<Found> {
    names.iter().filter_map(|name| entry_read(out, name, head)).collect()
}

/// `None` of a directory that is gone by now.
fn entry_read(out: &Directory, name: &OsStr, head: ReadHead) -> Option<Found> {
    let path = out.path().join(name);
    let shown = name.to_string_lossy().into_owned();
    let named = id::started_of(&shown);
    let (head, tags) = match out.within(name) {
        Ok(directory) => (head(&directory), tags::of_run(&directory)),
        Err(why) if why.kind() == io::ErrorKind::NotFound => return None,
        Err(why) => (Err(Problem::new(ProblemKind::Unreadable, why.to_string())), Ok(Vec::new())),
    };
    let (head, problem) = match head {
        Err(none) if none.kind == ProblemKind::NoRecord && named.is_none() => {
            return Some(Err(name.to_owned()));
        }
        Err(problem) => (None, Some(problem)),
        Ok(head) => (Some(head), None),
    };
    let (tags, tags_problem) = tags.map_or_else(|why| (Vec::new(), Some(why)), |tags| (tags, None));
    let started = head.as_ref().and_then(Head::started).or(named).unwrap_or_else(|| changed(&path));
    Some(Ok(RunEntry { name: shown, path, started, tags, tags_problem, head, problem }))
}

/// When a directory was changed that says nothing else of its time.
fn changed(path: &Path) -> Timestamp {
    let modified = fs::symlink_metadata(path).and_then(|m| m.modified());
    modified.ok().and_then(|t| Timestamp::try_from(t).ok()).unwrap_or(Timestamp::UNIX_EPOCH)
}
