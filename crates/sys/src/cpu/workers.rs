//! CPU time of the kernel's own threads.
//!
//! A worker (kworker) sends the packets that a socket map redirects, and ksoftirqd receives packets that arrive
//! too fast. The CPU time of no user process includes this work.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use super::CpuError;
use crate::process;

/// The thread that starts all others of the kernel.
const KTHREADD: u32 = 2;

/// A thread and when it started, in ticks since the machine did: numbers are used again.
type Thread = (u32, u64);

/// What each of the kernel's workers (kworker) and soft interrupt threads (ksoftirqd) of the machine had
/// run at some moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelWorkers {
    ran_ns: BTreeMap<Thread, u64>,
}

/// What those threads ran between two readings, for whomever: the machine has no others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkersRan {
    /// In nanoseconds, by those that are still there; one that started in between is in it wholly.
    /// One that runs on another processor just now is as old as its last tick.
    pub ran_ns: u64,
    pub started: u64,
    /// Threads that ended in between: what they ran since the earlier reading is not known,
    /// and not in it.
    pub ended: u64,
}

impl KernelWorkers {
    /// Reads them all: two short files for each kernel thread; a host has some tens of these per CPU.
    ///
    /// # Errors
    /// Without /proc, where it shows no threads of the kernel (in a PID namespace), or shows not
    /// what they ran (CONFIG_SCHED_INFO).
    pub fn read() -> Result<Self, CpuError> {
        let hint =
            "; is this the first PID namespace, its /proc mounted, and has this kernel CONFIG_SCHED_INFO?";
        Self::read_from_proc().map_err(CpuError::new("read what the threads of the kernel ran", hint))
    }

    fn read_from_proc() -> io::Result<Self> {
        if fs::read_to_string(format!("/proc/{KTHREADD}/comm"))?.trim_end() != "kthreadd" {
            return Err(io::Error::new(io::ErrorKind::NotFound, "process 2 is not kthreadd"));
        }
        let mut ran_ns = BTreeMap::new();
        // Not every kernel lists children (CONFIG_PROC_CHILDREN).
        for process in process::children_of(KTHREADD).or_else(|_| process::all())? {
            // It may end at any moment: then it is not among them.
            let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else { continue };
            let Some(started) = start_of_worker(&stat) else { continue };
            let ran = process::run_times(process).map(|times| times.on_cpu_ns);
            let Some(ran) = gone_is_none(ran)? else { continue };
            ran_ns.insert((process, started), ran);
        }
        Ok(Self { ran_ns })
    }

    pub fn since(&self, earlier: &Self) -> WorkersRan {
        let mut ran = WorkersRan::default();
        for (thread, now) in &self.ran_ns {
            match earlier.ran_ns.get(thread) {
                Some(before) => ran.ran_ns += now - before,
                None => {
                    ran.ran_ns += now;
                    ran.started += 1;
                }
            }
        }
        ran.ended = earlier.ran_ns.keys().filter(|thread| !self.ran_ns.contains_key(thread)).count() as u64;
        ran
    }
}

/// When a thread started, in ticks, by its /proc/PID/stat; `None` if it is none of those meant.
fn start_of_worker(stat: &str) -> Option<u64> {
    // The name is in brackets, and may have some within.
    let (head, tail) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1;
    let mut fields = tail.split_ascii_whitespace();
    // State, parent; and the start is field 22, counted from 1 for the number.
    let parent = fields.nth(1)?;
    let is_meant = name.starts_with("kworker/") || name.starts_with("ksoftirqd/");
    (is_meant && parent == "2").then(|| fields.nth(17)?.parse().ok())?
}

/// `None` for a thread that ended. If kthreadd has no such file either, the kernel does not keep it: an error.
fn gone_is_none(ran: io::Result<u64>) -> io::Result<Option<u64>> {
    match ran {
        Ok(ran) => Ok(Some(ran)),
        Err(e) if e.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        Err(e)
            if e.kind() == io::ErrorKind::NotFound && fs::exists(format!("/proc/{KTHREADD}/schedstat"))? =>
        {
            Ok(None)
        }
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use netfathom_testkit::skipped;

    use super::*;

    #[test]
    fn workers_are_recognized_by_name_and_parent() {
        let rest = "S 2 0 0 0 -1 69238880 0 0 0 0 0 12 0 0 20 0 1 0 4711 0 0 1844";
        assert_eq!(start_of_worker(&format!("15 (kworker/0:1H-kblockd) {rest}")), Some(4711));
        assert_eq!(start_of_worker(&format!("15 (ksoftirqd/0) {rest}")), Some(4711));
        assert_eq!(start_of_worker(&format!("15 (kworker/(a) b) {rest}")), Some(4711));
        assert_eq!(start_of_worker(&format!("15 (rcu_sched) {rest}")), None);
        // Anybody may have the name.
        assert_eq!(start_of_worker(&format!("15 (kworker/0:1) {}", rest.replacen('2', "7", 1))), None);
        assert_eq!(start_of_worker("15 (kworker/0:1) S 2 0"), None);
    }

    #[test]
    fn threads_that_come_and_go_are_counted() {
        let reading = |of: &[(Thread, u64)]| KernelWorkers { ran_ns: of.iter().copied().collect() };
        let before = reading(&[((5, 1), 100), ((6, 1), 1000), ((7, 1), 50)]);
        // Number 7 ended and was given to another.
        let after = reading(&[((5, 1), 130), ((6, 1), 1000), ((7, 9), 20), ((8, 9), 5)]);
        assert_eq!(after.since(&before), WorkersRan { ran_ns: 55, started: 2, ended: 1 });
    }

    #[test]
    fn this_machine_has_workers() {
        match KernelWorkers::read() {
            Ok(first) => {
                assert!(first.ran_ns.len() >= 2, "{first:?}");
                let second = KernelWorkers::read().unwrap();
                assert!(first.ran_ns.keys().any(|thread| second.ran_ns.contains_key(thread)));
            }
            Err(e) => skipped("threads of the kernel", &e.to_string()),
        }
    }
}
