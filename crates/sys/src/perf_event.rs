//! What the processor itself counts, of a program that this one starts (perf_event_open(2)).

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::{Child, Command};

mod raw;

use raw::{Attributes, CLOSE_ON_EXEC, HARDWARE, Reading, SOFTWARE};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerfEvent {
    /// Cycles of the processor while it did not sleep.
    Cycles,
    /// Instructions that were carried out to their end.
    Instructions,
    /// Accesses that came as far as the caches that this kind of processor counts, mostly the last.
    CacheReferences,
    /// Those of them that no cache could answer.
    CacheMisses,
    /// Nanoseconds on a processor. The kernel counts them, on every machine.
    TaskClock,
    /// Page faults, which the kernel counts as well.
    PageFaults,
}

impl PerfEvent {
    pub const ALL: [Self; 6] = [
        Self::Cycles,
        Self::Instructions,
        Self::CacheReferences,
        Self::CacheMisses,
        Self::TaskClock,
        Self::PageFaults,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Instructions => "instructions",
            Self::CacheReferences => "cache references",
            Self::CacheMisses => "cache misses",
            Self::TaskClock => "task clock",
            Self::PageFaults => "page faults",
        }
    }

    /// Its kind and its number there (PERF_COUNT_HW_* and PERF_COUNT_SW_*).
    fn number(self) -> (u32, u64) {
        match self {
            Self::Cycles => (HARDWARE, 0),
            Self::Instructions => (HARDWARE, 1),
            Self::CacheReferences => (HARDWARE, 2),
            Self::CacheMisses => (HARDWARE, 3),
            Self::TaskClock => (SOFTWARE, 1),
            Self::PageFaults => (SOFTWARE, 2),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// The count; where it had its counter for a part of the time only, that part's count
    /// extrapolated to all of it.
    pub count: u64,
    /// The part of the program's time during which it was counted: 1 unless more was to be
    /// counted than the processor has counters.
    pub counted_share: f64,
}

/// Counters of one program, from its exec on, with all threads and programs that it starts.
#[derive(Debug)]
pub struct ChildCounters {
    counters: [Result<OwnedFd, CounterError>; PerfEvent::ALL.len()],
    kernel_too: bool,
}

/// Why there is no count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot count {event}: {reason}")]
pub struct CounterError {
    pub event: &'static str,
    /// Why not, and what to do.
    pub reason: String,
}

impl ChildCounters {
    /// Starts a program with counters. [`Self::read`] reports what cannot be counted.
    ///
    /// Another program that the calling thread starts while this value lives may be counted as well
    /// or not: the kernel hands the counters down to it, but wakes them once only.
    pub fn start(command: &mut Command) -> io::Result<(Child, Self)> {
        Self::around(|| command.spawn())
    }

    /// The same of a program that somebody else starts, in the calling thread.
    pub fn around(start: impl FnOnce() -> io::Result<Child>) -> io::Result<(Child, Self)> {
        let counters = Self::sleeping();
        Ok((start()?, counters))
    }

    /// Counters that the next program of the calling thread wakes.
    fn sleeping() -> Self {
        let open = |kernel_too| PerfEvent::ALL.map(|event| for_children(event, kernel_too));
        let all = open(true);
        let denied = all.iter().any(|counter| counter.as_ref().is_err_and(is_denied));
        let (counters, kernel_too) = if denied { (open(false), false) } else { (all, true) };
        let mut names = PerfEvent::ALL.map(PerfEvent::name).into_iter();
        let counters = counters.map(|counter| {
            let event = names.next().unwrap_or_default();
            counter.map_err(|source| CounterError { event, reason: reason(&source) })
        });
        Self { counters, kernel_too }
    }

    /// Whether what the kernel did for the program is counted too;
    /// `kernel.perf_event_paranoid` may forbid that.
    pub fn kernel_too(&self) -> bool {
        self.kernel_too
    }

    /// What was counted so far, also while it runs.
    pub fn read(&self) -> ChildCounts {
        let readings = PerfEvent::ALL.map(|event| {
            let failed = |source: io::Error| CounterError { event: event.name(), reason: source.to_string() };
            Reading::of(self.counters[event as usize].as_ref().map_err(Clone::clone)?).map_err(failed)
        });
        ChildCounts { readings }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildCounts {
    readings: [Result<Reading, CounterError>; PerfEvent::ALL.len()],
}

impl ChildCounts {
    /// What was counted of an event.
    pub fn count(&self, event: PerfEvent) -> Result<Count, CounterError> {
        let reading = self.readings[event as usize].clone()?;
        reading.count().map_err(|reason| CounterError { event: event.name(), reason })
    }
}

fn is_denied(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}

fn reason(error: &io::Error) -> String {
    let hint = match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
            "; this CPU has no such counter, or a virtual machine hides it"
        }
        Some(libc::EACCES | libc::EPERM) => {
            "; run as root, grant CAP_PERFMON, or: sysctl kernel.perf_event_paranoid=2"
        }
        Some(libc::ENOSYS) => "; the kernel was built without it, or a filter hides it",
        _ => "",
    };
    format!("{error}{hint}")
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
    match i32::try_from(made) {
        // SAFETY: the kernel has just returned this descriptor to us alone.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests;
