//! Runs on disk: one directory a run, written so that a kill at any moment leaves the
//! record before it readable.

mod error;
mod id;
mod read;
pub(crate) mod run_dir;
pub mod samples;
mod sweep;

pub use error::{ReadError, WriteError};
pub use id::{new_id, rfc3339};
pub use read::read;
pub use run_dir::RunDir;
pub use samples::SamplesError;
pub use sweep::sweep;

/// The name of the record within its directory.
pub const RECORD_FILE: &str = "record.json";
/// The name of the picture within its directory.
pub const REPORT_FILE: &str = "report.html";
/// The name of the raw stream within its directory.
pub const SAMPLES_FILE: &str = "samples.parquet";
/// The name of the raw stream as a capture.
pub const CAPTURE_FILE: &str = "samples.pcapng";
