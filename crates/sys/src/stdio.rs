//! Standard input and output as they were when the program started.
//!
//! Rust's runtime opens /dev/null in place of a standard descriptor that is closed, so that
//! what is written there vanishes without an error. Who asks here learns of it.
//! And input that is read without a buffer, for a limited time; and a terminal that is written to without waiting.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::{Errno, read};
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;

use crate::call::poll;

static CLOSED: AtomicU8 = AtomicU8::new(0);

/// The C library calls what stands in this section before `main`, and so before the runtime.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    for fd in 0..3 {
        // SAFETY: no pointers; the call asks only, and any number may be asked for.
        if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
            CLOSED.fetch_or(1 << fd, Relaxed);
        }
    }
}

/// Whether standard input (0), output (1) or error (2) was closed when the program started.
pub fn was_closed(fd: RawFd) -> bool {
    (0..3).contains(&fd) && CLOSED.load(Relaxed) & (1 << fd) != 0
}

/// Whether the terminal at standard input is another process group's: the kernel stops who takes it from the background, as
/// with `&` or by timeout(1).
pub fn is_in_background() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|foreground| foreground != getpgrp())
}

/// The terminal at standard output, opened once more: writes to it never wait. Set on standard output itself, the flag would
/// hold for every program that shares it.
///
/// # Errors
/// If it cannot be opened.
pub fn nonblocking_terminal() -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    // Where the terminal is another user's, as after su(1), only the second name may be opened.
    options.open("/proc/self/fd/1").or_else(|_| options.open("/dev/tty"))
}

/// Reads what comes to standard input within that time; 0 bytes without any. Not for use beside [`io::stdin`]'s own buffer.
///
/// # Errors
/// If nothing more can come, as from a terminal that is gone.
pub fn read_within(limit: Duration, buffer: &mut [u8]) -> io::Result<usize> {
    let stdin = io::stdin();
    match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(limit)) {
        Ok(false) => return Ok(0),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(0),
        outcome => outcome?,
    };
    match read(&stdin, buffer) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(Errno::INTR | Errno::AGAIN) => Ok(0),
        outcome => Ok(outcome?),
    }
}
