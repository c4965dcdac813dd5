//! The buffer that a transfer sends from or receives into.

use netfathom_model::plan::{Role, TransferPlan};

use super::segments::LONGEST;

/// What generated data consists of: the printable characters, over and over.
const PATTERN: std::ops::RangeInclusive<u8> = b' '..=b'~';

/// A buffer at the place in memory that the plan asks for.
pub(super) struct Buffer {
    storage: Vec<u8>,
    start: usize,
    length: usize,
}

impl Buffer {
    pub fn new(plan: &TransferPlan) -> Self {
        let [length, align, offset] = [plan.buffer_bytes, plan.align, plan.offset].map(|n| n as usize);
        let beyond = if plan.role == Role::Transmit { LONGEST } else { 0 };
        let storage: Vec<u8> = PATTERN.cycle().take(length + align + offset + beyond).collect();
        let past = if align == 0 { 0 } else { storage.as_ptr() as usize % align };
        let start = if past == 0 { offset } else { align - past + offset };
        Self { storage, start, length }
    }

    pub fn address(&self) -> u64 {
        self.bytes().as_ptr() as u64
    }

    pub fn bytes(&self) -> &[u8] {
        &self.storage[self.start..self.start + self.length]
    }

    /// The first `bytes` bytes, which may be [`LONGEST`] more than its length.
    pub fn first(&self, bytes: usize) -> &[u8] {
        &self.storage[self.start..self.start + bytes]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.storage[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_where_it_is_to_and_is_as_long() {
        for (length, align, offset) in [(1, 1, 0), (8192, 16_384, 0), (5, 4096, 4095), (100, 1 << 20, 3)] {
            let mut plan = TransferPlan::classic(Role::Transmit);
            (plan.buffer_bytes, plan.align, plan.offset) = (length, align, offset);
            let buffer = Buffer::new(&plan);
            assert_eq!(buffer.address() % align, offset);
            assert_eq!(buffer.bytes().len() as u64, length);
            assert!(buffer.bytes().iter().all(u8::is_ascii) && buffer.bytes()[0] != 0);
        }
    }
}
