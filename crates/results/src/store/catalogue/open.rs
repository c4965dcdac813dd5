//! Opening what lies in a directory of runs, and nothing that a link in it leads to.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::Errno;

use super::head::{Problem, ProblemKind};
use crate::store::{MOST_RECORD_BYTES, RECORD_FILE};

/// The directory of runs itself may be reached by links: its user has named it.
pub fn directory(out: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(open(out, flags, Mode::empty())?)
}

/// A run's directory; a link is refused.
pub fn directory_in(out: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(out, name, flags, Mode::empty())
}

/// A plain file of a run; a link is refused with [`Errno::LOOP`], and a pipe is not waited for.
pub fn file_in(run: &OwnedFd, name: &str) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    openat(run, name, flags, Mode::empty()).map(File::from)
}

/// The record of a run and its size in bytes, which is bounded.
pub fn record_of(run: &OwnedFd) -> Result<(File, u64), Problem> {
    let unreadable = |why: String| Problem::new(ProblemKind::Unreadable, why);
    let file = file_in(run, RECORD_FILE).map_err(|e| match e {
        Errno::NOENT => Problem::new(ProblemKind::NoRecord, without_record(run.as_fd())),
        Errno::LOOP => unreadable(format!("{RECORD_FILE} is a symbolic link, which is not followed")),
        why => unreadable(format!("cannot open {RECORD_FILE}: {why}")),
    })?;
    let about = file.metadata().map_err(|e| unreadable(e.to_string()))?;
    if !about.is_file() {
        return Err(unreadable(format!("{RECORD_FILE} is no plain file")));
    }
    if about.len() > MOST_RECORD_BYTES {
        let most_mib = MOST_RECORD_BYTES >> 20;
        let why = format!("{RECORD_FILE} has more than {most_mib} MiB, as no record of netfathom has");
        return Err(Problem::new(ProblemKind::Damaged, why));
    }
    Ok((file, about.len()))
}

fn without_record(run: BorrowedFd<'_>) -> String {
    if is_written(run) {
        "it has only begun".into()
    } else {
        "killed before its first trial, or its record is lost".into()
    }
}

/// Whether a netfathom is writing this run now: it holds a lock for as long as it does.
pub fn is_written(run: BorrowedFd<'_>) -> bool {
    // Opened anew, so that the lock is ours and goes with it.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(again) = openat(run, ".", flags, Mode::empty()) else { return false };
    matches!(File::from(again).try_lock(), Err(TryLockError::WouldBlock))
}
