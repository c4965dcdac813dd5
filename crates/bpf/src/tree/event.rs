//! What comes out of the ring.

use std::ffi::OsStr;
use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::abi::{CALLED, OPENED, copied};
use crate::mapping::from_bytes;

/// Something that a thread of the benchmark did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEvent {
    /// When the call began, by CLOCK_MONOTONIC in nanoseconds.
    pub at_ns: u64,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It began to open a file with one of the watched names, which may still fail.
    Opened {
        /// The name's place in [`super::Watching::opens`].
        which: usize,
        /// As given; if it is cut the last 256 bytes, which may begin within a component.
        path: PathBuf,
        /// Whether the beginning of the path is missing.
        cut: bool,
    },
    /// It began a system call for the k-th time in the tree.
    Called {
        /// The pair's place in [`super::Watching::calls`].
        which: usize,
    },
}

/// The event that a program wrote, up to the end of its path; `None` if it is none.
pub(super) fn read(bytes: &[u8]) -> Option<TreeEvent> {
    let mut padded = [0; size_of::<copied::Event>()];
    padded.get_mut(..bytes.len())?.copy_from_slice(bytes);
    let event: copied::Event = from_bytes(&padded)?;
    let path = || {
        let end = offset_of!(copied::Event, path) + event.length as usize;
        let path = (end <= bytes.len()).then(|| &event.path[..event.length as usize])?;
        Some(PathBuf::from(OsStr::from_bytes(path)))
    };
    let which = event.which as usize;
    let what = match event.kind {
        OPENED => What::Opened { which, path: path()?, cut: event.cut != 0 },
        CALLED => What::Called { which },
        _ => return None,
    };
    Some(TreeEvent { at_ns: event.at_ns, what })
}
