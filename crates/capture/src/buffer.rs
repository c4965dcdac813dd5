//! Reads in large chunks, so that a packet or a message costs no call and no copy.

use std::io::{self, Read};

use crate::error::CaptureError;

/// The most that is read at once: more does not stay in a processor's second cache until it is used.
const CHUNK_BYTES: usize = 256 << 10;
/// The most that [`Buffer::have`] can be asked for: the largest block and its neighbour's begin.
pub const MOST_BYTES: usize = 512 << 10;

const LINE_BYTES: usize = 64;

#[derive(Debug)]
pub struct Buffer<R> {
    read: R,
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
    /// Of `bytes[start]` in the file.
    offset: u64,
    /// Nothing more comes.
    ended: bool,
}

impl<R: Read> Buffer<R> {
    pub fn new(read: R) -> Self {
        let bytes = vec![0; MOST_BYTES + CHUNK_BYTES + 2 * LINE_BYTES].into_boxed_slice();
        Self { read, bytes, start: 0, end: 0, offset: 0, ended: false }
    }

    /// Where in the file [`Buffer::bytes`] begins.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// The last `bytes` that were used.
    #[inline]
    pub fn used(&self, bytes: usize) -> &[u8] {
        &self.bytes[self.start - bytes..self.start]
    }

    /// Reads until `bytes` bytes are there, or the input ends. The caller checks how many there
    /// are.
    #[inline]
    pub fn have(&mut self, wanted: usize) -> Result<&[u8], CaptureError> {
        if self.end - self.start < wanted && !self.ended {
            self.fill(wanted)?;
        }
        Ok(self.bytes())
    }

    #[inline]
    pub fn consume(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.end - self.start);
        self.start += bytes;
        self.offset += bytes as u64;
    }

    /// Skips `bytes` bytes, which need not be there yet; returns how many there were.
    pub fn skip(&mut self, bytes: u64) -> Result<u64, CaptureError> {
        let mut left = bytes;
        while left > 0 {
            let there = self.have(1)?.len();
            if there == 0 {
                break;
            }
            let step = usize::try_from(left).map_or(there, |left| left.min(there));
            self.consume(step);
            left -= step as u64;
        }
        Ok(bytes - left)
    }

    #[cold]
    fn fill(&mut self, wanted: usize) -> Result<(), CaptureError> {
        debug_assert!(wanted <= MOST_BYTES);
        self.make_room();
        while self.end - self.start < wanted && !self.ended {
            let room = &mut self.bytes[self.end..];
            let most = room.len().min(CHUNK_BYTES);
            match self.read.read(&mut room[..most]) {
                Ok(0) => self.ended = true,
                Ok(bytes) => self.end += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    let offset = self.offset + (self.end - self.start) as u64;
                    return Err(CaptureError::Io { offset, source });
                }
            }
        }
        Ok(())
    }

    /// Moves what is there to the front, so that there is room for a chunk behind all that can
    /// be wanted. What is read next goes to the begin of a cache line: the kernel copies there
    /// in two thirds of the time that it takes elsewhere (0.08 instead of 0.12 s for 610 MB).
    fn make_room(&mut self) {
        let there = self.end - self.start;
        let first_line = self.bytes.as_ptr().align_offset(LINE_BYTES);
        // No more than a line each, whatever the allocator gave.
        let end = first_line.min(LINE_BYTES) + there.next_multiple_of(LINE_BYTES);
        self.bytes.copy_within(self.start..self.end, end - there);
        self.start = end - there;
        self.end = end;
    }
}
