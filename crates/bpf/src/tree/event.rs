//! What comes out of the ring.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Something that a thread of the benchmark did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, by CLOCK_MONOTONIC in nanoseconds. Of system calls: when they began.
    pub at_ns: u64,
    /// Its process, in our PID namespace; `None` if it is in another.
    pub pid: Option<u32>,
    /// The thread itself, likewise.
    pub tid: Option<u32>,
    /// What it did.
    pub what: What,
}

/// What a thread did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It became another program.
    Executed {
        /// Whether it was the first process of the tree.
        root: bool,
        /// The program, as it was called; of a path longer than 256 bytes the end.
        path: PathBuf,
    },
    /// It began to open a file with one of the watched names, which may still fail.
    Opened {
        /// The name's place in [`super::Watching::opens`].
        which: usize,
        /// As given; if it is cut the last 256 bytes, of which the first component may be a part.
        path: PathBuf,
        /// Whether the beginning of the path is missing.
        cut: bool,
    },
    /// It began a system call for the k-th time in the tree.
    Called {
        /// The pair's place in [`super::Watching::calls`].
        which: usize,
    },
    /// The first process of the tree ended.
    Ended,
}

/// The event in a `struct event` of abi.h; `None` if it is none.
pub(super) fn read(bytes: &[u8]) -> Option<Event> {
    let (head, path) = bytes.split_at_checked(32)?;
    let (at_ns, words) = head.split_first_chunk()?;
    let mut words = words.as_chunks().0.iter().map(|word| u32::from_ne_bytes(*word));
    let mut next = || words.next();
    let (pid, tid, kind, which, length, cut) = (next()?, next()?, next()?, next()?, next()?, next()? != 0);
    let path = || path.get(..length as usize).map(|bytes| PathBuf::from(OsStr::from_bytes(bytes)));
    let what = match kind {
        1 => What::Executed { root: which != 0, path: path()? },
        2 => What::Opened { which: which as usize, path: path()?, cut },
        3 => What::Called { which: which as usize },
        4 => What::Ended,
        _ => return None,
    };
    let known = |number: u32| Some(number).filter(|&number| number > 0);
    Some(Event { at_ns: u64::from_ne_bytes(*at_ns), pid: known(pid), tid: known(tid), what })
}
