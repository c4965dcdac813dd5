//! A terminal for a program that wants one.

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::{FdFlags, fcntl_setfd};

use crate::call::done;

/// Gives a program a terminal of its own (pty(7)) as standard input, output and error, and makes it the leader of a
/// session. What it writes is read from the file; it must be read, for the terminal holds but 4 KiB.
pub fn give_terminal(command: &mut Command) -> io::Result<File> {
    let (mut ours, mut theirs) = (-1, -1);
    let none = std::ptr::null_mut();
    // SAFETY: both pointers are of locals that the call writes; no name, no settings, no size.
    done(unsafe { libc::openpty(&raw mut ours, &raw mut theirs, none, none.cast(), none.cast()) })?;
    // SAFETY: the call has just made both for us alone.
    let (ours, theirs) = unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
    // openpty(3) leaves both open for every program.
    fcntl_setfd(&ours, FdFlags::CLOEXEC)?;
    fcntl_setfd(&theirs, FdFlags::CLOEXEC)?;
    command.stdin(theirs.try_clone()?).stdout(theirs.try_clone()?).stderr(theirs);
    let lead = || {
        // SAFETY: no pointers; plain system calls, so they may be made between fork and exec. 0 is the terminal by then.
        done(unsafe { if libc::setsid() < 0 { -1 } else { libc::ioctl(0, libc::TIOCSCTTY, 0) } })
    };
    // SAFETY: the closure makes two system calls and allocates nothing.
    unsafe { command.pre_exec(lead) };
    Ok(File::from(ours))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_program_finds_a_terminal_of_its_own() {
        let mut command = Command::new("sh");
        command.args(["-c", "test -t 0 && test -t 1 && test -t 2 && : </dev/tty && echo there"]);
        let mut terminal = give_terminal(&mut command).unwrap();
        let mut child = command.spawn().unwrap();
        // Its own end in this process would keep the terminal open.
        drop(command);
        let mut output = Vec::new();
        // It ends with an error (EIO) when the other end is closed.
        let _ = terminal.read_to_end(&mut output);
        assert_eq!(String::from_utf8_lossy(&output).trim(), "there");
        assert!(child.wait().unwrap().success());
    }
}
