//! The directory of one run, and writing into it by rename.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use netfathom_model::record::Record;
use netfathom_sys::directory::Directory;

use super::atomic_write::write_whole_in;
use super::{HEAD_FILE, RECORD_FILE, WriteError, Written, bounds, head};

/// The directory of one run. Every file in it is either whole or not there.
#[derive(Clone, Debug)]
pub struct RunDir {
    out: Directory,
    directory: Directory,
    /// Locked for as long as the run is written; `None` where the file system has no locks.
    _written: Option<Arc<File>>,
}

impl RunDir {
    /// Makes `<out>/<record_id>/`, and `out` where it is not there yet.
    pub fn create(out: &Path, record_id: &str) -> Result<Self, WriteError> {
        let refused = |action, path: &Path, source| WriteError::Io {
            action,
            path: path.to_owned(),
            source,
            kept: false,
        };
        let make = "make the directory";
        fs::create_dir_all(out).map_err(|e| refused(make, out, e))?;
        let out = Directory::open_to_write(out).map_err(|e| refused("write into", out, e))?;
        let path = out.path().join(record_id);
        let directory = out.make(record_id).map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists => WriteError::AlreadyThere { path: path.clone() },
            _ => refused(make, &path, e),
        })?;
        // The name itself must survive a crash of the machine.
        out.sync().map_err(|e| refused(make, &path, e))?;
        let lock = directory.again().ok().filter(locked);
        Ok(Self { out, directory, _written: lock.map(Arc::new) })
    }

    /// Where it was made.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Itself, wherever its name leads by now.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Removes its record, and itself if nothing else is in it: a run without a result is of no use.
    pub fn discard(&self) {
        let _ = self.directory.remove(RECORD_FILE);
        let _ = self.directory.remove(HEAD_FILE);
        self.remove_if_empty();
    }

    /// Leaves no directory of a run that nothing could be written of.
    pub fn remove_if_empty(&self) {
        let _ = self.out.remove_empty(self.path().file_name().unwrap_or_default());
    }

    /// Replaces `record.json` by this record, and then its head.
    ///
    /// # Errors
    /// If the disk refuses, or the record holds what JSON cannot (such as a number that is
    /// not finite); the record before it then stands unharmed.
    pub fn write_record(&self, record: &Record) -> Result<(), WriteError> {
        let unwritable = |e: serde_json::Error| WriteError::Unwritable {
            path: self.path().to_owned(),
            why: e.to_string(),
        };
        let json = Written::of(record).json().map_err(unwritable)?;
        // JSON turns numbers that are not finite into null, silently; only reading shows it.
        serde_json::from_slice::<Record>(&json).map_err(unwritable)?;
        // What has no reader is not written.
        if let Some(excess) = bounds::excess(&json) {
            return Err(WriteError::Unwritable { path: self.path().to_owned(), why: excess });
        }
        let head = head::file_of(&json).map_err(unwritable)?;
        self.write_file(RECORD_FILE, &json)?;
        // A list reads the record itself where this is missing.
        let _ = self.write_file(HEAD_FILE, &head);
        Ok(())
    }

    /// Writes or replaces a file of the run, such as `report.html`.
    ///
    /// # Errors
    /// If the disk refuses; a file of that name from before then stands unharmed.
    pub fn write_file(&self, name: &str, content: &[u8]) -> Result<(), WriteError> {
        replace(&self.directory, name, |file| file.write_all(content).map_err(Into::into))
    }
}

/// Whether the lock of those who write could be had. Who lists runs holds the other kind for a moment.
fn locked(directory: &File) -> bool {
    const TRIES: u32 = 50;
    for _ in 0..TRIES {
        match directory.try_lock_shared() {
            Ok(()) => return true,
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
            // Not every file system has locks.
            Err(TryLockError::Error(_)) => return false,
        }
    }
    false
}

/// Why the content of a file could not be written.
pub(crate) enum ContentError {
    Io(io::Error),
    Encode(parquet::errors::ParquetError),
}

impl From<io::Error> for ContentError {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

/// Writes a file of a run, whole or not at all.
pub(crate) fn replace(
    run: &Directory,
    name: &str,
    write: impl FnOnce(&mut File) -> Result<(), ContentError>,
) -> Result<(), WriteError> {
    write_whole_in(run, OsStr::new(name), write).map_err(|e| {
        let path = run.path().join(name);
        match e {
            ContentError::Io(source) => {
                WriteError::Io { action: "write", path, source, kept: run.is_file(name) }
            }
            ContentError::Encode(source) => WriteError::Encode { path, source },
        }
    })
}
