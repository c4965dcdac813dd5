//! The memory that the program and user space share; the Rust side of `abi.h`.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

use netfathom_model::message::{HEADER_BYTES, Header, MAGIC};

use super::MOST_BATCH;
use crate::mapping::Atomics;

pub(super) const HEADER_WORDS: usize = 8;
const MESSAGE_WORDS: usize = HEADER_BYTES / 8;

/// A message as on the wire.
#[repr(C)]
pub(super) struct Slot {
    words: [AtomicU64; MESSAGE_WORDS],
}

impl Slot {
    /// Writes a message that has not left.
    fn write(&self, header: &Header) {
        let first = u64::from(MAGIC) << 32 | u64::from(header.flow);
        let words = [first, header.sequence, header.intended_ns, 0];
        self.words.iter().zip(words).for_each(|(to, word)| to.store(word.to_be(), Relaxed));
    }

    /// When it left; 0 if it did not.
    pub fn sent_ns(&self) -> u64 {
        u64::from_be(self.words[MESSAGE_WORDS - 1].load(Relaxed))
    }
}

#[repr(C)]
pub(super) struct Shared {
    count: AtomicU32,
    next: AtomicU32,
    offered: AtomicU32,
    pub taken: AtomicU32,
    pub refused: AtomicI32,
    pub driver_error: AtomicI32,
    cpu: AtomicU32,
    unused: AtomicU32,
    pub slots: [Slot; MOST_BATCH],
}

// SAFETY: atomics throughout, laid out as `struct shared` in abi.h.
unsafe impl Atomics for Shared {}

impl Shared {
    /// Makes a batch, of at most [`MOST_BATCH`], the next that the program sends.
    pub fn begin(&self, batch: &[Header]) {
        self.slots.iter().zip(batch).for_each(|(slot, header)| slot.write(header));
        for counter in [&self.next, &self.offered, &self.taken] {
            counter.store(0, Relaxed);
        }
        self.refused.store(0, Relaxed);
        self.driver_error.store(0, Relaxed);
        self.count.store(batch.len() as u32, Relaxed);
    }
}
