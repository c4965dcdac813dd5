//! Why a capture or a log cannot be read, or not to its end.

use std::io;

/// Why a capture or a log cannot be read, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The operating system, or what unpacks the file, refused.
    #[error("cannot read on at byte {offset}: {source}")]
    Io {
        /// Bytes that were read before, unpacked.
        offset: u64,
        source: io::Error,
    },
    /// It cannot be opened.
    #[error("cannot open {path}: {source}")]
    Open { path: String, source: io::Error },
    /// It never was what it was taken for.
    #[error("{0}")]
    NotThis(String),
    /// It is damaged, or ends too early.
    #[error("damaged at byte {offset}: {why}")]
    Damaged {
        /// Where, in bytes from the start of the unpacked file.
        offset: u64,
        /// What is wrong there.
        why: String,
    },
}
