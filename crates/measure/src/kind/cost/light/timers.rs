//! Short sleeps, one after the other.
//!
//! Each sleep begins when the previous one is over, so oversleep adds up, and no sleep compensates for
//! another. The time of the phase is therefore the requested time, which is constant
//! ([`Phase::constant_ns`]), plus the oversleep: the timer interrupt, the exit from the CPU's idle
//! state, and the wait for the CPU. A load may shorten the oversleep: a CPU that is kept awake has no
//! idle state to exit.

use std::io;
use std::sync::mpsc;

use netfathom_sys::clock::{monotonic_ns, sleep_until_ns, wait_punctually};
use netfathom_sys::directory::Directory;

use super::thread_pair::Partner;
use super::{Phase, Work};

/// What a sleep asks for: long enough that the thread really sleeps.
const ASKED_NS: u64 = 20_000;

pub const PHASE: Phase = Phase {
    name: "timers",
    resource: "how late a sleeping thread wakes: timers, idle states, run queue",
    unit: "sleeps of 20 us",
    constant_ns: ASKED_NS,
    prepare,
};

/// The sleeper is a thread of its own, as it stays punctual. It is sent how often to sleep.
fn prepare(_place: &Directory) -> io::Result<Work> {
    let ((sleep, asked), (say, awake)) = (mpsc::channel::<u64>(), mpsc::channel());
    let sleeper = move || {
        wait_punctually();
        // Until the other end is closed.
        for times in asked {
            (0..times).for_each(|_| sleep_until_ns(monotonic_ns() + ASKED_NS));
            if say.send(()).is_err() {
                break;
            }
        }
    };
    let mut sleeper = Partner::start("light-timers", (sleep, awake), sleeper)?;
    Ok(Box::new(move |size| {
        let died = || io::Error::other("the thread of the timers died");
        let (sleep, awake) = sleeper.near()?;
        sleep.send(size).map_err(|_| died())?;
        awake.recv().map_err(|_| died())
    }))
}
