//! Which sequences have come: finds duplicates and stragglers in constant memory.

/// How far back a straggler is still distinguished from a duplicate.
pub const SPAN: u64 = 1 << 16;

/// What a sequence is to those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The highest so far; `gap` sequences before it have not come (yet).
    InOrder {
        /// How many were skipped.
        gap: u64,
    },
    /// Its first time, but after a higher one.
    Late,
    /// It has come before, or is too old to know.
    Duplicate,
}

/// The last sequences, one bit each.
pub struct SequenceWindow {
    bits: Vec<u64>,
    /// One more than the highest sequence that has come.
    pub next: u64,
}

impl Default for SequenceWindow {
    fn default() -> Self {
        Self { bits: vec![0; (SPAN / 64) as usize], next: 0 }
    }
}

impl SequenceWindow {
    #[inline]
    pub fn arrive(&mut self, sequence: u64) -> Arrival {
        if sequence >= self.next {
            let gap = sequence - self.next;
            if gap >= SPAN {
                self.bits.fill(0);
            } else {
                (self.next..sequence).for_each(|s| self.set(s, false));
            }
            self.set(sequence, true);
            self.next = sequence + 1;
            return Arrival::InOrder { gap };
        }
        if sequence + SPAN < self.next || self.get(sequence) {
            return Arrival::Duplicate;
        }
        self.set(sequence, true);
        Arrival::Late
    }

    fn set(&mut self, sequence: u64, value: bool) {
        let bit = sequence % SPAN;
        let word = &mut self.bits[(bit / 64) as usize];
        *word = *word & !(1 << (bit % 64)) | u64::from(value) << (bit % 64);
    }

    fn get(&self, sequence: u64) -> bool {
        let bit = sequence % SPAN;
        self.bits[(bit / 64) as usize] >> (bit % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_kind_is_recognized() {
        let mut seen = SequenceWindow::default();
        assert_eq!(seen.arrive(0), Arrival::InOrder { gap: 0 });
        assert_eq!(seen.arrive(3), Arrival::InOrder { gap: 2 });
        assert_eq!(seen.arrive(1), Arrival::Late);
        assert_eq!(seen.arrive(1), Arrival::Duplicate);
        assert_eq!(seen.arrive(3), Arrival::Duplicate);
        assert_eq!(seen.arrive(3 + 2 * SPAN), Arrival::InOrder { gap: 2 * SPAN - 1 });
        assert_eq!(seen.arrive(2), Arrival::Duplicate);
    }

    proptest! {
        #[test]
        fn agrees_with_a_set(sequences in prop::collection::vec(0u64..500, 0..400)) {
            let mut seen = SequenceWindow::default();
            let mut set = std::collections::HashSet::new();
            for s in sequences {
                prop_assert_eq!(seen.arrive(s) != Arrival::Duplicate, set.insert(s));
            }
        }
    }
}
