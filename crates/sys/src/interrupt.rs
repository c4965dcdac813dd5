//! Ending a system call that another thread is blocked in.

use std::io;
use std::mem::zeroed;
use std::ptr::null_mut;

use crate::call::done;
use crate::cpu::thread_id;

/// A thread with blocking system calls that another thread can end: they return EINTR, or what they did so far.
#[derive(Clone, Copy, Debug)]
pub struct Interruptible {
    thread: libc::c_long,
}

/// Does nothing: that it runs at all is what ends a system call.
extern "C" fn nothing(_signal: i32) {}

impl Interruptible {
    /// The calling thread. It takes the second real-time signal of the process for this.
    pub fn this_thread() -> io::Result<Self> {
        // SAFETY: all-zero is an action without flags (above all without SA_RESTART, which would
        // have the kernel begin the call again), with an empty mask.
        let mut action: libc::sigaction = unsafe { zeroed() };
        action.sa_sigaction = nothing as *const () as usize;
        // SAFETY: the action is valid, its handler touches nothing, and the old one is not asked for.
        done(unsafe { libc::sigaction(signal(), &raw const action, null_mut()) })?;
        Ok(Self { thread: thread_id().into() })
    }

    /// Ends the system call that the thread is in. One that it is only about to make is not
    /// ended: repeat this until the thread has noticed.
    pub fn interrupt(&self) {
        // SAFETY: no pointers. A number of a thread that is gone is refused; this process has a
        // handler for the signal since `self` was made.
        unsafe {
            libc::syscall(libc::SYS_tgkill, libc::getpid(), self.thread, signal());
        }
    }
}

fn signal() -> i32 {
    libc::SIGRTMIN() + 1
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::endpoint;

    #[test]
    fn a_blocked_call_ends() {
        let (read, _write) = io::pipe().unwrap();
        let (sender, receiver) = mpsc::channel();
        let blocked = thread::spawn(move || {
            sender.send(Interruptible::this_thread().unwrap()).unwrap();
            endpoint::readable(read.as_fd(), Duration::from_secs(60))
        });
        let target = receiver.recv().unwrap();
        while !blocked.is_finished() {
            target.interrupt();
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(blocked.join().unwrap().unwrap_err().kind(), io::ErrorKind::Interrupted);
    }
}
