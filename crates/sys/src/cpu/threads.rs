//! What other threads of this process took of the processors.

use std::fs;
use std::io;

use super::{CpuError, scheduling};
use crate::clock;

/// What a thread took since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Processor time in nanoseconds, exact at the moment of the call.
    pub cpu_ns: u64,
    /// How often it gave its processor up to wait.
    pub waits: u64,
    /// How often it was taken from it.
    pub preemptions: u64,
    /// How long it was ready and waited for a processor, in nanoseconds; `None` in a kernel
    /// without CONFIG_SCHED_INFO.
    pub run_delay_ns: Option<u64>,
}

/// Reads what a thread of this process took, by the number that [`super::thread_id`] gives it.
pub fn thread_usage(thread: u32) -> Result<ThreadUsage, CpuError> {
    let failed = |e| CpuError::new(format!("read what thread {thread} took"), "; does it still run?")(e);
    let status: String = fs::read_to_string(format!("/proc/self/task/{thread}/status")).map_err(failed)?;
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.trim().parse().ok())
            .ok_or_else(|| failed(io::Error::new(io::ErrorKind::InvalidData, format!("no line {name}"))))
    };
    Ok(ThreadUsage {
        cpu_ns: cpu_ns(thread).map_err(failed)?,
        waits: number("voluntary_ctxt_switches:")?,
        preemptions: number("nonvoluntary_ctxt_switches:")?,
        run_delay_ns: scheduling(thread).ok().map(|s| s.run_delay_ns),
    })
}

/// The clock of a thread's processor time. Its number is made of that of the thread
/// (`MAKE_THREAD_CPUCLOCK` of linux/posix-timers.h, with CPUCLOCK_SCHED).
fn cpu_ns(thread: u32) -> io::Result<u64> {
    const PER_THREAD: i32 = 4;
    const SCHED: i32 = 2;
    let clock = (!(thread as i32) << 3) | PER_THREAD | SCHED;
    clock::of_others_ns(clock)
}

/// The threads of this process with this name prefix, without those that end during the call.
pub fn threads_named(prefix: &str) -> io::Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc/self/task")? {
        let path = entry?.path();
        let named = fs::read_to_string(path.join("comm")).is_ok_and(|name| name.starts_with(prefix));
        let number: Option<u32> = path.file_name().and_then(|name| name.to_str()?.parse().ok());
        found.extend(number.filter(|_| named));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;
    use crate::cpu::{thread_id, thread_time_ns};

    #[test]
    fn another_thread_is_found_by_name_and_its_time_is_exact() {
        let (say, hear) = mpsc::channel();
        let (finish, finished) = mpsc::channel::<()>();
        let worker = thread::Builder::new().name("usage-worker".into()).spawn(move || {
            while thread_time_ns() < 20_000_000 {}
            say.send((thread_id(), thread_time_ns())).unwrap();
            finished.recv().unwrap_err();
        });
        let (id, took_ns) = hear.recv().unwrap();
        assert_eq!(threads_named("usage-w").unwrap(), [id]);
        let all = threads_named("").unwrap();
        assert!(all.contains(&id) && all.contains(&thread_id()));
        // It has run since only to hand its numbers over and to fall asleep.
        while thread_usage(id).unwrap().waits == 0 {
            thread::yield_now();
        }
        let usage = thread_usage(id).unwrap();
        assert!(usage.cpu_ns >= took_ns && usage.cpu_ns < took_ns + 20_000_000, "{usage:?} {took_ns}");
        drop(finish);
        worker.unwrap().join().unwrap();
        assert!(thread_usage(id).unwrap_err().to_string().contains("does it still run"));
    }
}
