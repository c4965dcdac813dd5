//! What an end's program reports.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use netfathom_stats::Histogram;

use super::abi::shared::Shared;
use super::report::EndReport;

/// `log2` of the buckets an octave in the kernel's histogram.
pub const GRAIN: u32 = 5;
const _: () = assert!(Shared::BUCKETS == (40 - GRAIN as usize + 1) << GRAIN);

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
