//! A descriptor passed from a fork of this process to it (SCM_RIGHTS).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

/// Space for one control message with one descriptor, aligned as it has to be.
#[repr(C, align(8))]
struct DescriptorControl([u8; 64]);

/// A message of one byte with room for a descriptor beside it. The pointers are to be valid while it is used.
fn message(byte: &mut libc::iovec, control: &mut DescriptorControl, control_bytes: usize) -> libc::msghdr {
    // SAFETY: a struct of numbers and pointers, for which zeros are values.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = byte;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control_bytes as _;
    message
}

const DESCRIPTOR_BYTES: u32 = size_of::<RawFd>() as u32;

/// Sends a descriptor by sendmsg(2) or sendmmsg(2). Allocates nothing.
pub(super) fn send(socket: &UnixStream, descriptor: RawFd, call: libc::c_long) -> io::Result<()> {
    let mut byte = 0u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut control = DescriptorControl([0; 64]);
    // SAFETY: arithmetic alone.
    let space = unsafe { libc::CMSG_SPACE(DESCRIPTOR_BYTES) } as usize;
    let message = message(&mut part, &mut control, space);
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
    let mut byte = 0u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut control = DescriptorControl([0; 64]);
    let mut message = message(&mut part, &mut control, size_of::<DescriptorControl>());
    loop {
        // SAFETY: all that the message points to lives until the end of this function.
        let received = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
        match received {
            1.. => break,
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ => match io::Error::last_os_error() {
                e if e.kind() == io::ErrorKind::Interrupted => {}
                e => return Err(e),
            },
        }
    }
    // SAFETY: the kernel filled `control` as far as the message says; a header is checked before its data
    // are read, which are a descriptor that was made for us.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned()))
    }
}
