//! Keeping to a rate from below.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_sys::clock::{monotonic_ns, sleep_until_ns};

/// Between two bursts, where a rate leaves so much.
pub const PERIOD_NS: u64 = 4_000_000;
/// No burst is longer, so that what runs before all others lets them in: then it rests, also when
/// it is behind. With [`REST_NS`] that leaves more than [`super::LARGEST_FIRST_SHARE`].
const LONGEST_BURST_NS: u64 = 15_000_000;
const REST_NS: u64 = 1_000_000;
/// So soon it notices that it is to stop.
const LONGEST_REST_NS: u64 = 100_000_000;
/// A lag of more than this share, and of more than two periods, is reported.
const TOLERATED: f64 = 0.02;

#[derive(Clone, Copy)]
pub struct Pace<'a> {
    pub start_ns: u64,
    pub end_ns: u64,
    pub stop: &'a AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paced {
    pub done: u64,
    /// What the rate allowed until the end.
    pub allowed: f64,
    /// What it allows in two periods: so far behind one may be at any moment.
    pub slack: f64,
}

#[derive(Clone, Copy)]
pub struct Rate {
    pub per_ns: f64,
    /// What a step does, as far as that is known beforehand.
    pub step: u64,
    /// How long a rest is at least, once all that was allowed is done.
    pub rest_ns: u64,
    /// Whether it rests even when it is behind.
    pub lets_in: bool,
}

impl Pace<'_> {
    /// Does a step whenever the rate has room for another as large as the last one, and rests
    /// otherwise. `act` does one, hears of each rest after it, and says how much is done by now.
    pub fn keep(&self, rate: Rate, mut act: impl FnMut(Act) -> u64) -> Paced {
        let (mut done, mut step, mut burst_ns) = (0, rate.step, monotonic_ns());
        let allowed = |now_ns: u64| rate.per_ns * (now_ns - self.start_ns) as f64;
        loop {
            let now_ns = monotonic_ns();
            if now_ns >= self.end_ns || self.stop.load(Relaxed) {
                let slack = rate.per_ns * 2.0 * PERIOD_NS as f64;
                return Paced { done, allowed: allowed(now_ns), slack };
            }
            let missing = (done + step) as f64 - allowed(now_ns);
            let must_rest = rate.lets_in && now_ns - burst_ns >= LONGEST_BURST_NS;
            if missing <= 0.0 && !must_rest {
                let before = done;
                done = act(Act::Step);
                step = done - before;
            } else {
                let until_room_ns = (missing / rate.per_ns) as u64;
                let least_ns = if must_rest { rate.rest_ns.max(REST_NS) } else { rate.rest_ns };
                let rest_ns = until_room_ns.clamp(least_ns, LONGEST_REST_NS);
                sleep_until_ns((now_ns + rest_ns).min(self.end_ns));
                done = act(Act::Rest);
                burst_ns = monotonic_ns();
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
pub enum Act {
    Step,
    Rest,
}

impl Paced {
    /// Whether it could not keep up.
    pub fn is_behind(&self) -> bool {
        self.allowed - self.done as f64 > self.slack + TOLERATED * self.allowed
    }

    /// The share of what was asked for that was done.
    pub fn share(&self) -> f64 {
        self.done as f64 / self.allowed
    }
}
