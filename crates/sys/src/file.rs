//! Files that may be pipes, and the room that there is for files.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Creates a file, or truncates it. A pipe without a reader is refused (`ENXIO`): to wait for a reader could not be
/// interrupted by our signals.
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

/// The room that a file system has for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes that may still be written.
    pub free_bytes: u64,
    /// Files and directories that may still be made; `None` where the file system sets no limit.
    pub free_entries: Option<u64>,
    /// Bytes of a block: a file takes whole ones.
    pub block_bytes: u64,
}

/// The room of the file system that a path lies on (statvfs(3)).
pub fn room(path: &Path) -> io::Result<Room> {
    let found = rustix::fs::statvfs(path)?;
    // btrfs and others make entries as they need them, and say that there are none at all.
    let free_entries = (found.f_files > 0).then_some(found.f_favail);
    Ok(Room { free_bytes: found.f_bavail * found.f_frsize, free_entries, block_bytes: found.f_frsize })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_where_a_file_can_be_made() {
        let here = room(&std::env::temp_dir()).unwrap();
        assert!(here.free_bytes > 0 && here.block_bytes.is_power_of_two(), "{here:?}");
        assert_ne!(here.free_entries, Some(0));
        // /proc has room for nothing.
        assert_eq!(room(Path::new("/proc")).unwrap().free_bytes, 0);
        assert_eq!(room(Path::new("/is/not/there")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(room(Path::new("a\0b")).is_err());
    }
}
