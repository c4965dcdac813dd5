//! Sending no faster than asked for.
//!
//! The kernel spreads TCP's segments itself (SO_MAX_PACING_RATE), but lets the first ten go at
//! once, 64 KiB each over loopback, and takes as much as the send buffer holds before it makes
//! anybody wait. UDP it does not pace at all without the `fq` queueing discipline. So calls wait
//! for their time too: each has a time of its own on the one clock, and does not follow from when
//! the call before it was made, so that no error adds up.

use std::thread;
use std::time::Duration;

use netfathom_model::plan::{TransferPlan, Transport};
use netfathom_sys::clock::monotonic_ns;

use super::Around;

/// A sleeping thread comes back up to so much later (its timer slack of 50 us and the way to a
/// processor); the rest of the time is spun where it matters.
const OVERSLEEP_NS: u64 = 100_000;
/// The longest sleep, after which it is looked whether to end.
const LONGEST_NS: u64 = 20_000_000;
/// Who is late catches up so much and no more: it would be a burst at full speed.
const CATCH_UP_NS: u64 = 10_000_000;

pub(super) struct Pace {
    due_ns: u64,
    bits_per_s: Option<u64>,
    /// Whether the last moments are spun: datagrams have no other pacing.
    exact: bool,
}

impl Pace {
    /// From now on.
    pub fn start(plan: &TransferPlan) -> Self {
        let exact = plan.protocol == Transport::Udp;
        Self { due_ns: monotonic_ns(), bits_per_s: plan.pace_bits_per_s, exact }
    }

    /// Waits until `bytes` bytes may go, or it is to end. That is at once where no rate is asked for.
    pub fn wait(&mut self, bytes: usize, around: Around<'_>) {
        let Some(bits_per_s) = self.bits_per_s else { return };
        let mut now = monotonic_ns();
        while now < self.due_ns && !around.stopped() && !around.expired() {
            self.sleep(self.due_ns - now);
            now = monotonic_ns();
        }
        self.next(now, bytes, bits_per_s);
    }

    fn sleep(&self, left_ns: u64) {
        match left_ns.checked_sub(OVERSLEEP_NS) {
            Some(ns) if ns > 0 => thread::sleep(Duration::from_nanos(ns.min(LONGEST_NS))),
            _ if self.exact => std::hint::spin_loop(),
            // The next wait compensates for a late end of this one.
            _ => thread::sleep(Duration::from_nanos(left_ns)),
        }
    }

    /// The call that is made now takes its time from those behind it.
    fn next(&mut self, now: u64, bytes: usize, bits_per_s: u64) {
        let takes = bytes as u128 * 8 * 1_000_000_000 / u128::from(bits_per_s);
        let from = self.due_ns.max(now.saturating_sub(CATCH_UP_NS));
        self.due_ns = from.saturating_add(u64::try_from(takes).unwrap_or(u64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u64 = 8_000_000;

    fn pace(due_ns: u64) -> Pace {
        Pace { due_ns, bits_per_s: Some(RATE), exact: false }
    }

    #[test]
    fn a_calls_time_follows_from_the_rate_and_not_from_the_clock() {
        let mut pace = pace(1_000_000_000);
        // A little late, which the next is not.
        pace.next(1_000_300_000, 1000, RATE);
        assert_eq!(pace.due_ns, 1_001_000_000);
        pace.next(1_001_000_000, 500, RATE);
        assert_eq!(pace.due_ns, 1_001_500_000);
    }

    #[test]
    fn who_was_kept_does_not_send_all_of_it_at_once() {
        let mut pace = pace(1_000_000_000);
        pace.next(5_000_000_000, 1000, RATE);
        assert_eq!(pace.due_ns, 5_000_000_000 - CATCH_UP_NS + 1_000_000);
    }
}
