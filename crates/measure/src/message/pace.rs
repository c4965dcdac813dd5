//! When messages leave: as fast as they go, or at a rate of their own.

use netfathom_stats::Distribution;
use netfathom_sys::clock::{monotonic_ns, sleep_until_ns};

use super::task::GRAIN;

/// The longest sleep, so that an end of the run is noticed.
const NAP_NS: u64 = 50_000_000;
/// A sleep ends so much late at times; what is left is waited for by looking at the clock.
const SPIN_NS: u64 = 100_000;

/// The pace of a client.
pub struct Pace {
    interval_ns: Option<f64>,
    ahead_ns: u64,
    begin_ns: u64,
    /// How late each message left.
    pub lag: Option<Distribution>,
}

impl Pace {
    /// That of a rate, or none. Where both ends share a processor it must not be kept from the
    /// other one by looking at the clock.
    pub fn new(rate_per_s: Option<f64>, shared_processor: bool) -> Self {
        Self {
            interval_ns: rate_per_s.map(|rate| 1e9 / rate),
            ahead_ns: if shared_processor { 0 } else { SPIN_NS },
            begin_ns: monotonic_ns(),
            lag: rate_per_s.map(|_| Distribution::new(GRAIN)),
        }
    }

    /// Waits until a message may leave: when it is to, and what time it is then. Without a rate
    /// both are now.
    #[inline]
    pub fn wait(&mut self, index: u64) -> (u64, u64) {
        match self.interval_ns {
            None => {
                let now = monotonic_ns();
                (now, now)
            }
            Some(interval_ns) => self.wait_until(self.begin_ns + (index as f64 * interval_ns) as u64),
        }
    }

    fn wait_until(&mut self, intended_ns: u64) -> (u64, u64) {
        let mut now = monotonic_ns();
        while now + self.ahead_ns < intended_ns {
            sleep_until_ns((intended_ns - self.ahead_ns).min(now + NAP_NS));
            now = monotonic_ns();
        }
        while now < intended_ns {
            std::hint::spin_loop();
            now = monotonic_ns();
        }
        if let Some(lag) = &mut self.lag {
            lag.add(now as i64 - intended_ns as i64);
        }
        (intended_ns, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_leave_no_sooner_than_they_are_to() {
        let mut pace = Pace::new(Some(1000.0), true);
        let begin = pace.begin_ns;
        for index in 0..5 {
            let (intended, now) = pace.wait(index);
            assert_eq!(intended, begin + index * 1_000_000);
            assert!(now >= intended);
        }
        assert_eq!(pace.lag.unwrap().moments.n, 5);
        let (intended, now) = Pace::new(None, true).wait(7);
        assert_eq!(intended, now);
    }
}
