//! What has to be known of a socket before it is given to the kernel.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Whether it carries datagrams rather than a stream.
pub(super) fn is_of_datagrams(socket: BorrowedFd<'_>) -> io::Result<bool> {
    let mut kind: libc::c_int = 0;
    let mut bytes = size_of_val(&kind) as libc::socklen_t;
    // SAFETY: both pointers are valid for what is written, and the length is that of `kind`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TYPE,
            (&raw mut kind).cast(),
            &raw mut bytes,
        )
    };
    if result == 0 { Ok(kind == libc::SOCK_DGRAM) } else { Err(io::Error::last_os_error()) }
}

/// Whether a byte, or a datagram, waits to be received. The end of a stream is neither.
pub(super) fn has_something_waiting(socket: BorrowedFd<'_>, datagrams: bool) -> io::Result<bool> {
    let mut byte = 0_u8;
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: the pointer is valid for the one byte that is written at most.
    let received = unsafe { libc::recv(socket.as_raw_fd(), (&raw mut byte).cast(), 1, flags) };
    if received >= 0 {
        return Ok(received > 0 || datagrams);
    }
    match io::Error::last_os_error() {
        e if e.kind() == io::ErrorKind::WouldBlock => Ok(false),
        e => Err(e),
    }
}
