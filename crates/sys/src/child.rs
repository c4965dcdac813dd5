//! Programs that this one starts: what the standard library leaves out.

use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::call::{Mapped, done};
use crate::clock;
use crate::process::Process;

/// Has the kernel kill the program when the thread that starts it ends, for whatever reason,
/// kill -9 of this process included. So start it in a thread that outlives it. A program
/// that changes its user loses this (commit_creds, 6.18).
pub fn end_with_this_thread(command: &mut Command) {
    signal_with_this_thread(command, libc::SIGKILL);
}

/// Has the kernel ask the program to end (SIGTERM) when the thread that starts it ends, for whatever reason.
pub fn asked_to_end_with_this_thread(command: &mut Command) {
    signal_with_this_thread(command, libc::SIGTERM);
}

fn signal_with_this_thread(command: &mut Command, signal: i32) {
    let parent = std::process::id();
    let before_exec = move || {
        // SAFETY: no pointers. It is a plain system call, so it may be made between fork and exec.
        done(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) })?;
        // The parent may have ended before the call: then the kernel would never send the signal.
        // SAFETY: no arguments.
        if unsafe { libc::getppid() }.cast_unsigned() != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(())
    };
    // SAFETY: the closure makes two system calls and allocates nothing.
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
    signal(child, libc::SIGINT)
}

/// Asks a program for a report of its progress, where it has one (SIGUSR1). It ends others.
pub fn ask_for_report(child: &mut Child) -> io::Result<()> {
    signal(child, libc::SIGUSR1)
}

/// A descriptor of a program, as one of ours: so a test can look at the very socket that the
/// program uses (pidfd_getfd(2), since Linux 5.6).
pub fn descriptor(child: &mut Child, number: RawFd) -> io::Result<OwnedFd> {
    Process::open(own_number(child)?)?.descriptor(number)
}

fn signal(child: &mut Child, signal: i32) -> io::Result<()> {
    let number = own_number(child)?.cast_signed();
    // SAFETY: no pointers.
    done(unsafe { libc::kill(number, signal) })
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
