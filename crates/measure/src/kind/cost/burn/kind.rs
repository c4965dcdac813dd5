//! What can be burnt.

use std::hint::black_box;

use netfathom_sys::clock::wait_punctually;
use netfathom_sys::cpu::{CpuError, before_all_others, thread_time_ns};
use netfathom_sys::probe::effective_user;

use super::super::light::memory::Stream;
use super::super::light::phases::thousand_steps;
use super::pace::{Act, PERIOD_NS, Pace, Paced, Rate};

const STEP_BYTES: u64 = 64 << 10;
const STEP_CALLS: u64 = 16;
/// Fewer would be waiting alone, which is a call as well.
const LEAST_CALLS_PER_S: f64 = 100.0;
/// Between two bursts of what takes an unknown share of the time.
const REST_NS: u64 = 1_000_000;

pub enum BurnKind {
    Cpu { share: f64, first: bool },
    Memory { per_s: f64, memory: Stream },
    Calls { per_s: f64 },
}

impl BurnKind {
    pub fn wrong(&self) -> Option<String> {
        match *self {
            Self::Cpu { share, .. } if !(share > 0.0 && share <= 1.0) => {
                Some(format!("{} % of a CPU: choose above 0 up to 100", 100.0 * share))
            }
            Self::Memory { per_s, .. } if !(per_s > 0.0 && per_s <= 1e12) => {
                Some(format!("{per_s} bytes a second: choose above 0 up to 1000G"))
            }
            Self::Calls { per_s } if !(LEAST_CALLS_PER_S..=1e12).contains(&per_s) => {
                Some(format!("{per_s} calls a second: choose {LEAST_CALLS_PER_S} up to 1000G"))
            }
            _ => None,
        }
    }

    /// That it could not keep up, in words.
    pub fn behind(&self, paced: &Paced) -> Option<String> {
        let (what, asked) = match *self {
            Self::Cpu { share, .. } => ("cpu", format!("{} % of a CPU", 100.0 * share)),
            Self::Memory { per_s, .. } => ("memory", format!("{per_s} bytes a second")),
            Self::Calls { per_s } => ("calls", format!("{per_s} calls a second")),
        };
        let describe = || format!("{what}: {:.1} % of the {asked} requested", 100.0 * paced.share());
        paced.is_behind().then(describe)
    }

    fn rate(&self) -> Rate {
        let a_second = |per_s, step| Rate { per_ns: per_s / 1e9, step, rest_ns: REST_NS, lets_in: false };
        match *self {
            Self::Cpu { share, first } => {
                let rest_ns = (PERIOD_NS as f64 * (1.0 - share)) as u64;
                Rate { per_ns: share, step: 0, rest_ns, lets_in: first }
            }
            Self::Memory { per_s, .. } => a_second(per_s, STEP_BYTES),
            Self::Calls { per_s } => a_second(per_s, STEP_CALLS),
        }
    }

    /// Has the calling thread run before all others, if it is to.
    pub fn go_first(&self) -> Result<(), CpuError> {
        if matches!(self, Self::Cpu { first: true, .. }) { before_all_others() } else { Ok(()) }
    }

    /// Burns in the calling thread, which then waits punctually.
    pub fn burn(&mut self, pace: &Pace<'_>) -> Paced {
        wait_punctually();
        let rate = self.rate();
        match self {
            Self::Cpu { .. } => burn_time(pace, rate),
            Self::Memory { memory, .. } => {
                burn_steps(pace, rate, (STEP_BYTES, 0), || memory.go_on(STEP_BYTES as usize / 8))
            }
            // A rest is a call as well.
            Self::Calls { .. } => burn_steps(pace, rate, (STEP_CALLS, 1), || {
                (0..STEP_CALLS).for_each(|_| {
                    black_box(effective_user());
                });
            }),
        }
    }
}

/// All of the thread's time counts, that of reading clocks included.
fn burn_time(pace: &Pace<'_>, rate: Rate) -> Paced {
    let (begun_ns, mut state) = (thread_time_ns(), 1);
    pace.keep(rate, |act| {
        if act == Act::Step {
            state = black_box(thousand_steps(black_box(state)));
        }
        thread_time_ns() - begun_ns
    })
}

/// What is done is counted: so much with each step, and so much with each rest.
fn burn_steps(pace: &Pace<'_>, rate: Rate, (a_step, a_rest): (u64, u64), mut step: impl FnMut()) -> Paced {
    let mut done = 0;
    pace.keep(rate, |act| {
        done += match act {
            Act::Step => {
                step();
                a_step
            }
            Act::Rest => a_rest,
        };
        done
    })
}
