//! The memory of the ring, shared with the kernel.

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::call::Mapped;

/// A block is a whole number of pages; the largest that Linux has are of 64 KiB.
const LEAST_BLOCK_BYTES: usize = 64 << 10;
/// Some thousand small packets: closing one wakes the reader, which is not to be too often.
const MOST_BLOCK_BYTES: usize = 1 << 20;
/// While one is read the kernel fills another.
const LEAST_BLOCKS: usize = 2;
/// Blocks that a ring of middling size has.
const USUAL_BLOCKS: usize = 16;
/// TPACKET_V3 packs frames of any length one behind the other, but requires a frame size that divides
/// a block.
const FRAME_BYTES: usize = 2048;

#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    block_bytes: usize,
    blocks: usize,
}

impl Shape {
    /// The shape of a ring of `bytes` bytes, or a little less.
    pub(super) fn of(bytes: usize) -> Self {
        // Powers of two: the kernel gets the pages of a block in one piece then.
        let block_bytes = (bytes / USUAL_BLOCKS).clamp(LEAST_BLOCK_BYTES, MOST_BLOCK_BYTES);
        let block_bytes = 1 << block_bytes.ilog2();
        Self { block_bytes, blocks: (bytes / block_bytes).max(LEAST_BLOCKS) }
    }

    fn bytes(self) -> usize {
        self.block_bytes * self.blocks
    }

    pub(super) fn request(self, retire_ms: u32) -> libc::tpacket_req3 {
        libc::tpacket_req3 {
            tp_block_size: self.block_bytes as u32,
            tp_block_nr: self.blocks as u32,
            tp_frame_size: FRAME_BYTES as u32,
            tp_frame_nr: (self.bytes() / FRAME_BYTES) as u32,
            tp_retire_blk_tov: retire_ms,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        }
    }
}

pub(super) struct Memory {
    mapped: Mapped,
    shape: Shape,
}

// SAFETY: the mapping belongs to this value alone, wherever it is; with the kernel it is
// shared by the status of each block.
unsafe impl Send for Memory {}

impl Memory {
    /// Maps the ring that the socket was given.
    pub(super) fn map(fd: &OwnedFd, shape: Shape) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        let mapped = Mapped::new(shape.bytes(), protection, flags, Some((fd.as_fd(), 0)))?;
        Ok(Self { mapped, shape })
    }

    pub(super) fn blocks(&self) -> usize {
        self.shape.blocks
    }

    pub(super) fn block_bytes(&self) -> usize {
        self.shape.block_bytes
    }

    pub(super) fn block(&self, number: usize) -> NonNull<u8> {
        assert!(number < self.shape.blocks, "a block outside the ring");
        // SAFETY: within the mapping, by the assertion.
        unsafe { self.mapped.start.add(number * self.shape.block_bytes) }
    }

    fn status(&self, number: usize) -> &AtomicU32 {
        let at = offset_of!(libc::tpacket_block_desc, hdr) + offset_of!(libc::tpacket_hdr_v1, block_status);
        // SAFETY: an aligned u32 within the block, which lives as long as `self`; both sides
        // use it atomically.
        unsafe { self.block(number).add(at).cast().as_ref() }
    }

    /// Whether the block is ours; its content is then as the kernel left it.
    pub(super) fn is_ours(&self, number: usize) -> bool {
        // Acquire: with the status we see the packets that were written before it.
        self.status(number).load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// Gives a block back to the kernel.
    pub(super) fn give_back(&self, number: usize) {
        // Release: the kernel writes into the block only after we have read it.
        self.status(number).store(libc::TP_STATUS_KERNEL, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_has_whole_blocks_and_two_at_least() {
        let of = |bytes| {
            let shape = Shape::of(bytes);
            (shape.block_bytes, shape.blocks)
        };
        assert_eq!(of(0), (64 << 10, 2));
        assert_eq!(of(3_000_000), (128 << 10, 22));
        assert_eq!(of(64 << 20), (1 << 20, 64));
    }
}
