//! What several modules ask of the kernel in the same way.

use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::panic::resume_unwind;
use std::ptr::{self, NonNull};
use std::thread;
use std::time::Duration;

use rustix::event::{self, PollFd, Timespec};

/// The result of a call that returns nothing else.
pub fn done(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// How many bytes a call has moved.
#[inline]
pub fn counted(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Repeats a call while a signal interrupts it.
#[inline]
pub fn retried<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

/// The descriptor that a call has just made.
pub fn owned(result: impl Into<i64>) -> io::Result<OwnedFd> {
    match i32::try_from(result.into()) {
        // SAFETY: the kernel has just made this descriptor for us alone.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A text as C has it, with zeros behind it; `None` if it has no room, is empty, or has a zero within.
pub fn c_text<const BYTES: usize>(text: &str) -> Option<[libc::c_char; BYTES]> {
    let mut padded = [0; BYTES];
    padded.iter_mut().zip(text.bytes()).for_each(|(to, byte)| *to = byte as libc::c_char);
    (!text.is_empty() && text.len() < BYTES && !text.contains('\0')).then_some(padded)
}

/// A new socket; no program that is started inherits it.
pub fn socket(family: i32, kind: i32) -> io::Result<OwnedFd> {
    // SAFETY: no pointers.
    owned(unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, 0) })
}

/// Waits until one of them is ready, `most` at most; `None` waits without end. Whether one is.
///
/// # Errors
/// EINTR, among others of poll(2).
pub fn poll(files: &mut [PollFd<'_>], most: Option<Duration>) -> io::Result<bool> {
    // More seconds than the kernel can count are without end.
    let most = most.and_then(|most| Timespec::try_from(most).ok());
    Ok(event::poll(files, most.as_ref())? > 0)
}

/// Room for the control messages of one call: stamps, and a `sock_extended_err` with the offender's address.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub struct Control(pub [u8; CONTROL_BYTES]);

pub const CONTROL_BYTES: usize = 256;

/// Receives into `buffer` by recvmsg(2); `read` makes the result of the number of bytes and the message.
#[inline]
pub fn receive_message<T>(
    socket: &impl AsRawFd,
    buffer: &mut [u8],
    flags: i32,
    read: impl FnOnce(usize, &libc::msghdr) -> T,
) -> io::Result<T> {
    let mut control = MaybeUninit::<Control>::uninit();
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: all-zero is a msghdr without buffers.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = CONTROL_BYTES as _;
    // SAFETY: the message points to `buffer` and `control`, with their own lengths.
    let bytes = counted(unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) })?;
    Ok(read(bytes, &message))
}

/// Made of integers.
///
/// # Safety
/// Any bytes are a value.
pub unsafe trait Plain: Copy {}

// SAFETY: integers alone.
unsafe impl Plain for i32 {}
// SAFETY: integers alone.
unsafe impl Plain for libc::timespec {}
// SAFETY: integers alone.
unsafe impl Plain for libc::sock_extended_err {}

/// What the kernel wrote beside a received message, in the first control message of one of these levels and types: `T` is
/// what it writes of them, or begins with.
#[inline]
pub fn control<T: Plain>(message: &libc::msghdr, kinds: &[(i32, i32)]) -> Option<T> {
    // SAFETY: the kernel has set msg_controllen to what it wrote into the control buffer, and the CMSG macros stay
    // within it. The data may be unaligned, and is as long as a `T`, for which any bytes are a value.
    unsafe {
        let least = libc::CMSG_LEN(size_of::<T>() as u32) as usize;
        let mut next = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = next.as_ref() {
            let is_whole = header.cmsg_len >= least;
            if is_whole && kinds.contains(&(header.cmsg_level, header.cmsg_type)) {
                return Some(libc::CMSG_DATA(next).cast::<T>().read_unaligned());
            }
            next = libc::CMSG_NXTHDR(message, next);
        }
    }
    None
}

/// What the kernel tells by a message of a socket's error queue.
#[inline]
pub fn extended_error(message: &libc::msghdr) -> Option<libc::sock_extended_err> {
    control(message, &[(libc::SOL_IP, libc::IP_RECVERR), (libc::SOL_IPV6, libc::IPV6_RECVERR)])
}

/// Runs `work` in a new thread and waits for it. A panic of `work` goes on in the caller.
pub fn in_new_thread<T: Send>(name: &str, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name(name.into()).spawn_scoped(scope, work)?;
        Ok(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// What this process or thread took (RUSAGE_SELF, RUSAGE_THREAD).
pub fn rusage(who: i32) -> libc::rusage {
    // SAFETY: rusage is made of integers alone, for which zero is a value.
    let mut usage: libc::rusage = unsafe { zeroed() };
    // SAFETY: the pointer is valid for the one rusage that is written; it cannot fail of ourselves.
    unsafe { libc::getrusage(who, &raw mut usage) };
    usage
}

/// Memory that is mapped until this is dropped; no reference to it may outlive that.
#[derive(Debug)]
pub struct Mapped {
    pub start: NonNull<u8>,
    pub bytes: usize,
}

impl Mapped {
    /// Maps zeros, or what `file` has from an offset on, wherever the kernel likes.
    pub fn new(
        bytes: usize,
        protection: i32,
        flags: i32,
        file: Option<(BorrowedFd<'_>, libc::off_t)>,
    ) -> io::Result<Self> {
        let (flags, fd, offset) = match file {
            Some((fd, offset)) => (flags, fd.as_raw_fd(), offset),
            None => (flags | libc::MAP_ANONYMOUS, -1, 0),
        };
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, fd, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, bytes })
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the whole mapping, which was made in `new`; nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
