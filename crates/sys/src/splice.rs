//! Bytes that go from one descriptor to another without passing through this process.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileTypeExt;

use rustix::fs::{MemfdFlags, memfd_create, sendfile};
use rustix::pipe::{self, SpliceFlags};

/// Moves up to `most` bytes, where one of both is a pipe; 0 at the end of `from`. The kernel
/// hands its pages over, and waits where there is nothing to move or no room (splice(2)).
///
/// While it waits for a socket it holds the lock of the pipe that it writes to. Until then the reader of the pipe
/// gets nothing (seen with 6.18, SPLICE_F_NONBLOCK or not): wait beforehand.
///
/// # Errors
/// Those of splice(2); a pipe without a reader is EPIPE.
#[inline]
pub fn splice(from: BorrowedFd<'_>, to: BorrowedFd<'_>, most: usize) -> io::Result<usize> {
    Ok(pipe::splice(from, None, to, None, most, SpliceFlags::MOVE)?)
}

/// Sends up to `most` bytes of a file, from where it stands; 0 at its end (sendfile(2)).
#[inline]
pub fn send_file(from: BorrowedFd<'_>, to: BorrowedFd<'_>, most: usize) -> io::Result<usize> {
    Ok(sendfile(to, from, None, most)?)
}

/// A file in memory with this content, at its beginning; it goes when it is closed.
pub fn memory_file(content: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("netfathom", MemfdFlags::CLOEXEC)?);
    file.write_all(content)?;
    file.rewind()?;
    Ok(file)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leads {
    Pipe,
    File {
        bytes: u64,
        /// The file position.
        at: u64,
    },
    Directory,
    /// A device, a socket, a terminal.
    Else,
}

pub fn leads(fd: BorrowedFd<'_>) -> io::Result<Leads> {
    let file = File::from(fd.try_clone_to_owned()?);
    let about = file.metadata()?;
    Ok(if about.file_type().is_fifo() {
        Leads::Pipe
    } else if about.is_dir() {
        Leads::Directory
    } else if about.is_file() {
        // A clone has the position of what it was made from.
        let at = (&file).stream_position()?;
        Leads::File { bytes: about.len(), at }
    } else {
        Leads::Else
    })
}

/// Makes a pipe hold that many bytes, so that more goes with each call; what it holds then.
///
/// # Errors
/// EPERM beyond `fs.pipe-max-size` without CAP_SYS_RESOURCE, or beyond the user's pages.
pub fn enlarge_pipe(pipe: BorrowedFd<'_>, bytes: usize) -> io::Result<usize> {
    Ok(pipe::fcntl_setpipe_size(pipe, bytes.min(i32::MAX as usize))?)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write, pipe};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn bytes_move_between_pipes() {
        let ((out, mut into), (mut last, next)) = (pipe().unwrap(), pipe().unwrap());
        into.write_all(b"through").unwrap();
        drop(into);
        assert_eq!(splice(out.as_fd(), next.as_fd(), 100).unwrap(), 7);
        assert_eq!(splice(out.as_fd(), next.as_fd(), 100).unwrap(), 0);
        drop(next);
        let mut text = String::new();
        last.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");
    }

    #[test]
    fn a_descriptor_tells_what_it_leads_to() {
        let (out, _into) = pipe().unwrap();
        assert_eq!(leads(out.as_fd()).unwrap(), Leads::Pipe);
        assert!(enlarge_pipe(out.as_fd(), 128 << 10).unwrap() >= 128 << 10);
        let directory = File::open("/").unwrap();
        assert_eq!(leads(directory.as_fd()).unwrap(), Leads::Directory);
        let null = File::open("/dev/null").unwrap();
        assert_eq!(leads(null.as_fd()).unwrap(), Leads::Else);
        let own = std::env::current_exe().unwrap();
        let (mut file, bytes) = (File::open(&own).unwrap(), own.metadata().unwrap().len());
        file.read_exact(&mut [0; 10]).unwrap();
        assert_eq!(leads(file.as_fd()).unwrap(), Leads::File { bytes, at: 10 });
    }
}
