//! Bytes of a file through a buffer of one size, with the place of each.

use std::io::{self, Read};

use crate::error::CaptureError;

const BUFFER_BYTES: usize = 256 << 10;

/// A file and what was read ahead of it.
#[derive(Debug)]
pub struct ReadAhead<R: Read> {
    read: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Where in the file the buffer begins.
    offset: u64,
}

impl<R: Read> ReadAhead<R> {
    pub fn new(read: R) -> Self {
        Self { read, buffer: vec![0; BUFFER_BYTES].into(), start: 0, end: 0, offset: 0 }
    }

    pub fn offset(&self) -> u64 {
        self.offset + self.start as u64
    }

    /// What is there without reading.
    #[inline]
    pub fn ready(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// The next bytes, at least `bytes` unless the file ends before; at most the buffer's size.
    #[inline]
    pub fn peek(&mut self, bytes: usize) -> Result<&[u8], CaptureError> {
        if self.end - self.start < bytes {
            self.fill(bytes)?;
        }
        Ok(self.ready())
    }

    /// Consumes `bytes` of the peeked bytes.
    #[inline]
    pub fn consume(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
    }

    /// The next `N` bytes, consumed; `None` if the file ends before them.
    pub fn take<const N: usize>(&mut self) -> Result<Option<[u8; N]>, CaptureError> {
        let taken = self.peek(N)?.first_chunk::<N>().copied();
        if taken.is_some() {
            self.consume(N);
        }
        Ok(taken)
    }

    #[cold]
    fn fill(&mut self, bytes: usize) -> Result<(), CaptureError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.offset += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        while self.end < bytes.min(self.buffer.len()) {
            match self.read.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(n) => self.end += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(CaptureError::Io { offset: self.offset + self.end as u64, source });
                }
            }
        }
        Ok(())
    }
}
