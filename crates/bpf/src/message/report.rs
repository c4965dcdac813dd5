//! What an end saw.

use netfathom_stats::Histogram;

/// What an end in the kernel saw; times are CLOCK_MONOTONIC, in nanoseconds.
#[derive(Clone, Debug)]
pub struct EndReport {
    /// Verdicts: packets, as they came to the socket.
    pub calls: u64,
    pub bytes: u64,
    pub messages: u64,
    /// Bytes that an echo gave to be sent back.
    pub returned_bytes: u64,
    /// Packets that should have gone back, and that the kernel would not take, or that would have waited
    /// behind too many others. A stream is not whole from then on.
    pub refused: u64,
    /// Messages that were whole at the same moment as another, and have no interval of their own.
    pub together: u64,
    pub first_ns: Option<u64>,
    pub last_ns: Option<u64>,
    /// When the first message was whole.
    pub first_message_ns: Option<u64>,
    pub last_message_ns: Option<u64>,
    /// Time from one message to the next, both whole. Where one message at a time goes to and
    /// fro, they are round-trip times, one fewer than messages.
    pub intervals: Histogram,
}

impl EndReport {
    /// The mean of the intervals, in nanoseconds, exactly; `None` without any.
    pub fn mean_interval_ns(&self) -> Option<f64> {
        let ns = self.last_message_ns?.checked_sub(self.first_message_ns?)?;
        let count = self.intervals.count();
        (count > 0).then(|| ns as f64 / count as f64)
    }
}
