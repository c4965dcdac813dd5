//! A budget of CPU time: messages are followed in samples, as often as it allows.

use std::io;
use std::time::{Duration, Instant};

use netfathom_bpf::run_time::Counting;
use netfathom_bpf::watch::Watch;
use netfathom_model::record::{WatchPrograms, WatchResult, WatchSampling};
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::cpu::process_time_ns;

use super::{WatchRunError, counted};
use crate::ground::error::RunError;

/// A sample follows the messages that begin within this time, and for as long again what becomes of them.
const SAMPLE: Duration = Duration::from_millis(100);
/// The kernel counts the time in programs. To call one takes about as long as a short one (docs/watch.md).
const WITH_CALLS: f64 = 2.0;
/// Ticks from one sample to the next, at most.
const MOST_APART: u32 = 60;

pub(super) struct Sampling {
    budget: f64,
    /// Ticks from one sample to the next; 0: they do not end.
    apart: u32,
    /// Ticks since the last one.
    passed: u32,
    goes_on: bool,
    /// When the last sample ended, and what this process had taken of the CPUs until then.
    last: (Instant, u64),
}

impl Sampling {
    /// # Errors
    /// Where the kernel does not count what programs take.
    pub fn new(budget: f64) -> Result<Self, WatchRunError> {
        Counting::start().map_err(WatchRunError::Budget)?;
        let last = (Instant::now(), process_time_ns());
        Ok(Self { budget, apart: 1, passed: 0, goes_on: false, last })
    }

    /// A tick, which has a sample or has none. True if the process ended.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn tick(
        &mut self,
        watch: &mut Watch,
        result: &mut WatchResult,
        tick: Duration,
        wait: impl Fn(Duration) -> io::Result<bool>,
    ) -> Result<bool, RunError> {
        self.passed += 1;
        let room = tick.saturating_sub(2 * SAMPLE);
        if self.passed < self.apart || room.is_zero() {
            return Ok(wait(tick)?);
        }
        self.passed = 0;
        if !self.goes_on {
            // At another moment each time: what an application does each second would be in all samples, or in none.
            if self.apart > 0 && wait(Duration::from_nanos(monotonic_ns() % room.as_nanos() as u64))? {
                return Ok(true);
            }
            watch.begin_sample().map_err(WatchRunError::from)?;
        }
        let (began, mut programs) = (Instant::now(), None);
        let mut ended = counted(watch, &mut programs, || wait(SAMPLE))?;
        if self.apart == 0 && !ended {
            ended = wait(tick.saturating_sub(SAMPLE))?;
        }
        let followed = began.elapsed();
        if let Some(programs) = programs {
            result.programs.get_or_insert_default().add(&programs);
            self.apart = ticks_apart(self.budget, share(&programs), self.own_share());
        }
        self.goes_on = self.apart == 0;
        if !self.goes_on {
            watch.take_no_more();
            ended |= wait(SAMPLE)?;
            watch.end_sample();
        }
        let sampling = result.sampling.get_or_insert_default();
        *sampling = WatchSampling {
            samples: sampling.samples + 1,
            followed_ns: sampling.followed_ns + followed.as_nanos() as u64,
            attached_ns: sampling.attached_ns + began.elapsed().as_nanos() as u64,
            own_ns: process_time_ns(),
        };
        Ok(ended)
    }

    /// What this process took of a CPU since the last sample.
    fn own_share(&mut self) -> f64 {
        let now = (Instant::now(), process_time_ns());
        let before = std::mem::replace(&mut self.last, now);
        (now.1 - before.1) as f64 / (now.0 - before.0).as_nanos().max(1) as f64
    }
}

/// What programs took of a CPU while they were attached, with the calls to them.
fn share(programs: &WatchPrograms) -> f64 {
    WITH_CALLS * programs.ns as f64 / programs.sampled_ns.max(1) as f64
}

/// How many ticks a sample may be apart from the next; 0 if it need not end. Of the budget there is what the process itself
/// leaves, and a tenth in any case.
fn ticks_apart(budget: f64, programs: f64, own: f64) -> u32 {
    let left = (budget - own).max(budget / 10.0);
    if programs <= left {
        return 0;
    }
    let sample = programs * 2.0 * SAMPLE.as_secs_f64();
    ((sample / left).ceil() as u32).clamp(1, MOST_APART)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_as_far_apart_as_the_budget_wants() {
        assert_eq!(ticks_apart(0.02, 0.01, 0.0), 0);
        assert_eq!(ticks_apart(0.02, 0.05, 0.0), 1);
        assert_eq!(ticks_apart(0.01, 0.2, 0.0), 4);
        assert_eq!(ticks_apart(0.01, 0.2, 0.005), 8);
        assert_eq!(ticks_apart(0.001, 2.0, 0.1), MOST_APART);
    }
}
