//! Why a listener cannot start.

use std::error::Error;
use std::{fmt, io};

use crate::layout::VERSION;

/// Why there is no listening to a process, or no ring for one that is started.
#[derive(Debug)]
#[non_exhaustive]
pub enum ListenError {
    /// There is no such process.
    NoProcess {
        /// Its number.
        pid: u32,
    },
    /// The system does not let this user look at it.
    NotPermitted {
        /// The process.
        pid: u32,
        /// The error of the system.
        source: io::Error,
    },
    /// It has no ring: it has made no mark yet, or makes none.
    NoMarks {
        /// The process.
        pid: u32,
    },
    /// Its ring is of another version of this library.
    OtherVersion {
        /// The process.
        pid: u32,
        /// That of its ring.
        version: u32,
    },
    /// Another listener has its ring.
    Taken {
        /// The process.
        pid: u32,
        /// The process that listens, by its own number; 0 if it has not stored that yet.
        by: u32,
    },
    /// No ring could be made, mapped or handed down.
    Ring {
        /// What was tried.
        tried: &'static str,
        /// The error of the system.
        source: io::Error,
    },
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProcess { pid } => {
                write!(f, "cannot listen to process {pid}: there is no such process; look it up with ps")
            }
            Self::NotPermitted { pid, source } => write!(
                f,
                "cannot listen to process {pid}: its descriptors may not be looked at ({source}); be the user \
                 that it runs as, or root, and see /proc/sys/kernel/yama/ptrace_scope if there is one"
            ),
            Self::NoMarks { pid } => write!(
                f,
                "cannot listen to process {pid}: it has no ring of marks; either it is not linked with \
                 netfathom's marks, or it has made none yet: wait for its first, or start it under netfathom"
            ),
            Self::OtherVersion { pid, version } => write!(
                f,
                "cannot listen to process {pid}: its marks are of version {version} and this program reads \
                 version {VERSION}; build both with the same library"
            ),
            Self::Taken { pid, by } => {
                let who = if *by == 0 { "another process".to_owned() } else { format!("process {by}") };
                write!(
                    f,
                    "cannot listen to process {pid}: {who} listens to it already, and a ring has one listener; \
                     end that first"
                )
            }
            Self::Ring { tried, source } => write!(
                f,
                "cannot {tried}: {source}; marks need a few MiB of memory files (memfd_create), as much as \
                 `ulimit -f` must allow, a descriptor or two, and /proc"
            ),
        }
    }
}

impl Error for ListenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NotPermitted { source, .. } | Self::Ring { source, .. } => Some(source),
            _ => None,
        }
    }
}
