//! Notifications of some system calls of a program and of all it starts, before the kernel makes them: a
//! seccomp filter that notifies (SECCOMP_RET_USER_NOTIF, Linux 5.5). It needs no privilege.
//!
//! Each such call waits until our thread has read the notification and answered it: two thread
//! switches. Other calls pass the filter, which takes some ten instructions.
//!
//! What it changes for the program: without CAP_SYS_ADMIN no_new_privs is set, so that programs with the
//! set-user-ID bit (sudo, ping) do not get another user's rights; and the program cannot have a
//! notifying filter of its own (EBUSY), as container runtimes want it. 32-bit programs are not seen. Before
//! Linux 5.19 a signal during a notification restarts the call, and the kernel notifies of it once more.
//!
//! The thread answers until the last process with the filter has ended, also after [`Notifier`] was
//! dropped. If this process is killed, no call hangs: calls that wait and later ones fail with ENOSYS.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::panic::resume_unwind;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering::Acquire, Ordering::Release};
use std::thread::{self, JoinHandle};
use std::time::Duration;

mod filter;
mod listener;
mod pass;
#[cfg(test)]
mod tests;

use self::filter::Filter;
pub use self::listener::Call;
use self::listener::Listener;

/// The calls of this architecture that open a file, and which argument is its path, 0 being the first. A file that
/// io_uring opens is opened by none of them.
pub const OPENS: &[(u32, usize)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open as u32, 0),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat as u32, 0),
    (libc::SYS_openat as u32, 1),
    (libc::SYS_openat2 as u32, 1),
];

/// The calls that put another program in place.
pub const EXECS: &[u32] = &[libc::SYS_execve as u32, libc::SYS_execveat as u32];

/// Answers the notifications of a program and of all it starts.
#[derive(Debug)]
pub struct Notifier {
    /// Ends the wait for a program that never starts.
    receiving: UnixStream,
    thread: JoinHandle<()>,
}

impl Notifier {
    /// Has the programs that this command starts notify of these system calls, by their numbers on this
    /// architecture, up to 128. A thread of its own runs `each` for every call while the call waits; it must
    /// not panic. The first is the execve(2) that puts the program in place, if that is among them.
    ///
    /// It adds to the command: start it once. Have it done after everything else between fork and exec that
    /// makes any of these calls.
    pub fn of(
        command: &mut Command,
        numbers: &[u32],
        each: impl FnMut(&Call<'_>) + Send + 'static,
    ) -> io::Result<Self> {
        let filter = Filter::new(numbers)?;
        let (passing, receiving) = UnixStream::pair()?;
        let theirs = receiving.try_clone()?;
        let answer = move || {
            // A program that did not start passes nothing.
            if let Ok(listener) = pass::receive(&theirs) {
                drop(theirs);
                Listener::new(listener).answer(each);
            }
        };
        let thread = thread::Builder::new().name("notifications".into()).spawn(answer)?;
        let before_exec = move || {
            let listener = filter.install()?;
            pass::send(&passing, listener.as_raw_fd(), filter.passes_by)
        };
        // SAFETY: the closure makes system calls and allocates nothing.
        unsafe { command.pre_exec(before_exec) };
        Ok(Self { receiving, thread })
    }

    /// Whether no process with the filter is left: the program and all its descendants have ended.
    pub fn is_over(&self) -> bool {
        self.thread.is_finished()
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        // The thread that waits for a listener ends by it; one that has it does not need the socket. It
        // fails if the other end is gone, which does the same.
        let _ = self.receiving.shutdown(std::net::Shutdown::Both);
    }
}

/// Runs `work` in a thread with a filter that notifies of calls with these numbers, and answers them here. They
/// must not be those by which a thread ends.
pub fn in_a_thread<T: Send>(
    numbers: &[u32],
    each: impl FnMut(&Call<'_>),
    work: impl FnOnce() -> T + Send,
) -> io::Result<T> {
    /// How often it is looked whether the filter is there: waking us may be what it notifies of.
    const LOOK: Duration = Duration::from_micros(100);
    let filter = Filter::new(numbers)?;
    let passed = AtomicI32::new(-1);
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, || {
            let listener = filter.install()?;
            passed.store(listener.into_raw_fd(), Release);
            Ok(work())
        })?;
        while passed.load(Acquire) < 0 && !thread.is_finished() {
            thread::sleep(LOOK);
        }
        match passed.load(Acquire) {
            ..0 => {}
            // SAFETY: the thread gave the descriptor away by this number, which is taken once.
            number => Listener::new(unsafe { OwnedFd::from_raw_fd(number) }).answer(each),
        }
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Tries whether a thread can have its calls notified.
///
/// # Errors
/// Why not: ENOSYS or EINVAL before Linux 5.5, EBUSY if something listens already, EPERM or EACCES where
/// a filter forbids it.
pub fn probe() -> io::Result<()> {
    let mut seen = 0;
    // SAFETY: no arguments, and it cannot fail.
    let ask = || unsafe { libc::getppid() };
    in_a_thread(&[libc::SYS_getppid as u32], |_| seen += 1, ask)?;
    if seen == 1 { Ok(()) } else { Err(io::Error::other(format!("one call made {seen} notifications"))) }
}
