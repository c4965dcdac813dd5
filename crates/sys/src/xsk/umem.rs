//! The memory that frames are in, shared with the kernel.

use std::io;

use super::FRAME_BYTES;
use crate::call::Mapped;

/// Frames of [`FRAME_BYTES`] each, all zero at first. Page-aligned, as the kernel wants it, which holds the pages by itself
/// as long as the socket is open.
pub(super) struct Umem {
    mapped: Mapped,
    frames: u32,
}

// SAFETY: the mapping belongs to this value alone, wherever it is.
unsafe impl Send for Umem {}

impl Umem {
    pub(super) fn map(frames: u32) -> io::Result<Self> {
        let bytes = frames as usize * FRAME_BYTES;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // Filled in at once: no page fault falls into a measurement.
        let mapped = Mapped::new(bytes, protection, libc::MAP_PRIVATE | libc::MAP_POPULATE, None)?;
        Ok(Self { mapped, frames })
    }

    pub(super) fn address(&self) -> u64 {
        self.mapped.start.as_ptr() as u64
    }

    pub(super) fn bytes(&self) -> usize {
        self.mapped.bytes
    }

    /// Where every frame begins, as the kernel counts: in bytes from the start of the memory.
    pub(super) fn frames(&self) -> impl Iterator<Item = u64> + use<> {
        (0..u64::from(self.frames)).map(|frame| frame * FRAME_BYTES as u64)
    }

    /// `bytes` of memory from `offset` on, to write.
    ///
    /// The caller sees to it that the kernel does not have this frame: it is in no ring.
    #[inline]
    pub(super) fn slice_mut(&mut self, offset: u64, bytes: usize) -> &mut [u8] {
        let start = self.checked(offset, bytes);
        // SAFETY: within the mapping, as was checked, and initialized, for new pages are
        // zero. `self` is borrowed exclusively. The kernel writes frames of the fill ring
        // alone, which are not those that the caller passes.
        unsafe { std::slice::from_raw_parts_mut(start, bytes) }
    }

    /// `bytes` of memory from `offset` on, to read.
    ///
    /// The caller sees to it that the kernel does not have this frame: it is in no ring.
    #[inline]
    pub(super) fn slice(&self, offset: u64, bytes: usize) -> &[u8] {
        let start = self.checked(offset, bytes);
        // SAFETY: as in `slice_mut`; nothing writes as long as `self` is borrowed.
        unsafe { std::slice::from_raw_parts(start, bytes) }
    }

    #[inline]
    fn checked(&self, offset: u64, bytes: usize) -> *mut u8 {
        let end = (offset as usize).checked_add(bytes);
        assert!(end.is_some_and(|end| end <= self.bytes()), "a frame outside the shared memory");
        // SAFETY: within the mapping, by the assertion.
        unsafe { self.mapped.start.as_ptr().add(offset as usize) }
    }
}
