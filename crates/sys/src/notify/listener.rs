//! Answering: who called, what, and that it may go on.

use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags};

use crate::call::{done, poll};
use crate::clock;

/// SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (since Linux 6.6): whoever waits runs next, on our processor.
const WAKE_IN_TURN: u64 = 1;
/// PATH_MAX of linux/limits.h, the zero at its end included.
const PATH_BYTES: usize = 4096;
/// The smallest page: a read that ends at a multiple of it does not fail for what is behind.
const PAGE_BYTES: usize = 4096;

/// A system call that waits to be made.
pub struct Call<'a> {
    listener: &'a OwnedFd,
    notification: &'a libc::seccomp_notif,
    /// When we received the notification, by CLOCK_MONOTONIC in nanoseconds.
    pub at_ns: u64,
}

impl Call<'_> {
    /// The number of the calling thread, in our PID namespace; 0 if it is in none below ours.
    pub fn thread(&self) -> u32 {
        self.notification.pid
    }

    /// The number of the call on this architecture.
    pub fn number(&self) -> u32 {
        self.notification.data.nr.cast_unsigned()
    }

    /// The path that the n-th argument points to, 0 being the first.
    ///
    /// # Errors
    /// If the memory cannot be read: EPERM where we may not trace it, EFAULT if there is none, ESRCH if
    /// the caller is gone.
    ///
    /// # Panics
    /// With an argument that is not below 6.
    pub fn path(&self, argument: usize) -> io::Result<PathBuf> {
        let bytes = self.text(self.notification.data.args[argument])?;
        // A process that has ended in the meantime may have left its number to another.
        self.is_valid()?;
        Ok(OsString::from_vec(bytes).into())
    }

    /// The bytes at an address of the caller up to a zero.
    fn text(&self, address: u64) -> io::Result<Vec<u8>> {
        let mut text = vec![0; PATH_BYTES];
        let mut read = 0;
        while read < PATH_BYTES {
            let at = address as usize + read;
            let up_to_page = PAGE_BYTES - at % PAGE_BYTES;
            let part = &mut text[read..PATH_BYTES.min(read + up_to_page)];
            let bytes = read_memory(self.thread(), at, part)?;
            if let Some(end) = part[..bytes].iter().position(|&byte| byte == 0) {
                text.truncate(read + end);
                return Ok(text);
            }
            read += bytes;
        }
        Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG))
    }

    fn is_valid(&self) -> io::Result<()> {
        let id = self.notification.id;
        // SAFETY: the kernel reads the identity.
        done(unsafe {
            libc::ioctl(self.listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id)
        })
    }
}

/// Reads memory of another process; at least a byte.
fn read_memory(pid: u32, address: usize, into: &mut [u8]) -> io::Result<usize> {
    let ours = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let theirs = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: into.len() };
    // SAFETY: the kernel writes into `into` alone, as many bytes as it has; it checks the other address.
    let read =
        unsafe { libc::process_vm_readv(pid.cast_signed(), &raw const ours, 1, &raw const theirs, 1, 0) };
    match read {
        1.. => Ok(read.unsigned_abs()),
        0 => Err(io::Error::from_raw_os_error(libc::EFAULT)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The end of a filter where notifications arrive.
pub(super) struct Listener(OwnedFd);

impl Listener {
    pub fn new(descriptor: OwnedFd) -> Self {
        // Older kernels wake in another way, which works as well.
        // SAFETY: the flags are no pointer.
        unsafe { libc::ioctl(descriptor.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, WAKE_IN_TURN) };
        Self(descriptor)
    }

    /// Answers until no process has the filter any more.
    pub fn answer(&self, mut each: impl FnMut(&Call<'_>)) {
        while self.wait() {
            let Some(notification) = self.receive() else { continue };
            let at_ns = clock::monotonic_ns();
            each(&Call { listener: &self.0, notification: &notification, at_ns });
            self.go_on(notification.id);
        }
    }

    /// Waits for a notification; false if none can come.
    fn wait(&self) -> bool {
        let mut one = [PollFd::new(&self.0, PollFlags::IN)];
        // A signal of ours is no reason to leave.
        let is_interrupted = poll(&mut one, None).is_err();
        let seen = one[0].revents();
        is_interrupted || seen.contains(PollFlags::IN) || !seen.intersects(PollFlags::HUP | PollFlags::ERR)
    }

    /// None if the caller was killed in the meantime.
    fn receive(&self) -> Option<libc::seccomp_notif> {
        // The kernel wants zeros.
        // SAFETY: a struct of numbers, for which zeros are values.
        let mut notification: libc::seccomp_notif = unsafe { MaybeUninit::zeroed().assume_init() };
        // SAFETY: the kernel writes a notification, which has had this size since there are any.
        let result =
            unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut notification) };
        (result == 0).then_some(notification)
    }

    fn go_on(&self, id: u64) {
        let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
        let mut answer = libc::seccomp_notif_resp { id, val: 0, error: 0, flags };
        // It fails if the caller was killed, who then needs no answer.
        // SAFETY: the kernel reads the answer.
        unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) };
    }
}
