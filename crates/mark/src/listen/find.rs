//! The rings of a process that runs already.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::error::ListenError;
use super::reader::{Reader, Refused};
use crate::os;
use crate::ring::Unusable;

/// Rings of a process that are listened to, at most: one each for copies of this library in it.
const MOST_RINGS: usize = 64;
/// So that what is no memory file does not make the opening of it wait.
const O_NONBLOCK: i32 = 0o4000;

/// Listens to all of them.
pub fn readers(pid: u32) -> Result<Vec<Reader>, ListenError> {
    let mut readers = Vec::new();
    let mut refused = None;
    for file in rings(pid)? {
        match Reader::open(file) {
            Ok(reader) => readers.push(reader),
            Err(why) => refused = refused.or(refusal(pid, &why)),
        }
    }
    match refused {
        _ if !readers.is_empty() => Ok(readers),
        Some(error) => Err(error),
        None => Err(ListenError::NoMarks { pid }),
    }
}

/// Why there is no listening, if it is a ring at all.
fn refusal(pid: u32, why: &Refused) -> Option<ListenError> {
    Some(match *why {
        Refused::Unusable(Unusable::NoRing) => return None,
        Refused::Unusable(Unusable::Version(version)) => ListenError::OtherVersion { pid, version },
        Refused::Taken(by) => ListenError::Taken { pid, by },
        Refused::NotMapped => {
            ListenError::Ring { tried: "map the ring of a process", source: io::Error::last_os_error() }
        }
    })
}

/// What looks like a ring, each opened once.
fn rings(pid: u32) -> Result<Vec<File>, ListenError> {
    let proc = PathBuf::from(format!("/proc/{pid}"));
    let refused = |source: io::Error| match source.kind() {
        _ if !proc.exists() => ListenError::NoProcess { pid },
        _ => ListenError::NotPermitted { pid, source },
    };
    let descriptors = fs::read_dir(proc.join("fd")).map_err(refused)?;
    let descriptors = descriptors.flatten().map(|entry| entry.path()).filter(|path| is_ring(path));
    let mut found: Vec<(u64, u64)> = Vec::new();
    let mut files = Vec::new();
    // A program may have closed all its descriptors; only root can follow the mappings then.
    for path in descriptors.chain(mappings(&proc)) {
        let Ok(file) = OpenOptions::new().read(true).write(true).custom_flags(O_NONBLOCK).open(&path) else {
            continue;
        };
        let Ok(meta) = file.metadata() else { continue };
        let which = (meta.dev(), meta.ino());
        if files.len() < MOST_RINGS && !found.contains(&which) {
            found.push(which);
            files.push(file);
        }
    }
    Ok(files)
}

fn prefix() -> String {
    format!("/memfd:{}", os::NAME.to_string_lossy())
}

fn is_ring(link: &Path) -> bool {
    fs::read_link(link).is_ok_and(|to| to.to_string_lossy().starts_with(&prefix()))
}

/// Those of `/proc/PID/map_files`.
fn mappings(proc: &Path) -> Vec<PathBuf> {
    let maps = fs::read_to_string(proc.join("maps")).unwrap_or_default();
    let ours = maps.lines().filter(|line| line.contains(&prefix()));
    ours.filter_map(|line| Some(proc.join("map_files").join(line.split_whitespace().next()?))).collect()
}
