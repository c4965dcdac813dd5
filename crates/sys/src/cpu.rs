//! Processors: which may be used, where a thread runs, what it took.

use std::io;

use crate::call::{done, rusage};
use crate::clock;

mod machine;
mod realtime;
mod spent;
mod threads;
mod usage;
mod workers;

pub use machine::{MachineUsage, machine_usage};
pub(crate) use realtime::set_policy;
pub use realtime::{before_all_others, is_before_others};
pub use spent::{Spent, process_time_ns, spent_by_process, spent_by_thread};
pub use threads::{ThreadUsage, thread_usage, threads_named};
pub use usage::{ProcessorTimes, RunDelay, Scheduling, processor_times, scheduling, thread_id};
pub(crate) use usage::{parse_scheduling, tick_ns};
pub use workers::{KernelWorkers, WorkersRan};

/// What could not be done with processors, and why.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action}: {source}{hint}")]
pub struct CpuError {
    /// What was tried, such as `bind this thread to CPU 3`.
    pub action: String,
    #[source]
    pub source: io::Error,
    hint: String,
}

impl CpuError {
    fn new(action: impl Into<String>, hint: &'static str) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self { action, source, hint: hint.into() }
    }
}

const BITS: usize = u64::BITS as usize;
/// Linux can be built for 8192 processors at most.
const MOST_WORDS: usize = 8192 / BITS;

/// The processors that the calling thread may use, in order; a thread inherits them from
/// the one that started it. Call it before [`pin`].
pub fn allowed() -> Result<Vec<usize>, CpuError> {
    let mut mask = [0_u64; MOST_WORDS];
    // SAFETY: the pointer is valid for writes of the size given with it; the kernel takes
    // any size that its own mask fits into, whatever the size of cpu_set_t.
    let result = unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    done(result).map_err(CpuError::new("read the CPUs of this thread", ""))?;
    Ok((0..MOST_WORDS * BITS).filter(|cpu| mask[cpu / BITS] & (1 << (cpu % BITS)) != 0).collect())
}

pub fn pin(cpu: usize) -> Result<(), CpuError> {
    bind(&[cpu], &format!("bind this thread to CPU {cpu}"))
}

/// Lets the calling thread use these CPUs: undoes [`pin`] with the result of [`allowed`].
pub fn allow(cpus: &[usize]) -> Result<(), CpuError> {
    bind(cpus, &format!("let this thread use CPUs {cpus:?}"))
}

fn bind(cpus: &[usize], action: &str) -> Result<(), CpuError> {
    let mut mask = [0_u64; MOST_WORDS];
    for &cpu in cpus {
        // A number beyond every machine leaves the mask empty, which the kernel refuses.
        if let Some(word) = mask.get_mut(cpu / BITS) {
            *word |= 1 << (cpu % BITS);
        }
    }
    // SAFETY: the pointer is valid for reads of the size given with it.
    if unsafe { libc::sched_setaffinity(0, size_of_val(&mask), mask.as_ptr().cast()) } == 0 {
        return Ok(());
    }
    let source = io::Error::last_os_error();
    let hint = match (source.raw_os_error(), allowed()) {
        (Some(libc::EINVAL), Ok(may)) => format!("; this process may use {may:?}"),
        _ => String::new(),
    };
    Err(CpuError { action: action.into(), source, hint })
}

/// The processor that the calling thread runs on right now; `None` where the kernel does not tell.
pub fn current() -> Option<usize> {
    // SAFETY: no arguments.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Processor time of the calling thread so far, in nanoseconds: its own work, and the work
/// of the kernel in its context (on lo and veth that includes the receive path of the peer).
pub fn thread_time_ns() -> u64 {
    clock::read_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextSwitches {
    /// Because it waited for something.
    pub voluntary: u64,
    /// Because another was to run: a disturbance of the measurement.
    pub involuntary: u64,
}

/// How often the calling thread left its processor so far.
pub fn context_switches() -> ContextSwitches {
    let usage = rusage(libc::RUSAGE_THREAD);
    ContextSwitches { voluntary: usage.ru_nvcsw as u64, involuntary: usage.ru_nivcsw as u64 }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_bound_thread_runs_where_it_was_bound() {
        let may = allowed().unwrap();
        let last = *may.last().unwrap();
        // A thread of its own: the others of this test program stay free.
        let freed = thread::spawn(move || {
            pin(last).unwrap();
            assert_eq!((allowed().unwrap(), current()), (vec![last], Some(last)));
            allow(&may).unwrap();
            (allowed().unwrap(), may)
        });
        let (now, before) = freed.join().unwrap();
        assert_eq!(now, before);
    }

    #[test]
    fn a_processor_that_is_not_there_is_named() {
        for cpu in [8191, usize::MAX] {
            let error = pin(cpu).unwrap_err().to_string();
            assert!(error.contains(&format!("CPU {cpu}")) && error.contains("may use [0"), "{error}");
        }
    }

    #[test]
    fn waiting_takes_no_time_and_a_switch() {
        let (time, switches) = (thread_time_ns(), context_switches());
        thread::sleep(Duration::from_millis(30));
        assert!(thread_time_ns() - time < 30_000_000);
        assert!(context_switches().voluntary > switches.voluntary);
    }

    #[test]
    fn working_takes_time() {
        let start = thread_time_ns();
        let work = (0..100_000_u64).fold(0, |sum, n| std::hint::black_box(sum ^ n));
        assert!(thread_time_ns() > start, "{work}");
    }
}
