//! Options of a socket.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use crate::socket::{get_option, set_option};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketBuffer {
    /// What was sent and is not acknowledged yet.
    Send,
    /// What was received and is not read yet.
    Receive,
}

impl SocketBuffer {
    fn option(self) -> i32 {
        match self {
            Self::Send => libc::SO_SNDBUF,
            Self::Receive => libc::SO_RCVBUF,
        }
    }
}

/// Asks for a buffer of that size and returns what was granted, in the same measure: the
/// kernel doubles what it is asked for, to have room for its own data, and this is half of that.
pub fn set_buffer(socket: BorrowedFd<'_>, which: SocketBuffer, bytes: u32) -> io::Result<u32> {
    let asked = i32::try_from(bytes).unwrap_or(i32::MAX);
    set_option(&socket, libc::SOL_SOCKET, which.option(), &asked)?;
    Ok(buffer_bytes(socket, which)? / 2)
}

/// The size of a buffer now, as the kernel counts it: the memory of packets, not only payload.
pub fn buffer_bytes(socket: BorrowedFd<'_>, which: SocketBuffer) -> io::Result<u32> {
    let bytes: i32 = get_option(&socket, libc::SOL_SOCKET, which.option())?;
    Ok(bytes.unsigned_abs())
}

/// Has the kernel put acknowledgments off for as long as it may (TCP_QUICKACK 0), until it finds
/// that they are needed sooner.
pub fn delay_acks(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_option(&socket, libc::IPPROTO_TCP, libc::TCP_QUICKACK, &0_i32)
}

/// Sends each write at once, without waiting for the acknowledgment of the last (TCP_NODELAY).
pub fn set_no_delay(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_option(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, &1_i32)
}

/// Has the kernel send acknowledgments at once for now (TCP_QUICKACK 1): it goes back to putting
/// them off by itself, so that it is set again after each read.
#[inline]
pub fn acknowledge_at_once(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_option(&socket, libc::IPPROTO_TCP, libc::TCP_QUICKACK, &1_i32)
}

/// Holds back what is not a full segment (TCP_CORK), or lets it go; for 200 ms at most.
#[inline]
pub fn set_cork(socket: BorrowedFd<'_>, on: bool) -> io::Result<()> {
    set_option(&socket, libc::IPPROTO_TCP, libc::TCP_CORK, &i32::from(on))
}

/// Marks the socket for debugging (SO_DEBUG).
///
/// # Errors
/// EACCES without CAP_NET_ADMIN.
pub fn set_debug(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_option(&socket, libc::SOL_SOCKET, libc::SO_DEBUG, &1_i32)
}

pub fn is_debug(socket: BorrowedFd<'_>) -> io::Result<bool> {
    let on: i32 = get_option(&socket, libc::SOL_SOCKET, libc::SO_DEBUG)?;
    Ok(on != 0)
}

/// Has the kernel ask a peer that says nothing whether it is still there, after so long and as
/// often as that again; the connection fails (ETIMEDOUT) when four questions had no answer
/// (tcp(7)). A program there that is slow has a kernel that answers.
pub fn set_keep_alive(socket: BorrowedFd<'_>, after: Duration) -> io::Result<()> {
    let seconds = i32::try_from(after.as_secs().max(1)).unwrap_or(i32::MAX);
    for (name, value) in
        [(libc::TCP_KEEPIDLE, seconds), (libc::TCP_KEEPINTVL, seconds), (libc::TCP_KEEPCNT, 4)]
    {
        set_option(&socket, libc::IPPROTO_TCP, name, &value)?;
    }
    set_option(&socket, libc::SOL_SOCKET, libc::SO_KEEPALIVE, &1_i32)
}

/// Lets a port be used again while old connections of it still linger.
pub fn set_address_reuse(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_option(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, &1_i32)
}

/// Lets a socket of IPv6 take what comes by IPv4 as well, whatever the system's default is.
pub fn set_both_families(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_option(&socket, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &0_i32)
}

/// Ends a receive call that waited so long with EAGAIN.
pub fn set_receive_limit(socket: BorrowedFd<'_>, most: Duration) -> io::Result<()> {
    let time = libc::timeval {
        tv_sec: most.as_secs() as libc::time_t,
        tv_usec: most.subsec_micros() as libc::suseconds_t,
    };
    set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &time)
}

/// Wakes a waiting reader only when this many bytes are queued (SO_RCVLOWAT), at the end of the stream, or when the
/// buffer is full. The kernel limits it to half of the largest receive buffer, and enlarges the buffer to match.
pub fn set_wake_threshold(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, &bytes)
}

/// Whether calls that would wait end with EAGAIN instead.
pub fn set_nonblocking(socket: BorrowedFd<'_>, nonblocking: bool) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(socket, nonblocking)?)
}

/// Whether closing the socket, by whatever way this process ends, cuts the connection: the peer
/// then reads ECONNRESET, and not the end of the stream (SO_LINGER of no time).
pub fn cut_on_close(socket: BorrowedFd<'_>, cut: bool) -> io::Result<()> {
    let linger = libc::linger { l_onoff: i32::from(cut), l_linger: 0 };
    set_option(&socket, libc::SOL_SOCKET, libc::SO_LINGER, &linger)
}
