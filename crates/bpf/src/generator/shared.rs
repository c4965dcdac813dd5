//! Batches in the memory that the program and user space share.

use std::sync::atomic::Ordering::Relaxed;

use netfathom_model::message::{HEADER_BYTES, Header, MAGIC};

use super::abi::shared::{Shared, Slot};

const _: () = assert!(Slot::WORDS * 8 == HEADER_BYTES);

impl Slot {
    /// Writes a message that has not left.
    fn write(&self, header: &Header) {
        let first = u64::from(MAGIC) << 32 | u64::from(header.flow);
        let words = [first, header.sequence, header.intended_ns, 0];
        self.words.iter().zip(words).for_each(|(to, word)| to.store(word.to_be(), Relaxed));
    }

    /// When it left; 0 if it did not.
    pub fn sent_ns(&self) -> u64 {
        u64::from_be(self.words[Slot::WORDS - 1].load(Relaxed))
    }
}

impl Shared {
    /// Makes a batch, of at most [`super::MOST_BATCH`], the next that the program sends.
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
