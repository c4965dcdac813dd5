//! Programs that run: waiting for them with a limit, what they spent, who descends from them.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open, set_child_subreaper,
};

use crate::call::{done, poll};
use crate::cpu::{Scheduling, parse_scheduling};

mod look;
mod spent;
mod terminal;

pub use libc::{SIGCHLD, SIGCONT, SIGKILL, SIGSTOP, SIGTERM};
pub(crate) use look::children_of;
use look::parent;
pub use look::{
    Environment, ancestors, children_of_first_thread, environment, has_ended, is_our_fork, is_stopped, lives,
    major_faults, name, peak_rss_bytes, proc_is_ours, sockets, started,
};
pub use spent::{ignores, spent_by_all, spent_ns};
pub use terminal::give_terminal;

/// How often a wait looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// A process by a descriptor (pidfd, since Linux 5.3), which stays its own when the number is somebody else's.
#[derive(Debug)]
pub struct Process {
    descriptor: OwnedFd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// The process has ended; it may still have to be reaped.
    Ended,
    /// It runs, and the time is up.
    TimeUp,
    /// It runs, and the wait was interrupted.
    Stopped,
}

impl Process {
    /// The process of a number, in this PID namespace.
    pub fn open(pid: u32) -> io::Result<Self> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::INVAL)?;
        Ok(Self { descriptor: pidfd_open(pid, PidfdFlags::empty())? })
    }

    /// One of its descriptors, as one of ours (pidfd_getfd(2), since Linux 5.6).
    ///
    /// # Errors
    /// EBADF if it has none of that number; EPERM without CAP_SYS_PTRACE, of another user's.
    pub fn descriptor(&self, number: RawFd) -> io::Result<OwnedFd> {
        Ok(pidfd_getfd(&self.descriptor, number, PidfdGetfdFlags::empty())?)
    }

    /// Waits until it ends, at most for so long, or until `stop` is set, which is looked at every 50 ms.
    /// It does not reap it.
    pub fn wait(&self, limit: Duration, stop: &AtomicBool) -> io::Result<Waited> {
        wait_for_one(std::slice::from_ref(self), limit, stop)
    }

    /// Sends it a signal, such as `libc::SIGKILL`; 0, which rustix has no signal for, asks only whether it is there.
    ///
    /// # Errors
    /// ESRCH if it has ended and was reaped; EPERM of another user's.
    pub fn signal(&self, signal: i32) -> io::Result<()> {
        let descriptor = self.descriptor.as_raw_fd();
        // SAFETY: no siginfo, so no pointer is followed.
        let result = unsafe {
            let none = std::ptr::null::<libc::siginfo_t>();
            libc::syscall(libc::SYS_pidfd_send_signal, descriptor, signal, none, 0)
        };
        done(result as i32)
    }
}

/// Waits until one of them ends, as [`Process::wait`] does for one.
pub fn wait_for_one(processes: &[Process], limit: Duration, stop: &AtomicBool) -> io::Result<Waited> {
    let deadline = Instant::now().checked_add(limit);
    loop {
        let left = deadline.map_or(LOOK, |at| at.saturating_duration_since(Instant::now()));
        if one_ended(processes, left.min(LOOK))? {
            return Ok(Waited::Ended);
        }
        if stop.load(Relaxed) {
            return Ok(Waited::Stopped);
        }
        if left.is_zero() {
            return Ok(Waited::TimeUp);
        }
    }
}

/// Whether one has ended, after at most so long. A signal to this thread ends it early.
fn one_ended(processes: &[Process], limit: Duration) -> io::Result<bool> {
    let mut all: Vec<PollFd<'_>> =
        processes.iter().map(|process| PollFd::new(&process.descriptor, PollFlags::IN)).collect();
    match poll(&mut all, Some(limit)) {
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(false),
        outcome => outcome,
    }
}

/// What a process and those of its children that it waited for spent, threads included: the
/// kernel's `struct rusage`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Processor time in user space; to a microsecond, and divided from the kernel's by ticks.
    pub user_ns: u64,
    /// Processor time in the kernel, likewise.
    pub system_ns: u64,
    /// Page faults without input.
    pub minor_faults: u64,
    /// Page faults that waited for input.
    pub major_faults: u64,
    /// How often it let others run, to wait.
    pub voluntary_switches: u64,
    /// How often others were put before it.
    pub involuntary_switches: u64,
    /// Bytes that storage had to read for it.
    pub read_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub usage: Usage,
}

