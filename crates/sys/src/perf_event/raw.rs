//! As the kernel has it: linux/perf_event.h.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::call::counted;

/// PERF_FLAG_FD_CLOEXEC.
pub const CLOSE_ON_EXEC: u64 = 1 << 3;

/// PERF_TYPE_HARDWARE: counted by the processor.
pub const HARDWARE: u32 = 0;
/// PERF_TYPE_SOFTWARE: counted by the kernel.
pub const SOFTWARE: u32 = 1;
/// PERF_FORMAT_TOTAL_TIME_ENABLED and PERF_FORMAT_TOTAL_TIME_RUNNING.
const WITH_TIMES: u64 = 1 << 0 | 1 << 1;

const DISABLED: u64 = 1 << 0;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const ENABLE_ON_EXEC: u64 = 1 << 12;

/// The first form of struct perf_event_attr, PERF_ATTR_SIZE_VER0.
#[repr(C)]
#[derive(Default)]
pub struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

impl Attributes {
    /// Counts from now on.
    pub fn running((kind, config): (u32, u64), kernel_too: bool) -> Self {
        Self {
            kind,
            size: size_of::<Self>() as u32,
            config,
            read_format: WITH_TIMES,
            flags: EXCLUDE_HYPERVISOR | if kernel_too { 0 } else { EXCLUDE_KERNEL },
            ..Self::default()
        }
    }

    /// Counts nothing before an exec, and is handed down to every thread and program that is
    /// started.
    pub fn for_children(event: (u32, u64), kernel_too: bool) -> Self {
        let running = Self::running(event, kernel_too);
        Self { flags: running.flags | DISABLED | INHERIT | ENABLE_ON_EXEC, ..running }
    }
}

/// What read(2) gives of a counter; times in nanoseconds.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    pub value: u64,
    /// So long it was to count.
    pub enabled_ns: u64,
    /// So long it had a counter of the processor.
    pub running_ns: u64,
}

impl Reading {
    pub fn of(counter: &OwnedFd) -> io::Result<Self> {
        let mut reading = Self::default();
        // SAFETY: the pointer and the length are those of `reading`, for which any bits are a value.
        let read = unsafe { libc::read(counter.as_raw_fd(), (&raw mut reading).cast(), size_of::<Self>()) };
        let whole = counted(read)? == size_of::<Self>();
        whole.then_some(reading).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// `None` if the program has not run, or others had all counters of the CPU (perf, a watchdog).
    pub fn count(&self) -> Option<u64> {
        let all = u128::from(self.value) * u128::from(self.enabled_ns);
        all.checked_div(self.running_ns.into()).map(|count| u64::try_from(count).unwrap_or(u64::MAX))
    }
}
