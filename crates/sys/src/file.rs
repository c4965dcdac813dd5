//! Files that may be pipes.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Creates a file, or empties it. A pipe that nobody reads is refused (`ENXIO`) instead of
/// waited for, which no signal of ours would end.
///
/// # Errors
/// Those of open(2).
pub fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    if fs::metadata(path).is_ok_and(|m| m.file_type().is_fifo()) {
        // Only to see whether there is a reader: what is written must be able to wait for it.
        let _there_is = options.clone().custom_flags(libc::O_NONBLOCK).open(path)?;
        return options.open(path);
    }
    options.open(path)
}
