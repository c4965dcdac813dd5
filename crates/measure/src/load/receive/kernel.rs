//! Counted and dropped by a program in the driver: nothing comes up to user space but counts.

use std::net::UdpSocket;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use netfathom_bpf::sink::{SinkCounts, XdpSink};
use netfathom_sys::clock::monotonic_ns;

use crate::load::error::FlightError;
use crate::load::flight::FarEnd;
use crate::load::reader::EndSignal;
use crate::load::tally::Read;

/// Between two looks at the counts.
const LOOK: Duration = Duration::from_millis(20);

/// Lets a kernel program count.
pub struct Kernel {
    /// The program, which has begun to count the trial's flow.
    pub sink: XdpSink,
    /// Holds the port, so that no other program takes it.
    pub _port: UdpSocket,
}

impl FarEnd for Kernel {
    fn take(&mut self, end: &EndSignal<'_>) -> Result<Read, FlightError> {
        let (mut ended_ns, mut last) = (None, 0);
        loop {
            let senders_done = end.senders_done.load(Relaxed);
            let counts = self.sink.counts()?;
            end.received.store(counts.delivered, Relaxed);
            if senders_done && counts.delivered == last || end.is_over(monotonic_ns(), &mut ended_ns) {
                return Ok(read(&counts));
            }
            last = counts.delivered;
            thread::sleep(LOOK);
        }
    }
}

pub fn read(counts: &SinkCounts) -> Read {
    Read {
        delivered: counts.delivered,
        // Too far behind the highest to know whether it came before, as in `SequenceWindow`.
        duplicates: counts.duplicates + counts.too_late,
        reordered: counts.reordered,
        truncated: counts.truncated,
        garbage: counts.damaged,
        ..Read::default()
    }
}