/// Waits for the end of a child and tells what it spent. Its standard input, if we have it, is closed first.
///
/// # Errors
/// ECHILD if it was waited for.
pub fn reap(mut child: Child) -> io::Result<Ended> {
    drop(child.stdin.take());
    loop {
        match wait4(child.id(), 0) {
            Ok(Some(ended)) => return Ok(ended),
            Err(e) if e.kind() != io::ErrorKind::Interrupted => return Err(e),
            _ => {}
        }
    }
}

/// Reaps a process that became a child of ours (see [`adopt_orphans`]), if it has ended.
///
/// # Errors
/// ECHILD if it is no child of ours.
pub fn reap_orphan(pid: u32) -> io::Result<Option<Ended>> {
    wait4(pid, libc::WNOHANG)
}

/// Reaps all children that have ended; whether one is left. With orphans [adopted](adopt_orphans) no descendant is
/// left without one: the kernel answers for one moment, unlike a look at `/proc`.
pub fn reap_all() -> bool {
    const ANY: u32 = u32::MAX;
    loop {
        match wait4(ANY, libc::WNOHANG) {
            Ok(Some(_)) => {}
            // ECHILD is the only error of such a call.
            left => return left.is_ok(),
        }
    }
}

fn wait4(pid: u32, options: i32) -> io::Result<Option<Ended>> {
    let mut status = 0;
    // SAFETY: a struct of numbers, for which zeros are values.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are of locals that the call writes.
    match unsafe { libc::wait4(pid.cast_signed(), &raw mut status, options, &raw mut usage) } {
        0 => Ok(None),
        1.. => Ok(Some(Ended { status: ExitStatus::from_raw(status), usage: usage_of(&usage) })),
        _ => Err(io::Error::last_os_error()),
    }
}

fn usage_of(ended: &libc::rusage) -> Usage {
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Usage {
        user_ns: ns(ended.ru_utime),
        system_ns: ns(ended.ru_stime),
        minor_faults: ended.ru_minflt as u64,
        major_faults: ended.ru_majflt as u64,
        voluntary_switches: ended.ru_nvcsw as u64,
        involuntary_switches: ended.ru_nivcsw as u64,
        // Linux counts blocks of 512 bytes.
        read_bytes: ended.ru_inblock as u64 * 512,
    }
}

/// The times of a process's first thread (`/proc/PID/schedstat`), which outlive it until it is reaped.
///
/// # Errors
/// If there is no such process, or the kernel does not keep them (CONFIG_SCHED_INFO).
pub fn run_times(pid: u32) -> io::Result<Scheduling> {
    parse_scheduling(&fs::read_to_string(format!("/proc/{pid}/schedstat"))?)
}

/// Makes orphaned descendants children of this process (PR_SET_CHILD_SUBREAPER), or ends that. The caller
/// has to reap them.
pub fn adopt_orphans(adopt: bool) -> io::Result<()> {
    // Any number turns it on.
    Ok(set_child_subreaper(adopt.then(getpid))?)
}

/// The processes that `/proc` shows.
pub fn all() -> io::Result<Vec<u32>> {
    let entries: io::Result<Vec<fs::DirEntry>> = fs::read_dir("/proc")?.collect();
    Ok(entries?.iter().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// The processes that descend from one, itself not among them, each after its parent, zombies included.
/// It is a look at `/proc`: who is forked meanwhile may be missed, also where none is found.
pub fn descendants(pid: u32) -> io::Result<Vec<u32>> {
    Ok(Parents::now()?.descendants(pid))
}

/// The parent of each process, from one pass over `/proc`.
#[derive(Clone, Debug)]
pub struct Parents(Vec<(u32, u32)>);

impl Parents {
    /// Looks.
    pub fn now() -> io::Result<Self> {
        // A process that ended in the meantime is left out.
        Ok(Self(all()?.into_iter().filter_map(|child| Some((parent(child)?, child))).collect()))
    }

    /// The children of one, zombies included.
    pub fn children(&self, pid: u32) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().filter(move |(of, _)| *of == pid).map(|&(_, child)| child)
    }

    pub fn descendants(&self, pid: u32) -> Vec<u32> {
        let mut found = vec![pid];
        let mut next = 0;
        while next < found.len() {
            let parent = found[next];
            found.extend(self.children(parent));
            next += 1;
        }
        found.split_off(1)
    }
}

#[cfg(test)]
mod tests;
