//! One end of a transfer: a TCP or UDP socket. Its options are set before it connects or listens, because TCP
//! chooses the offered window then.
//!
//! What blocks here returns EINTR when a signal comes, so that [`crate::interrupt`] can end it.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

mod errors;
mod flow;
mod options;
mod pace;
mod queue;

pub use errors::{befell_the_sender, has_no_room, is_shortage, is_too_long};
pub use flow::{
    discard, more_comes, receive, receive_from, receive_parts, receive_polling, send, send_more, send_parts,
};
pub use options::{
    SocketBuffer, acknowledge_at_once, buffer_bytes, cut_on_close, delay_acks, is_debug, set_address_reuse,
    set_both_families, set_buffer, set_cork, set_debug, set_keep_alive, set_no_delay, set_nonblocking,
    set_receive_limit, set_wake_threshold,
};

pub use pace::{available_congestion_controls, congestion, pacing, set_congestion, set_pacing};
pub use queue::{queued_in, queued_out};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{self, Shutdown, SocketAddrAny, SocketFlags};

use crate::call;
use crate::socket::pending_error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketKind {
    Stream,
    Datagram,
}

/// Makes a socket for addresses of this family; no program that is started inherits it.
pub fn open(kind: SocketKind, family_of: SocketAddr) -> io::Result<OwnedFd> {
    let family = if family_of.is_ipv6() { libc::AF_INET6 } else { libc::AF_INET };
    let kind = match kind {
        SocketKind::Stream => libc::SOCK_STREAM,
        SocketKind::Datagram => libc::SOCK_DGRAM,
    };
    call::socket(family, kind)
}

/// Gives the socket its own address.
pub fn bind(socket: BorrowedFd<'_>, to: SocketAddr) -> io::Result<()> {
    Ok(net::bind(socket, &to)?)
}

pub fn listen(socket: BorrowedFd<'_>, backlog: i32) -> io::Result<()> {
    Ok(net::listen(socket, backlog)?)
}

/// Connects the socket.
///
/// # Errors
/// Those of connect(2); after EINTR the attempt goes on, and [`connected`] waits for it.
pub fn connect(socket: BorrowedFd<'_>, to: SocketAddr) -> io::Result<()> {
    Ok(net::connect(socket, &to)?)
}

/// Waits for the end of an attempt to connect that a signal has interrupted.
pub fn connected(socket: BorrowedFd<'_>) -> io::Result<()> {
    writable(socket, Duration::MAX)?;
    pending_error(&socket)
}

/// Waits for a connection and takes it.
///
/// # Errors
/// Those of accept(2), EINTR among them.
pub fn accept(socket: BorrowedFd<'_>) -> io::Result<(OwnedFd, SocketAddr)> {
    let (connection, from) = net::acceptfrom_with(socket, SocketFlags::CLOEXEC)?;
    Ok((connection, decoded(from)?))
}

pub fn local_address(socket: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    decoded(Some(net::getsockname(socket)?))
}

/// An IPv4-mapped address of an IPv6 socket is returned as IPv4.
fn decoded(address: Option<SocketAddrAny>) -> io::Result<SocketAddr> {
    let address = SocketAddr::try_from(address.ok_or(Errno::AFNOSUPPORT)?)?;
    Ok(match address.ip().to_canonical() {
        ip if ip != address.ip() => SocketAddr::new(ip, address.port()),
        _ => address,
    })
}

/// Ends the sending half: the peer reads the end of the stream after what was sent before.
pub fn end_sending(socket: BorrowedFd<'_>) -> io::Result<()> {
    Ok(net::shutdown(socket, Shutdown::Write)?)
}

/// Waits until there is something to read, the end or an error included; `false` after `most`.
///
/// # Errors
/// EINTR.
pub fn readable(fd: BorrowedFd<'_>, most: Duration) -> io::Result<bool> {
    ready(fd, PollFlags::IN, most)
}

/// Waits until there is room to write, or the reader is gone; `false` after `most`.
///
/// # Errors
/// EINTR.
pub fn writable(fd: BorrowedFd<'_>, most: Duration) -> io::Result<bool> {
    ready(fd, PollFlags::OUT, most)
}

/// Whether the receiving half was ended, by either side, or an error waits: the next receive call does not sleep.
pub fn has_ended(socket: BorrowedFd<'_>) -> io::Result<bool> {
    ready(socket, PollFlags::RDHUP, Duration::ZERO)
}

fn ready(fd: BorrowedFd<'_>, events: PollFlags, most: Duration) -> io::Result<bool> {
    call::poll(&mut [PollFd::from_borrowed_fd(fd, events)], Some(most))
}

#[cfg(test)]
pub(crate) mod tests;
