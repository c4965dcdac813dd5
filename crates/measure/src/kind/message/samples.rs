//! Departure times of a sample of the messages: the client writes them down, the server reads
//! them when the messages arrive.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

/// The number of latest samples that are kept: two million messages, sampled one in sixteen, are more
/// than are in flight.
pub const MOST: usize = 1 << 17;
/// Of no message.
const NONE: u64 = u64::MAX;

pub struct Samples {
    /// One in this many messages is in the sample.
    pub every: u64,
    slots: Vec<SampleSlot>,
}

/// A message of the sample, until a later one takes the slot.
struct SampleSlot {
    place: AtomicU64,
    departed_ns: AtomicU64,
}

impl Samples {
    pub fn new(every: u64) -> Self {
        let slot = |_| SampleSlot { place: AtomicU64::new(NONE), departed_ns: AtomicU64::new(0) };
        Self { every, slots: (0..MOST).map(slot).collect() }
    }

    /// For a test with times taken by the client. It needs no memory for them: nothing may depart.
    pub fn none() -> Self {
        Self { every: 1, slots: Vec::new() }
    }

    /// A message of the sample leaves, by its place among all.
    #[inline]
    pub fn departs(&self, index: u64, ns: u64) {
        let (place, slot) = self.slot(index);
        // Who reads meanwhile sees that the slot has changed hands.
        slot.place.store(NONE, Relaxed);
        fence(Release);
        slot.departed_ns.store(ns, Relaxed);
        slot.place.store(place, Release);
    }

    /// When that message was sent; `None` if it is not in the sample, or if a later one has taken its slot.
    #[inline]
    pub fn departed_ns(&self, index: u64) -> Option<u64> {
        let (place, slot) = self.slot(index);
        let is_it = slot.place.load(Acquire) == place;
        let ns = slot.departed_ns.load(Relaxed);
        fence(Acquire);
        (is_it && slot.place.load(Relaxed) == place).then_some(ns)
    }

    fn slot(&self, index: u64) -> (u64, &SampleSlot) {
        let place = index / self.every;
        (place, &self.slots[place as usize % MOST])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_messages_of_a_long_run_are_known_as_well_as_the_first() {
        let samples = Samples::new(16);
        let far = 16 * (MOST as u64 + 5);
        assert_eq!((samples.departed_ns(80), samples.departed_ns(far)), (None, None));
        samples.departs(80, 7);
        assert_eq!((samples.departed_ns(80), samples.departed_ns(far)), (Some(7), None));
        samples.departs(far, 9);
        assert_eq!((samples.departed_ns(80), samples.departed_ns(far)), (None, Some(9)));
    }
}
