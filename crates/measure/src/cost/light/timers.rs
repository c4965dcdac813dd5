//! Short sleeps, one after the other.
//!
//! Each begins when the one before is over, so that what they overslept adds up, and none makes up
//! for another. The time of the phase is therefore what was asked for, which nobody can take or
//! give ([`Phase::constant_ns`]), and what was overslept: the timer's interrupt, the way out of the
//! processor's idle state, and the wait for the processor. A load may shorten it: a processor that is kept
//! awake has no way out of an idle state.

use std::io;
use std::path::Path;
use std::thread;

use netfathom_sys::clock::{monotonic_ns, sleep_until_ns, wait_punctually};

use super::{Phase, Work};

/// What a sleep asks for: long enough that the thread really sleeps.
pub const ASKED_NS: u64 = 20_000;

pub const PHASE: Phase = Phase {
    name: "timers",
    resource: "how late a sleeper wakes: timer interrupts, idle states, the wait for a processor",
    unit: "sleeps of 20 us",
    constant_ns: ASKED_NS,
    prepare,
};

fn prepare(_place: &Path) -> io::Result<Box<dyn Work>> {
    Ok(Box::new(Timers))
}

struct Timers;

impl Work for Timers {
    fn run(&mut self, size: u64) -> io::Result<()> {
        let sleep = move || {
            wait_punctually();
            (0..size).for_each(|_| sleep_until_ns(monotonic_ns() + ASKED_NS));
        };
        // In a thread of its own, as it stays punctual.
        let sleeper = thread::Builder::new().name("light-timers".into()).spawn(sleep)?;
        sleeper.join().map_err(|_| io::Error::other("the thread of the timers died"))
    }
}
