//! Programs that this one starts: what the standard library leaves out.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// Has the kernel kill the program when the thread that starts it ends, for whatever reason,
/// kill -9 of this process included. So start it in a thread that outlives it. A program
/// that changes its user loses this (commit_creds, 6.18).
pub fn end_with_this_thread(command: &mut Command) {
    let parent = std::process::id();
    let before_exec = move || {
        // SAFETY: no pointers. It is a plain system call, so it may be made between fork and exec.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // The parent may have ended before the call: then nobody would send the signal.
        // SAFETY: no arguments.
        if unsafe { libc::getppid() }.cast_unsigned() != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(())
    };
    // SAFETY: the closure makes two system calls and allocates nothing.
    unsafe { command.pre_exec(before_exec) };
}

/// Asks a program to end, as Ctrl-C would (SIGINT).
///
/// # Errors
/// If it has ended and was waited for.
pub fn interrupt(child: &mut Child) -> io::Result<()> {
    signal(child, libc::SIGINT)
}

/// Asks a program for a report of its progress, where it has one (SIGUSR1). It ends others.
///
/// # Errors
/// If it has ended and was waited for.
pub fn ask_for_report(child: &mut Child) -> io::Result<()> {
    signal(child, libc::SIGUSR1)
}

/// A descriptor of a program, as one of ours: so a test can look at the very socket that the
/// program uses (pidfd_getfd(2), since Linux 5.6).
///
/// # Errors
/// If it has ended or has no such descriptor, or the kernel is older.
pub fn descriptor(child: &mut Child, number: RawFd) -> io::Result<OwnedFd> {
    if child.try_wait()?.is_some() {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    // SAFETY: no pointers; the child was not waited for, so the number is its own.
    let program = owned(unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) })?;
    // SAFETY: no pointers.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_getfd, program.as_raw_fd(), number, 0) })
}

/// A descriptor that a system call has just made, or its error.
fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the callers pass what the kernel has just made, which nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(result as RawFd) })
}

fn signal(child: &mut Child, signal: i32) -> io::Result<()> {
    // One that was waited for may have left its number to somebody else.
    if child.try_wait()?.is_some() {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    // SAFETY: no pointers; the child was not waited for, so the number is its own.
    let result = unsafe { libc::kill(child.id().cast_signed(), signal) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::thread;

    use super::*;

    fn sleeper() -> Command {
        let mut command = Command::new("sleep");
        command.arg("60");
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
    fn a_program_is_interrupted_once() {
        let mut child = sleeper().spawn().unwrap();
        interrupt(&mut child).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGINT));
        assert_eq!(interrupt(&mut child).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}
