//! What is written to a terminal that may take nothing for a while.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, ErrorKind, Write};

/// Writes go to memory, and from there to the file as far as it takes them.
pub struct Writer {
    file: File,
    unsent: RefCell<Vec<u8>>,
}

impl Writer {
    /// The file must be a nonblocking one.
    pub fn new(file: File) -> Self {
        Self { file, unsent: RefCell::default() }
    }

    /// Sends what the file takes now: whether that is all.
    ///
    /// # Errors
    /// If it takes nothing any more, as a terminal that is gone.
    pub fn send(&self) -> io::Result<bool> {
        let mut unsent = self.unsent.borrow_mut();
        while !unsent.is_empty() {
            match (&self.file).write(&unsent) {
                Ok(0) => return Ok(false),
                Ok(sent) => drop(unsent.drain(..sent)),
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock => return Ok(false),
                    _ => return Err(error),
                },
            }
        }
        Ok(true)
    }
}

impl Write for &Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unsent.borrow_mut().write(bytes)
    }

    /// Does nothing: ratatui also flushes in the middle of a frame, which an error would cut.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{PipeReader, Read};
    use std::os::fd::OwnedFd;

    use rustix::fs::{OFlags, fcntl_setfl};

    use super::*;

    /// To a pipe, which holds less than what is written.
    fn written(bytes: &[u8]) -> (PipeReader, Writer) {
        let (reader, pipe) = io::pipe().unwrap();
        fcntl_setfl(&pipe, OFlags::NONBLOCK).unwrap();
        let writer = Writer::new(File::from(OwnedFd::from(pipe)));
        (&writer).write_all(bytes).unwrap();
        assert!(!writer.send().unwrap());
        (reader, writer)
    }

    #[test]
    fn what_is_not_taken_at_once_is_sent_later_and_in_order() {
        let bytes: Vec<u8> = (0_u32..1 << 20).map(|at| (at % 251) as u8).collect();
        let (mut reader, writer) = written(&bytes);
        let (mut read, mut part) = (Vec::new(), [0; 1 << 16]);
        while !writer.send().unwrap() {
            let length = reader.read(&mut part).unwrap();
            read.extend(&part[..length]);
        }
        drop(writer);
        reader.read_to_end(&mut read).unwrap();
        assert!(read == bytes, "{} of {} bytes", read.len(), bytes.len());
    }

    #[test]
    fn without_a_reader_nothing_can_be_sent() {
        let (reader, writer) = written(&[0; 1 << 20]);
        drop(reader);
        assert_eq!(writer.send().unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
}
