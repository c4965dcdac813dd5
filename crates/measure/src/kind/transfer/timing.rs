//! The times of a stream's calls, where it is watched. Elsewhere the loops are compiled without.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use netfathom_model::record::CallTimes;
use netfathom_stats::Histogram;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::cpu::{scheduling, thread_id};
use netfathom_sys::endpoint;

/// Buckets of a power of two, as a power of two: percentiles are right to 3 %.
const GRAIN: u32 = 5;
/// A call of this duration may have waited for a delayed ACK: Linux delays for 40 ms (TCP_DELACK_MIN),
/// and a busy machine adds to it.
const DELAYED_NS: std::ops::RangeInclusive<u64> = 30_000_000..=60_000_000;
/// Then the loop looks again whether it was interrupted.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Takes the times of calls; by default none.
pub(super) trait Timing: Default {
    #[inline]
    fn on_socket<R>(&mut self, call: impl FnOnce() -> R) -> R {
        call()
    }

    #[inline]
    fn on_standard<R>(&mut self, call: impl FnOnce() -> R) -> R {
        call()
    }

    /// Waits until a call that reads there and writes to the socket would not wait for the former.
    #[inline]
    fn wait_for_input(&mut self, _input: BorrowedFd<'_>) {}

    /// Waits until a call that writes there would not wait for it.
    #[inline]
    fn wait_for_output(&mut self, _output: BorrowedFd<'_>) {}

    fn took(&self) -> Option<CallTimes> {
        None
    }
}

#[derive(Default)]
pub(super) struct Untimed;

impl Timing for Untimed {}

pub(super) struct Timed {
    /// What its thread had waited for a processor when it began.
    waited_ns: u64,
    socket: Histogram,
    times: CallTimes,
}

impl Default for Timed {
    fn default() -> Self {
        Self {
            waited_ns: waited_for_processor_ns(),
            socket: Histogram::new(GRAIN),
            times: CallTimes::default(),
        }
    }
}

impl Timing for Timed {
    fn on_socket<R>(&mut self, call: impl FnOnce() -> R) -> R {
        let before = monotonic_ns();
        let outcome = call();
        self.add_socket(monotonic_ns() - before);
        outcome
    }

    fn on_standard<R>(&mut self, call: impl FnOnce() -> R) -> R {
        let before = monotonic_ns();
        let outcome = call();
        self.times.standard_ns += monotonic_ns() - before;
        outcome
    }

    // An error is that of the call that follows.
    fn wait_for_input(&mut self, input: BorrowedFd<'_>) {
        let _ = self.on_standard(|| endpoint::readable(input, PATIENCE));
    }

    fn wait_for_output(&mut self, output: BorrowedFd<'_>) {
        let _ = self.on_standard(|| endpoint::writable(output, PATIENCE));
    }

    fn took(&self) -> Option<CallTimes> {
        let quantile = |q| self.socket.quantile(q).and_then(|ns| u64::try_from(ns).ok()).unwrap_or(0);
        // The middle of a bucket may lie beyond what was longest in it.
        let [p50_ns, p99_ns] = [0.5, 0.99].map(|q| quantile(q).min(self.times.longest_ns));
        let runqueue_ns = waited_for_processor_ns().saturating_sub(self.waited_ns);
        Some(CallTimes { p50_ns, p99_ns, runqueue_ns, ..self.times })
    }
}

impl Timed {
    fn add_socket(&mut self, ns: u64) {
        self.socket.add(i64::try_from(ns).unwrap_or(i64::MAX));
        self.times.socket_ns += ns;
        self.times.longest_ns = self.times.longest_ns.max(ns);
        self.times.delayed_calls += u64::from(DELAYED_NS.contains(&ns));
    }
}

/// How long the calling thread has waited for a processor so far; 0 where the kernel does not
/// count it (CONFIG_SCHED_INFO).
fn waited_for_processor_ns() -> u64 {
    scheduling(thread_id()).map_or(0, |of_thread| of_thread.run_delay_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_calls_are_counted() {
        let mut timed = Timed::default();
        (0..98).for_each(|_| timed.add_socket(1000));
        [40_000_000, 200_000_000].into_iter().for_each(|ns| timed.add_socket(ns));
        let took = timed.took().unwrap();
        assert_eq!((took.socket_ns, took.longest_ns), (240_098_000, 200_000_000));
        assert_eq!((took.delayed_calls, took.standard_ns), (1, 0));
        assert!((970..1030).contains(&took.p50_ns), "{took:?}");
        assert!((39_000_000..41_000_000).contains(&took.p99_ns), "{took:?}");
        let nothing = CallTimes { runqueue_ns: 0, ..Timed::default().took().unwrap() };
        assert_eq!(nothing, CallTimes::default());
        assert_eq!(Untimed.took(), None);
    }
}
