//! Departure times of a sample of the messages: the client writes them down, the server reads
//! them when the messages arrive.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Two million messages of which every sixteenth is in it; what comes beyond is not sampled.
const MOST: usize = 1 << 17;
/// A time of which nothing is known.
const UNKNOWN: u64 = 0;

/// The sample.
pub struct Samples {
    every: u64,
    departed_ns: Vec<AtomicU64>,
}

impl Samples {
    /// Of every so manieth message.
    pub fn new(every: u64) -> Self {
        Self { every, departed_ns: (0..MOST).map(|_| AtomicU64::new(UNKNOWN)).collect() }
    }

    /// Of every so manieth message.
    pub fn every(&self) -> u64 {
        self.every
    }

    /// A message of the sample leaves, by its place among all.
    #[inline]
    pub fn departs(&self, index: u64, ns: u64) {
        if let Some(slot) = self.departed_ns.get((index / self.every) as usize) {
            // The message itself orders this before the reading.
            slot.store(ns, Relaxed);
        }
    }

    /// When that message left; `None` if it is not in the sample.
    #[inline]
    pub fn departed_ns(&self, index: u64) -> Option<u64> {
        let ns = self.departed_ns.get((index / self.every) as usize)?.load(Relaxed);
        (ns != UNKNOWN).then_some(ns)
    }
}
