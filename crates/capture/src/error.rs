//! Why a capture or a log cannot be read, or not to its end.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error("cannot read on at byte {offset}: {source}")]
    Io { offset: u64, source: io::Error },
    #[error("cannot open {path}: {source}")]
    Open { path: String, source: io::Error },
    #[error("{0}")]
    NotThis(String),
    #[error("damaged at byte {offset}: {why}")]
    Damaged {
        /// Where, in bytes from the start of the unpacked file.
        offset: u64,
        why: String,
    },
}
