//! What is written with one system call, or the rest of it.

use bytes::Bytes;

use super::posting::PostId;
use crate::wire::Header;

/// Frames on their way out: those that were staged, then at most one piece of a post.
///
/// It is taken out of [`super::Outgoing`] and written without any lock held, so that others can
/// stage meanwhile.
#[derive(Debug, Default)]
pub struct Batch {
    pub(super) bytes: Vec<u8>,
    pub(super) chunk: Bytes,
    pub(super) posts: Vec<PostId>,
    written: usize,
    frame_end: usize,
}

impl Batch {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// What is still to be written, in order.
    #[inline]
    pub fn parts(&self) -> [&[u8]; 2] {
        let bytes = self.bytes.get(self.written..).unwrap_or_default();
        let chunk = self.written.saturating_sub(self.bytes.len());
        [bytes, &self.chunk[chunk..]]
    }

    /// Of what is still to be written, only the first frame.
    pub fn one_frame(&mut self) -> [&[u8]; 2] {
        if self.written >= self.frame_end
            && let Ok(Some((header, _))) = Header::read(&self.bytes[self.written.min(self.bytes.len())..])
        {
            self.frame_end = self.written + header.frame();
        }
        let [bytes, chunk] = self.parts();
        let left = self.frame_end.saturating_sub(self.written);
        [&bytes[..left.min(bytes.len())], &chunk[..left.saturating_sub(bytes.len()).min(chunk.len())]]
    }

    /// Books `bytes` as written.
    #[inline]
    pub fn wrote(&mut self, bytes: usize) {
        self.written += bytes;
    }

    /// Adds the rest of a body that was to be written straight from its owner.
    pub fn append(&mut self, rest: &[u8]) {
        debug_assert!(rest.is_empty() || self.chunk.is_empty(), "a body follows its header");
        self.bytes.extend_from_slice(rest);
    }

    /// Bytes still to be written.
    #[inline]
    pub fn left(&self) -> usize {
        self.bytes.len() + self.chunk.len() - self.written
    }

    /// Whether nothing of the first frame was written, so that another could go before.
    pub fn untouched(&self) -> bool {
        self.written == 0
    }

    /// The memory of it, for the next.
    pub(super) fn emptied(mut self) -> Vec<u8> {
        self.bytes.clear();
        self.bytes
    }
}
