//! Opening what lies in a directory of runs, and nothing that a link in it leads to.

use std::fs::{File, Metadata, TryLockError};

use netfathom_sys::directory::Directory;
use rustix::io::Errno;

use super::{Problem, ProblemKind};
use crate::store::{MOST_RECORD_BYTES, RECORD_FILE};

/// The record of a run, of a bounded size.
pub fn record_of(run: &Directory) -> Result<(File, Metadata), Problem> {
    let unreadable = |why: String| Problem::new(ProblemKind::Unreadable, why);
    let file = run.file(RECORD_FILE).map_err(|e| match Errno::from_io_error(&e) {
        Some(Errno::NOENT) => Problem::new(ProblemKind::NoRecord, without_record(run)),
        Some(Errno::LOOP) => unreadable(format!("{RECORD_FILE} is a symbolic link, which is not followed")),
        _ => unreadable(format!("cannot open {RECORD_FILE}: {e}")),
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
    Ok((file, about))
}

fn without_record(run: &Directory) -> String {
    if is_written(run) {
        "it has only begun".into()
    } else {
        "killed before its first trial, or its record is lost".into()
    }
}

/// Whether a netfathom is writing this run now: it holds a lock for as long as it does.
pub fn is_written(run: &Directory) -> bool {
    // Opened anew, so that the lock is ours and goes with it.
    run.again().is_ok_and(|again| matches!(again.try_lock(), Err(TryLockError::WouldBlock)))
}
