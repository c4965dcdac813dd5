//! Removing runs, and nothing else.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use netfathom_sys::directory::Directory;
use rustix::io::Errno;

use super::head::{ProblemKind, is_written, of_record};
use super::id::started_of;

/// Bytes of a block, as the system counts them.
const BLOCK_BYTES: u64 = 512;

#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    #[error("{path} is not removed: {why}", path = .path.display())]
    NotARun {
        /// The directory, as named.
        path: PathBuf,
        why: &'static str,
    },
    #[error("cannot remove {path}: {source}; some of its files may be gone", path = .path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Removes a run and all that is in its directory. `run` stands directly in a directory of runs; it is removed only if it holds
/// a record or is named like a run. Symbolic links are removed themselves, never what they lead to.
pub fn remove(run: &Path) -> Result<(), RemoveError> {
    let refused = |why| RemoveError::NotARun { path: run.to_owned(), why };
    let (Some(Component::Normal(name)), Some(out)) = (run.components().next_back(), run.parent()) else {
        return Err(refused("it is no directory of one run"));
    };
    let failed = |source| RemoveError::Io { path: run.to_owned(), source };
    let out = Directory::open_to_write(out).map_err(failed)?;
    let inside = out.within(name).map_err(|e| match Errno::from_io_error(&e) {
        Some(Errno::LOOP | Errno::NOTDIR) => {
            refused("it is a file or a symbolic link, not the directory of a run")
        }
        _ => failed(e),
    })?;
    let is_run = of_record(&inside).err().is_none_or(|problem| problem.kind == ProblemKind::Newer);
    if !is_run && started_of(&name.to_string_lossy()).is_none() {
        return Err(refused("it holds no record that can be read, and is not named like a run"));
    }
    if is_written(&inside) {
        return Err(refused("it is being written; end that run first"));
    }
    // What was looked at goes, whatever has its name by now.
    inside.clear().and_then(|()| out.remove_empty(name)).map_err(failed)
}

/// What removing a directory would free, in bytes on the disk.
///
/// What cannot be read counts nothing.
pub fn size_bytes(run: &Path) -> u64 {
    let mut left = vec![run.to_owned()];
    let mut sum = 0;
    while let Some(path) = left.pop() {
        let Ok(about) = fs::symlink_metadata(&path) else { continue };
        // A file with another name elsewhere stays.
        if about.is_dir() || about.nlink() == 1 {
            sum += about.blocks() * BLOCK_BYTES;
        }
        if about.is_dir() {
            left.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|e| e.path()));
        }
    }
    sum
}
