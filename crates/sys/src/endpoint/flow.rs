//! Bytes and datagrams, one system call each.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::null_mut;

use super::address::Encoded;

fn counted(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Sends from the buffer; how much of it was taken.
///
/// # Errors
/// Those of send(2). A peer that is gone is EPIPE, never a signal.
#[inline]
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: pointer and length are those of `bytes`, which the kernel only reads.
    counted(unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) })
}

/// Receives into the buffer; 0 at the end of a stream.
///
/// # Errors
/// Those of recv(2).
#[inline]
pub fn receive(socket: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<usize> {
    // SAFETY: pointer and length are those of `into`, which the kernel writes within.
    counted(unsafe { libc::recv(socket.as_raw_fd(), into.as_mut_ptr().cast(), into.len(), 0) })
}

/// Takes up to `most` bytes from a TCP socket without copying them anywhere (MSG_TRUNC, which
/// means this for TCP since Linux 2.4); 0 at the end of the stream.
///
/// # Errors
/// Those of recv(2).
#[inline]
pub fn discard(socket: BorrowedFd<'_>, most: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC a TCP socket does not write to the buffer (tcp_recvmsg_locked), so
    // that it may be null.
    counted(unsafe { libc::recv(socket.as_raw_fd(), null_mut(), most, libc::MSG_TRUNC) })
}

/// Waits until there is something to receive and leaves it there; `false` at the end of the stream.
///
/// # Errors
/// Those of recv(2).
#[inline]
pub fn more_comes(socket: BorrowedFd<'_>) -> io::Result<bool> {
    let mut byte = 0_u8;
    // SAFETY: the pointer is that of one byte, and the length says one.
    let seen = unsafe { libc::recv(socket.as_raw_fd(), (&raw mut byte).cast(), 1, libc::MSG_PEEK) };
    Ok(counted(seen)? > 0)
}

/// Receives a datagram: its whole length, even where the buffer is shorter, and who sent it.
///
/// # Errors
/// Those of recvfrom(2).
#[inline]
pub fn receive_from(socket: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
    let mut from = Encoded::room();
    // SAFETY: pointers and lengths are those of `into` and of the room for an address.
    let length = counted(unsafe {
        let (address, address_length) = from.parts_mut();
        let (start, most) = (into.as_mut_ptr().cast(), into.len());
        libc::recvfrom(socket.as_raw_fd(), start, most, libc::MSG_TRUNC, address, address_length)
    })?;
    Ok((length, from.decoded()?))
}
