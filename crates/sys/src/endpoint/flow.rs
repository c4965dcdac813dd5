//! Bytes and datagrams, one system call each.

use std::hint::spin_loop;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::zeroed;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendAncillaryBuffer, SendFlags};

use super::decoded;
use crate::call::counted;

/// Sends from the buffer; how much of it was taken.
///
/// # Errors
/// Those of send(2). A peer that is gone is EPIPE, never a signal.
#[inline]
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    Ok(net::send(socket, bytes, SendFlags::NOSIGNAL)?)
}

/// As [`send`], with word that more follows soon (MSG_MORE): what is not a full segment waits for it.
#[inline]
pub fn send_more(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    Ok(net::send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::MORE)?)
}

/// Receives into the buffer; 0 at the end of a stream.
#[inline]
pub fn receive(socket: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<usize> {
    Ok(net::recv(socket, into, RecvFlags::empty())?.1)
}

/// As [`receive`], but asks again and again instead of sleeping, for `most` at most; `None` asks without end.
///
/// # Errors
/// EAGAIN if nothing came meanwhile.
pub fn receive_polling(socket: BorrowedFd<'_>, into: &mut [u8], most: Option<Duration>) -> io::Result<usize> {
    let until = most.map(|most| Instant::now() + most);
    loop {
        match net::recv(socket, &mut *into, RecvFlags::DONTWAIT) {
            Err(Errno::AGAIN) if until.is_none_or(|until| Instant::now() < until) => spin_loop(),
            received => return Ok(received?.1),
        }
    }
}

/// Sends from several buffers in one call, as far as they are taken.
///
/// # Errors
/// Those of sendmsg(2). A peer that is gone is EPIPE, never a signal.
#[inline]
pub fn send_parts(socket: BorrowedFd<'_>, parts: &[IoSlice<'_>]) -> io::Result<usize> {
    Ok(net::sendmsg(socket, parts, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)?)
}

/// Receives into several buffers in one call, one after the other; 0 at the end of a stream.
#[inline]
pub fn receive_parts(socket: BorrowedFd<'_>, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
    // The kernel is not asked for an address, as it would be by rustix.
    // SAFETY: msghdr is made of integers and pointers alone, for which zero is a value.
    let mut message: libc::msghdr = unsafe { zeroed() };
    // IoSliceMut has the layout of iovec, as the standard library guarantees.
    (message.msg_iov, message.msg_iovlen) = (parts.as_mut_ptr().cast(), parts.len());
    // SAFETY: the header points to buffers that live through the call, which writes within them.
    counted(unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) })
}

/// Takes up to `most` bytes from a TCP socket without copying them anywhere (MSG_TRUNC, which
/// means this for TCP since Linux 2.4); 0 at the end of the stream.
#[inline]
pub fn discard(socket: BorrowedFd<'_>, most: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC a TCP socket does not write to the buffer (tcp_recvmsg_locked), so
    // that it may be null.
    counted(unsafe { libc::recv(socket.as_raw_fd(), null_mut(), most, libc::MSG_TRUNC) })
}

/// Waits until there is something to receive and leaves it there; `false` at the end of the stream.
#[inline]
pub fn more_comes(socket: BorrowedFd<'_>) -> io::Result<bool> {
    Ok(net::recv(socket, &mut [0_u8], RecvFlags::PEEK)?.1 > 0)
}

/// Receives a datagram: its whole length, even where the buffer is shorter, and who sent it.
#[inline]
pub fn receive_from(socket: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
    let (_, length, from) = net::recvfrom(socket, into, RecvFlags::TRUNC)?;
    Ok((length, decoded(from)?))
}
