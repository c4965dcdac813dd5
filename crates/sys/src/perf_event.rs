//! What the processor itself counts, of a program that this one starts (perf_event_open(2)).

use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;

mod raw;

use crate::call::owned;
use raw::{Attributes, CLOSE_ON_EXEC, HARDWARE, Reading, SOFTWARE};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerfEvent {
    /// Cycles of the processor while it did not sleep.
    Cycles,
    /// Instructions that were carried out to their end.
    Instructions,
    /// Accesses that came as far as the caches that this kind of processor counts, mostly the last, and that no cache could
    /// answer.
    CacheMisses,
    /// Nanoseconds on a processor. The kernel counts them, on every machine.
    TaskClock,
    /// Page faults, which the kernel counts as well.
    PageFaults,
}

impl PerfEvent {
    pub const ALL: [Self; 5] =
        [Self::Cycles, Self::Instructions, Self::CacheMisses, Self::TaskClock, Self::PageFaults];

    /// Its kind and its number there (PERF_COUNT_HW_* and PERF_COUNT_SW_*).
    fn number(self) -> (u32, u64) {
        match self {
            Self::Cycles => (HARDWARE, 0),
            Self::Instructions => (HARDWARE, 1),
            Self::CacheMisses => (HARDWARE, 3),
            Self::TaskClock => (SOFTWARE, 1),
            Self::PageFaults => (SOFTWARE, 2),
        }
    }
}

/// Counters of one program, from its exec on, with all threads and programs that it starts.
#[derive(Debug)]
pub struct ChildCounters {
    counters: [io::Result<OwnedFd>; PerfEvent::ALL.len()],
}

impl ChildCounters {
    /// Counts for a program that `start` starts in the calling thread; what the kernel did for it too, unless
    /// `kernel.perf_event_paranoid` forbids that.
    ///
    /// Another program that the calling thread starts while this value lives may be counted as well
    /// or not: the kernel hands the counters down to it, but wakes them once only.
    pub fn around(start: impl FnOnce() -> io::Result<Child>) -> io::Result<(Child, Self)> {
        let counters = Self::sleeping();
        Ok((start()?, counters))
    }

    /// Counters that the next program of the calling thread wakes.
    fn sleeping() -> Self {
        let open = |kernel_too| PerfEvent::ALL.map(|event| for_children(event, kernel_too));
        let all = open(true);
        let denied = all.iter().any(|counter| counter.as_ref().is_err_and(is_denied));
        Self { counters: if denied { open(false) } else { all } }
    }

    /// What was counted so far, also while it runs.
    pub fn read(&self) -> ChildCounts {
        let reading = |counter: &io::Result<OwnedFd>| Reading::of(counter.as_ref().ok()?).ok();
        ChildCounts { readings: self.counters.each_ref().map(reading) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildCounts {
    readings: [Option<Reading>; PerfEvent::ALL.len()],
}

impl ChildCounts {
    /// How many of an event; where more was to be counted than the processor has counters, extrapolated from a part of the
    /// time. `None` where there is no such counter, as on many virtual machines, or others had it.
    pub fn count(&self, event: PerfEvent) -> Option<u64> {
        self.readings[event as usize]?.count()
    }
}

pub(crate) fn is_denied(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}

/// A counter that sleeps in the calling thread and wakes in the program that it starts.
fn for_children(event: PerfEvent, kernel_too: bool) -> io::Result<OwnedFd> {
    open(&Attributes::for_children(event.number(), kernel_too))
}

/// A running counter of the calling thread's cycles, on any processor.
pub(crate) fn running_cycles(kernel_too: bool) -> io::Result<OwnedFd> {
    open(&Attributes::running(PerfEvent::Cycles.number(), kernel_too))
}

/// What a counter of [`running_cycles`] has counted.
pub(crate) fn count(counter: &OwnedFd) -> io::Result<u64> {
    Reading::of(counter).map(|reading| reading.value)
}

fn open(attributes: &Attributes) -> io::Result<OwnedFd> {
    // SAFETY: the kernel only reads the attributes, as many bytes as their `size` says. 0 is the
    // calling thread, -1 any processor, -1 no group.
    let made =
        unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const *attributes, 0, -1, -1, CLOSE_ON_EXEC) };
    owned(made)
}

#[cfg(test)]
mod tests;
