//! What socket errors mean; their numbers differ between architectures.

use std::io::{self, ErrorKind};

fn is_one_of(error: &io::Error, numbers: &[i32]) -> bool {
    error.raw_os_error().is_some_and(|number| numbers.contains(&number))
}

/// Whether accept(2) tells what befell a connection before it was taken, or that a signal came,
/// and nothing of the listening socket: Linux passes on errors of the network that the new
/// connection has had, and EPERM of a firewall.
pub fn befell_the_sender(error: &io::Error) -> bool {
    const OF_THE_NETWORK: [i32; 10] = [
        libc::EPERM,
        libc::EPROTO,
        libc::ENOPROTOOPT,
        libc::EOPNOTSUPP,
        libc::ENONET,
        libc::ENETDOWN,
        libc::ENETUNREACH,
        libc::EHOSTDOWN,
        libc::EHOSTUNREACH,
        libc::ETIMEDOUT,
    ];
    matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted)
        || is_one_of(error, &OF_THE_NETWORK)
}

/// Whether there is no descriptor left, or no memory.
pub fn is_shortage(error: &io::Error) -> bool {
    is_one_of(error, &[libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM])
}

/// Whether there is no room for another message now: the device's queue is full, or with
/// MSG_ZEROCOPY what a socket may have under way.
pub fn has_no_room(error: &io::Error) -> bool {
    is_one_of(error, &[libc::ENOBUFS])
}

/// Whether the message is longer than one can be.
pub fn is_too_long(error: &io::Error) -> bool {
    is_one_of(error, &[libc::EMSGSIZE])
}
