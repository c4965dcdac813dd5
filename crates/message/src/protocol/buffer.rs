//! Where bytes from the socket lie until they are taken.

use std::ops::Range;

/// One contiguous piece of memory, filled at its end and taken from its front.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Buffer {
    pub fn new(capacity: usize) -> Self {
        Self { bytes: vec![0; capacity].into(), start: 0, end: 0 }
    }

    #[inline]
    pub fn filled(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    pub fn capacity(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    #[inline]
    pub fn at(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    /// Takes bytes from the front; they lie where they are until [`Buffer::room`] is next called.
    #[inline]
    pub fn take(&mut self, bytes: usize) -> Range<usize> {
        let from = self.start;
        self.start += bytes;
        from..self.start
    }

    /// Free memory at the end, of at least `need` bytes if that much exists. What is left of an
    /// unfinished frame is moved to the front only if it would not fit otherwise.
    pub fn room(&mut self, need: usize) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.bytes.len() - self.end < need {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        &mut self.bytes[self.end..]
    }

    #[inline]
    pub fn add(&mut self, bytes: usize) {
        self.end += bytes;
        debug_assert!(self.end <= self.bytes.len());
    }

    /// Adds bytes at the end, before `behind` bytes that were put right there already.
    pub fn insert(&mut self, bytes: &[u8], behind: usize) {
        if !bytes.is_empty() {
            self.bytes.copy_within(self.end..self.end + behind, self.end + bytes.len());
            self.bytes[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        }
        self.add(bytes.len() + behind);
    }
}
