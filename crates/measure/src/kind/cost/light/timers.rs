//! Short sleeps, one after the other.
//!
//! Each sleep begins when the previous one is over, so oversleep adds up, and no sleep compensates for
//! another. The time of the phase is therefore the requested time, which is constant
//! ([`Phase::constant_ns`]), plus the oversleep: the timer interrupt, the exit from the CPU's idle
//! state, and the wait for the CPU. A load may shorten the oversleep: a CPU that is kept awake has no
//! idle state to exit.

use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use netfathom_sys::clock::{monotonic_ns, sleep_until_ns, wait_punctually};
use netfathom_sys::directory::Directory;

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

/// The sleeper is a thread of its own, as it stays punctual.
struct Timers {
    /// How often to sleep; `None` once it is closed, which ends the thread.
    sleep: Option<Sender<u64>>,
    awake: Receiver<()>,
    sleeper: Option<JoinHandle<()>>,
}

fn prepare(_place: &Directory) -> io::Result<Work> {
    let ((sleep, asked), (say, awake)) = (mpsc::channel(), mpsc::channel());
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
    let sleeper = thread::Builder::new().name("light-timers".into()).spawn(sleeper)?;
    let timers = Timers { sleep: Some(sleep), awake, sleeper: Some(sleeper) };
    Ok(Box::new(move |size| timers.run(size)))
}

impl Timers {
    fn run(&self, size: u64) -> io::Result<()> {
        let died = || io::Error::other("the thread of the timers died");
        let sleep = self.sleep.as_ref().ok_or_else(died)?;
        sleep.send(size).map_err(|_| died())?;
        self.awake.recv().map_err(|_| died())
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        self.sleep = None;
        // It holds nothing but its two ends.
        let _ = self.sleeper.take().map(JoinHandle::join);
    }
}
