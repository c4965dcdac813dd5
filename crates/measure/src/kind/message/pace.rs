//! When messages leave: as fast as they go, or at a rate of their own.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_stats::Distribution;
use netfathom_sys::clock::{monotonic_ns, sleep_until_ns, wait_punctually};
use netfathom_sys::cpu::thread_time_ns;

use super::task::{GRAIN, Task};

/// The longest sleep, after which it is looked whether the user wants an end.
const NAP_NS: u64 = 50_000_000;
/// A sleep ends so much late at times; what is left is waited for by looking at the clock.
const SPIN_NS: u64 = 100_000;

pub struct Pace<'a> {
    interval_ns: Option<f64>,
    ahead_ns: u64,
    begin_ns: u64,
    stop: &'a AtomicBool,
    pub lag: Option<Distribution>,
    /// Processor time that this thread took for waiting.
    pub waiting_ns: u64,
}

impl<'a> Pace<'a> {
    /// That of the plan: a rate, or none. With a rate the calling thread's sleeps are punctual from
    /// now on. Where both ends share a processor it must not be kept from the other one by looking at
    /// the clock.
    pub fn new(task: &Task<'a>) -> Self {
        let rate_per_s = task.plan.rate_per_s;
        if rate_per_s.is_some() {
            wait_punctually();
        }
        Self {
            interval_ns: rate_per_s.map(|rate| 1e9 / rate),
            ahead_ns: if task.shared_processor { 0 } else { SPIN_NS },
            begin_ns: monotonic_ns(),
            stop: task.stop,
            lag: rate_per_s.map(|_| Distribution::new(GRAIN)),
            waiting_ns: 0,
        }
    }

    /// Waits until a message may leave: when it is to, and what time it is then, which is sooner if
    /// the user wants an end. Without a rate both are now.
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
        if now < intended_ns {
            let before = thread_time_ns();
            self.idle_until(intended_ns);
            self.waiting_ns += thread_time_ns() - before;
            // Reading what it took is part of the lag.
            now = monotonic_ns();
        }
        if let Some(lag) = self.lag.as_mut().filter(|_| now >= intended_ns) {
            lag.add(now as i64 - intended_ns as i64);
        }
        (intended_ns, now)
    }

    fn idle_until(&self, intended_ns: u64) {
        let mut now = monotonic_ns();
        while now + self.ahead_ns < intended_ns {
            if self.stop.load(Relaxed) {
                return;
            }
            sleep_until_ns((intended_ns - self.ahead_ns).min(now + NAP_NS));
            now = monotonic_ns();
        }
        while now < intended_ns {
            std::hint::spin_loop();
            now = monotonic_ns();
        }
    }
}

#[cfg(test)]
mod tests {
    use netfathom_model::plan::{MessagePlan, MessageTest, Place};

    use super::*;

    fn plan(rate_per_s: Option<f64>) -> MessagePlan {
        MessagePlan { rate_per_s, ..MessagePlan::paper(MessageTest::Oneway, Place::Loopback) }
    }

    #[test]
    fn messages_leave_no_sooner_than_they_are_to() {
        let (at_rate, none, stop) = (plan(Some(1000.0)), plan(None), AtomicBool::new(false));
        let mut pace = Pace::new(&Task::new(&at_rate, u64::MAX, true, &stop));
        let begin = pace.begin_ns;
        for index in 0..5 {
            let (intended, now) = pace.wait(index);
            assert_eq!(intended, begin + index * 1_000_000);
            assert!(now >= intended);
        }
        assert_eq!(pace.lag.unwrap().moments.n, 5);
        let (intended, now) = Pace::new(&Task::new(&none, u64::MAX, true, &stop)).wait(7);
        assert_eq!(intended, now);
    }

    #[test]
    fn what_waiting_takes_is_known() {
        let (plan, stop) = (plan(Some(20_000.0)), AtomicBool::new(false));
        let waited = || {
            let mut pace = Pace::new(&Task::new(&plan, u64::MAX, false, &stop));
            let before = thread_time_ns();
            for index in 0..200 {
                pace.wait(index);
            }
            let took = thread_time_ns() - before;
            assert!(pace.waiting_ns <= took, "{} of {took}", pace.waiting_ns);
            // The time between two is spent looking at the clock, and nothing else is done.
            pace.waiting_ns > took / 2
        };
        // Who is kept from the processor is late for all of them, and has nothing to wait for.
        assert!((0..20).any(|_| waited()));
    }

    #[test]
    fn an_end_that_the_user_wants_is_not_slept_through() {
        let (plan, stop) = (plan(Some(0.01)), AtomicBool::new(true));
        let mut pace = Pace::new(&Task::new(&plan, u64::MAX, true, &stop));
        let (intended, now) = pace.wait(1);
        assert!(now < intended);
        assert_eq!(pace.lag.unwrap().moments.n, 0);
    }
}
