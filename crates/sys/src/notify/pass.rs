//! A descriptor passed from a fork of this process to it (SCM_RIGHTS).

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use crate::call::{CONTROL_BYTES, Control, control, receive_message, retried};

const DESCRIPTOR_BYTES: u32 = size_of::<RawFd>() as u32;

/// Sends a descriptor by sendmsg(2) or sendmmsg(2). Allocates nothing.
pub(super) fn send(socket: &UnixStream, descriptor: RawFd, call: libc::c_long) -> io::Result<()> {
    let mut byte = 0u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut control = Control([0; CONTROL_BYTES]);
    // SAFETY: a struct of numbers and pointers, for which zeros are values.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    // SAFETY: arithmetic alone.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(DESCRIPTOR_BYTES) } as _;
    // SAFETY: the header lies in `control`, which has more than that space, zeroed and aligned.
    unsafe {
        let header = &mut *libc::CMSG_FIRSTHDR(&raw const message);
        header.cmsg_level = libc::SOL_SOCKET;
        header.cmsg_type = libc::SCM_RIGHTS;
        header.cmsg_len = libc::CMSG_LEN(DESCRIPTOR_BYTES) as _;
        libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(descriptor);
    }
    let mut several = libc::mmsghdr { msg_hdr: message, msg_len: 0 };
    let (socket, flags) = (socket.as_raw_fd(), libc::MSG_NOSIGNAL);
    // SAFETY: all that the message points to lives until the end of this function.
    let sent = unsafe {
        if call == libc::SYS_sendmsg {
            libc::sendmsg(socket, &raw const several.msg_hdr, flags)
        } else {
            libc::sendmmsg(socket, &raw mut several, 1, flags as _) as isize
        }
    };
    if sent == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

pub(super) fn receive(socket: &UnixStream) -> io::Result<OwnedFd> {
    let flags = libc::MSG_CMSG_CLOEXEC;
    let received = retried(|| receive_message(socket, &mut [0], flags, |_, message| descriptor(message)))?;
    received.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

fn descriptor(message: &libc::msghdr) -> Option<OwnedFd> {
    let number: RawFd = control(message, &[(libc::SOL_SOCKET, libc::SCM_RIGHTS)])?;
    // SAFETY: of this level and type the kernel writes a descriptor, which it made for us.
    Some(unsafe { OwnedFd::from_raw_fd(number) })
}
