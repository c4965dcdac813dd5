//! A budget of CPU time: messages are followed in samples, as often as it allows.

use std::io;
use std::time::{Duration, Instant};

use netfathom_bpf::run_time::Counting;
use netfathom_bpf::watch::Watch;
use netfathom_model::record::WatchResult;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::cpu::process_time_ns;

use super::{WatchRunError, counted};
use crate::ground::error::RunError;

/// A sample follows the messages that begin within this time, and for as long again what becomes of them.
const SAMPLE: Duration = Duration::from_millis(100);
/// The kernel counts the time in programs, with a part of what counting takes, and without what it takes to call them. Measured
/// was 1.2 times that (docs/watch.md); more, to stay within the budget.
const WITH_CALLS: f64 = 1.5;
/// Ticks from one sample to the next, at most.
const MOST_APART: u32 = 60;
/// What was not spent for so long may be spent later, and what was spent beyond that is forgotten.
const LONGEST_CREDIT_S: f64 = 10.0;
const LONGEST_DEBT_S: f64 = 60.0;

pub(super) struct Budget {
    /// Of one CPU.
    part: f64,
    account: Account,
    /// Ticks since the last sample.
    passed: u32,
    /// The last sample goes on, as all of them together would cost no more than the budget.
    goes_on: bool,
    /// The last tick, and what this process had taken of the CPUs until then; `None` before the first. What it takes to load
    /// the programs does not come again.
    last: Option<(Instant, u64)>,
}

impl Budget {
    /// # Errors
    /// Where the kernel does not count what programs take.
    pub fn new(part: f64) -> Result<Self, WatchRunError> {
        Counting::start().map_err(WatchRunError::Budget)?;
        Ok(Self { part, account: Account(part), passed: MOST_APART, goes_on: false, last: None })
    }

    /// A tick, which has a sample or has none. True if the run is over.
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
        let began = Instant::now();
        let own = self.pass(result);
        self.passed += 1;
        let room = tick.saturating_sub(2 * SAMPLE);
        let is_due = self.passed >= MOST_APART || self.account.has_credit();
        if !self.goes_on && !room.is_zero() && is_due {
            self.passed = 0;
            // At another moment each time: what an application does each second would be in all samples, or in none.
            let offset = Duration::from_nanos(monotonic_ns() % room.as_nanos() as u64);
            if wait(offset)? || began.elapsed() < offset {
                return Ok(true);
            }
            watch.begin_sample().map_err(WatchRunError::from)?;
            result.sampling.get_or_insert_default().samples += 1;
            let ended = self.follow(watch, result, (SAMPLE, own), &wait)?;
            return Ok(ended || wait(tick.saturating_sub(began.elapsed()))?);
        }
        let ended = self.goes_on && self.follow(watch, result, (tick, own), &wait)?;
        Ok(ended || wait(tick.saturating_sub(began.elapsed()))?)
    }

    /// Follows messages for so long, or until it costs too much.
    fn follow(
        &mut self,
        watch: &mut Watch,
        result: &mut WatchResult,
        (length, own): (Duration, f64),
        wait: &impl Fn(Duration) -> io::Result<bool>,
    ) -> Result<bool, RunError> {
        let began = Instant::now();
        let mut ended = false;
        let share = loop {
            let slice = SAMPLE.min(length.saturating_sub(began.elapsed()));
            let since = Instant::now();
            let counting = Counting::start().map_err(WatchRunError::Budget)?;
            let (is_over, programs) = counted(watch, &counting, || wait(slice))?;
            drop(counting);
            ended |= is_over;
            let share = WITH_CALLS * programs.share();
            result.programs.get_or_insert_default().add(&programs);
            self.spend(result, share * since.elapsed().as_secs_f64());
            self.goes_on = share + own <= self.part && self.account.has_credit();
            // The run was ended if the slice is not over.
            if ended || !self.goes_on || since.elapsed() < slice || began.elapsed() >= length {
                break share;
            }
        };
        let followed = began.elapsed();
        if !self.goes_on {
            watch.take_no_more();
            ended |= wait(SAMPLE)?;
            watch.end_sample();
            self.spend(result, share * (began.elapsed() - followed).as_secs_f64());
        }
        let sampling = result.sampling.get_or_insert_default();
        sampling.followed_ns += followed.as_nanos() as u64;
        sampling.attached_ns += began.elapsed().as_nanos() as u64;
        Ok(ended)
    }

    /// The time since the last call is over. Returns what this process took of a CPU in it.
    pub fn pass(&mut self, result: &mut WatchResult) -> f64 {
        let now = (Instant::now(), process_time_ns());
        let Some(before) = self.last.replace(now) else { return 0.0 };
        let (passed_s, own_s) = ((now.0 - before.0).as_secs_f64(), (now.1 - before.1) as f64 / 1e9);
        self.account.earn(self.part, passed_s);
        self.spend(result, own_s);
        own_s / passed_s.max(1e-9)
    }

    fn spend(&mut self, result: &mut WatchResult, cpu_s: f64) {
        self.account.spend(self.part, cpu_s);
        result.sampling.get_or_insert_default().spent_ns += (cpu_s * 1e9) as u64;
    }
}

/// CPU time that may be spent, s: at first what a second has.
#[derive(Debug)]
struct Account(f64);

impl Account {
    fn earn(&mut self, budget: f64, passed_s: f64) {
        self.0 = (self.0 + budget * passed_s).min(budget * LONGEST_CREDIT_S);
    }

    fn spend(&mut self, budget: f64, cpu_s: f64) {
        self.0 = (self.0 - cpu_s).max(-budget * LONGEST_DEBT_S);
    }

    fn has_credit(&self) -> bool {
        self.0 >= 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What samples that cost so much take of a CPU over an hour, once a second where there is credit.
    fn spent(budget: f64, sample_s: f64) -> f64 {
        let (mut account, mut spent) = (Account(0.0), 0.0);
        for _ in 0..3600 {
            account.earn(budget, 1.0);
            if account.has_credit() {
                account.spend(budget, sample_s);
                spent += sample_s;
            }
        }
        spent / 3600.0
    }

    #[test]
    fn samples_take_what_the_budget_has() {
        assert!((spent(0.01, 0.02) - 0.01).abs() < 1e-4);
        assert!((spent(0.01, 0.05) - 0.01).abs() < 1e-4);
        assert!((spent(0.01, 0.002) - 0.002).abs() < 1e-9);
    }

    #[test]
    fn an_idle_hour_is_no_reason_for_a_minute_of_more() {
        let mut account = Account(0.0);
        account.earn(0.01, 3600.0);
        account.spend(0.01, 0.11);
        assert!(!account.has_credit());
    }
}
