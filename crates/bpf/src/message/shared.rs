//! The memory that an end's program and user space share; the Rust side of `abi.h`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use netfathom_stats::Histogram;

use super::report::EndReport;
use crate::mapping::Atomics;

/// `log2` of the buckets an octave in the kernel's histogram.
pub const GRAIN: u32 = 5;
const BUCKETS: usize = (40 - GRAIN as usize + 1) << GRAIN;

#[repr(C)]
pub(super) struct Shared {
    pub message_bytes: AtomicU64,
    pub datagrams: AtomicU64,
    pub until: AtomicU64,
    pub answer_bytes: AtomicU64,
    pub pieces: AtomicU64,
    pub stopped: AtomicU64,
    position: AtomicU64,
    grown: AtomicU64,
    grown_bytes: AtomicU64,
    acked_before: AtomicU64,
    pub calls: AtomicU64,
    pub bytes: AtomicU64,
    pub messages: AtomicU64,
    pub returned_bytes: AtomicU64,
    pub refused: AtomicU64,
    pub together: AtomicU64,
    pub first_ns: AtomicU64,
    pub last_ns: AtomicU64,
    pub first_message_ns: AtomicU64,
    pub last_message_ns: AtomicU64,
    pub negative: AtomicU64,
    pub buckets: [AtomicU64; BUCKETS],
}

// SAFETY: atomics throughout, laid out as `struct shared` in abi.h.
unsafe impl Atomics for Shared {}

impl Shared {
    pub fn report(&self) -> EndReport {
        let count = |cell: &AtomicU64| cell.load(Relaxed);
        let time = |cell| Some(count(cell)).filter(|&ns| ns != 0);
        let mut intervals = Histogram::new(GRAIN);
        intervals.add_negative(count(&self.negative));
        let filled = self.buckets.iter().map(count).enumerate().filter(|&(_, n)| n > 0);
        filled.for_each(|(index, n)| intervals.add_bucket(index, n));
        EndReport {
            calls: count(&self.calls),
            bytes: count(&self.bytes),
            messages: count(&self.messages),
            returned_bytes: count(&self.returned_bytes),
            refused: count(&self.refused),
            together: count(&self.together),
            first_ns: time(&self.first_ns),
            last_ns: time(&self.last_ns),
            first_message_ns: time(&self.first_message_ns),
            last_message_ns: time(&self.last_message_ns),
            intervals,
        }
    }
}
