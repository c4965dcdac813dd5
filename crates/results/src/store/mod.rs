//! Runs on disk: one directory a run, written so that a kill at any moment leaves the
//! record before it readable.

mod atomic_write;
mod bounds;
mod catalogue;
mod error;
mod head;
mod id;
mod leftovers;
mod read;
mod record_file;
mod remove;
pub(crate) mod run_dir;
pub mod samples;
mod tags;

pub use atomic_write::{write_whole, write_whole_in};
pub use bounds::MOST_RECORD_BYTES;
pub use catalogue::{
    Catalogue, CatalogueError, Filter, Moment, MomentError, ResolveError, RunEntry, catalogue,
    catalogue_of_records, resolve,
};
pub use error::{ReadError, WriteError};
pub use head::{Head, Problem, ProblemKind};
pub use id::{IdError, new_id, rfc3339};
pub use leftovers::remove_leftovers;
pub use read::{read, read_run};
pub use record_file::Written;
pub use remove::{RemoveError, remove, size_bytes};
pub use run_dir::RunDir;
pub use samples::SamplesError;
pub use tags::{TagError, tag, untag};

/// The name of the record within its directory.
pub const RECORD_FILE: &str = "record.json";
/// The name of the file that a list of runs reads instead of the record.
pub const HEAD_FILE: &str = "head.json";
/// The name of the picture within its directory.
pub const REPORT_FILE: &str = "report.html";
/// The name of the raw stream within its directory.
pub const SAMPLES_FILE: &str = "samples.parquet";
/// The name of the raw stream as a capture.
pub const CAPTURE_FILE: &str = "samples.pcapng";
/// The name of the file of tags within its directory.
pub const TAGS_FILE: &str = "tags.json";
