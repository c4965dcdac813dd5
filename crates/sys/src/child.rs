//! Programs that this one starts: what the standard library leaves out.

use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, getppid, kill_process, set_parent_process_death_signal};

use crate::call::{Mapped, done};
use crate::clock;
use crate::cpu::{is_before_others, set_policy};
use crate::process::Process;

/// Has the kernel kill the program when the thread that starts it ends, for whatever reason,
/// kill -9 of this process included. So start it in a thread that outlives it. A program
/// that changes its user loses this (commit_creds, 6.18).
pub fn end_with_this_thread(command: &mut Command) {
    signal_with_this_thread(command, Signal::KILL);
}

/// Has the kernel ask the program to end (SIGTERM) when the thread that starts it ends, for whatever reason.
pub fn asked_to_end_with_this_thread(command: &mut Command) {
    signal_with_this_thread(command, Signal::TERM);
}

fn signal_with_this_thread(command: &mut Command, signal: Signal) {
    let parent = getpid();
    let before_exec = move || -> io::Result<()> {
        set_parent_process_death_signal(Some(signal))?;
        // The parent may have ended before the call: then the kernel would never send the signal.
        if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: the closure makes two system calls and allocates nothing.
    unsafe { command.pre_exec(before_exec) };
}

/// Has the program run with the ordinary policy, also where the thread that starts it has real-time priority, as under
/// `chrt -f 50`.
pub fn without_priority(command: &mut Command) {
    let before_exec = || {
        // The process is the fork by now: its policy is that of the thread that starts the program.
        if is_before_others() { set_policy(libc::SCHED_OTHER, 0) } else { Ok(()) }
    };
    // SAFETY: the closure makes three system calls and allocates nothing.
    unsafe { command.pre_exec(before_exec) };
}

/// Sends a signal to a program that was started as the leader of a group (`process_group(0)`), and to all of its group. It
/// must not have been waited for: its number could be another's.
pub fn signal_group(leader: u32, signal: i32) -> io::Result<()> {
    // SAFETY: no pointers.
    done(unsafe { libc::kill(-leader.cast_signed(), signal) })
}

/// The time at which a program is put in place of our fork, taken just before.
#[derive(Clone, Debug)]
pub struct ExecTime(Arc<SharedWord>);

impl ExecTime {
    /// Has the time taken by each program that this command starts from now on; call it last of all that is
    /// to happen between fork and exec. It adds to the command, so make a new command for each start.
    pub fn note(command: &mut Command) -> io::Result<Self> {
        let word = Arc::new(SharedWord::new()?);
        let theirs = Arc::clone(&word);
        // SAFETY: the closure reads a clock and writes a word; it allocates nothing and takes no lock.
        unsafe {
            command.pre_exec(move || {
                theirs.get().store(clock::monotonic_ns(), Relaxed);
                Ok(())
            })
        };
        Ok(Self(word))
    }

    /// CLOCK_MONOTONIC in nanoseconds; `None` before the first start.
    pub fn at_ns(&self) -> Option<u64> {
        Some(self.0.get().load(Relaxed)).filter(|&at_ns| at_ns > 0)
    }
}

/// A number in memory that forks of this process share with it.
#[derive(Debug)]
struct SharedWord(Mapped);

// SAFETY: all access goes through the atomic.
unsafe impl Send for SharedWord {}
// SAFETY: as above.
unsafe impl Sync for SharedWord {}

impl SharedWord {
    fn new() -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        Mapped::new(size_of::<AtomicU64>(), protection, libc::MAP_SHARED, None).map(Self)
    }

    fn get(&self) -> &AtomicU64 {
        // SAFETY: the mapping lives as long as self, is aligned to a page, and zeros are a value.
        unsafe { self.0.start.cast().as_ref() }
    }
}

/// Asks a program to end, as Ctrl-C would (SIGINT).
pub fn interrupt(child: &mut Child) -> io::Result<()> {
    signal(child, Signal::INT)
}

/// Asks a program for a report of its progress, where it has one (SIGUSR1). It ends others.
pub fn ask_for_report(child: &mut Child) -> io::Result<()> {
    signal(child, Signal::USR1)
}

/// A descriptor of a program, as one of ours: so a test can look at the very socket that the
/// program uses (pidfd_getfd(2), since Linux 5.6).
pub fn descriptor(child: &mut Child, number: RawFd) -> io::Result<OwnedFd> {
    Process::open(own_number(child)?)?.descriptor(number)
}

fn signal(child: &mut Child, signal: Signal) -> io::Result<()> {
    own_number(child)?;
    Ok(kill_process(Pid::from_child(child), signal)?)
}

fn own_number(child: &mut Child) -> io::Result<u32> {
    match child.try_wait()? {
        None => Ok(child.id()),
        // One that was waited for may have left its number to somebody else.
        Some(_) => Err(io::Error::from_raw_os_error(libc::ESRCH)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::thread;

    use super::*;

    fn sleeper() -> Command {
        let mut command = Command::new("sleep");
        command.arg("60");
        // A shell has what it starts in the background ignore Ctrl-C, and so may these tests.
        // SAFETY: a plain system call, without pointers.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                Ok(())
            })
        };
        command
    }

    #[test]
    fn a_program_ends_with_the_thread_that_started_it() {
        let start = || {
            let mut command = sleeper();
            end_with_this_thread(&mut command);
            command.spawn().unwrap()
        };
        let mut child = thread::spawn(start).join().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }

    /// The policy that a program has, prepared like this.
    fn policy(prepare: fn(&mut Command)) -> String {
        let mut command = Command::new("cut");
        command.args(["-d", " ", "-f", "41", "/proc/self/stat"]);
        prepare(&mut command);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    }

    #[test]
    fn a_program_does_not_inherit_real_time_priority() {
        let under_chrt = || {
            let set = set_policy(libc::SCHED_FIFO, 1).ok();
            set.map(|()| [policy(|_| ()), policy(without_priority)])
        };
        match thread::spawn(under_chrt).join().unwrap() {
            Some(policies) => assert_eq!(policies, ["1\n", "0\n"]),
            None => netfathom_testkit::skipped("sys::child", "real-time priority needs CAP_SYS_NICE"),
        }
    }

    #[test]
    fn a_descriptor_of_a_program_is_the_same_file() {
        let mut child = sleeper().stdin(std::process::Stdio::piped()).spawn().unwrap();
        let into = child.stdin.take().unwrap();
        let mut read = std::fs::File::from(descriptor(&mut child, 0).unwrap());
        io::Write::write_all(&mut &into, b"seen").unwrap();
        let mut text = [0; 4];
        io::Read::read_exact(&mut read, &mut text).unwrap();
        assert_eq!(&text, b"seen");
        assert_eq!(descriptor(&mut child, 9_999).unwrap_err().raw_os_error(), Some(libc::EBADF));
        interrupt(&mut child).unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn the_time_of_exec_lies_between_those_around_the_start() {
        let mut command = Command::new("true");
        let noted = ExecTime::note(&mut command).unwrap();
        assert_eq!(noted.at_ns(), None);
        let before = clock::monotonic_ns();
        let mut child = command.spawn().unwrap();
        let after = clock::monotonic_ns();
        child.wait().unwrap();
        let at = noted.at_ns().unwrap();
        assert!(before < at && at < after, "{before} {at} {after}");
    }

    #[test]
    fn a_program_is_interrupted_once() {
        let mut child = sleeper().spawn().unwrap();
        interrupt(&mut child).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGINT));
        assert_eq!(interrupt(&mut child).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}
