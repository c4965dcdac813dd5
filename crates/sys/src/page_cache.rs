//! What of a file lies in the machine's memory, and putting it out of there: of one's own
//! files, without privilege, and without touching anybody else's.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::Advice;

use crate::call::{Mapped, done};
use crate::memory::page_bytes;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Residency {
    pub resident_pages: u64,
    pub pages: u64,
}

/// Writes what was changed of the file's data to its disk. `wait` also waits for the disk; without
/// it the writing is only begun, so that many files may be written side by side
/// (sync_file_range(2)). Whether the file outlives a crash is not its concern.
pub fn write_back(file: &File, wait: bool) -> io::Result<()> {
    let waits = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let flags = libc::SYNC_FILE_RANGE_WRITE | if wait { waits } else { 0 };
    // SAFETY: no pointers.
    done(unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, flags) })
}

/// Takes the file's data out of memory, but for what was changed and not yet written back, and
/// what somebody has mapped (posix_fadvise(2)). The kernel keeps what it cannot spare, all of a file system
/// in memory for one: [`residency`] tells.
pub fn forget(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fadvise(file, 0, None, Advice::DontNeed)?)
}

/// How much of the file lies in memory (mincore(2)). Since Linux 5.2 the kernel reports this only to the owner
/// of the file and to users who may write to it; to others it reports every page as resident.
pub fn residency(file: &File) -> io::Result<Residency> {
    let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    if bytes == 0 {
        return Ok(Residency::default());
    }
    // Mapping alone brings no pages in.
    let mapped = Mapped::new(bytes, libc::PROT_READ, libc::MAP_SHARED, Some((file.as_fd(), 0)))?;
    let pages = bytes.div_ceil(page_bytes());
    let mut states = vec![0_u8; pages];
    // SAFETY: the mapping is so long, and `states` has a byte for each of its pages.
    done(unsafe { libc::mincore(mapped.start.as_ptr().cast(), bytes, states.as_mut_ptr()) })?;
    let resident = states.iter().filter(|&&state| state & 1 != 0).count();
    Ok(Residency { resident_pages: resident as u64, pages: pages as u64 })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_was_written_is_there_until_it_is_forgotten() {
        // Beside the program under test: /tmp may lie in memory, where nothing can be forgotten.
        let program = std::env::current_exe().unwrap();
        let directory = program.parent().unwrap();
        let mut file = tempfile::tempfile_in(directory).unwrap();
        assert_eq!(residency(&file).unwrap(), Residency::default());
        file.write_all(&vec![1; 64 * page_bytes() + 1]).unwrap();
        assert_eq!(residency(&file).unwrap(), Residency { resident_pages: 65, pages: 65 });
        write_back(&file, false).unwrap();
        write_back(&file, true).unwrap();
        forget(&file).unwrap();
        let left = residency(&file).unwrap();
        assert_eq!(left.pages, 65);
        let kind =
            std::process::Command::new("stat").args(["-f", "-c", "%T"]).arg(directory).output().unwrap();
        if matches!(kind.stdout.as_slice(), b"tmpfs\n" | b"ramfs\n") {
            netfathom_testkit::skipped("sys::page_cache", "the build directory lies in memory");
        } else {
            assert_eq!(left.resident_pages, 0);
        }
    }
}
