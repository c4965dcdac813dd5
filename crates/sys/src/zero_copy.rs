//! Sending from a program's own memory without copying it (MSG_ZEROCOPY, TCP since Linux 4.14).
//!
//! The kernel sends from the pages of the buffer itself. The socket's error queue reports
//! when the kernel no longer needs them, and whether it has copied them after all. It numbers the
//! calls that sent anything, from 0 on, modulo 2^32; [`Ledger`] makes bytes of these numbers.
//!
//! Who copies after all (net/core/skbuff.c, net/ipv4/tcp.c; tried out on 6.18):
//! - A packet for a socket of this host is copied where it is received (`skb_orphan_frags_rx`), so
//!   that the sender gets its pages back at once: all traffic of the loopback device, and of a veth pair
//!   between two namespaces. The kernel reports every call over them as copied.
//! - The same where a tap (tcpdump) is handed the packet, and in TUN devices.
//! - A device without scatter-gather (`NETIF_F_SG` of the route): copied within the call.
//! - What is lost before it is received, or leaves through the hardware, is not copied.
//!
//! Conversely, some calls that the kernel reports as uncopied were copied: a veth device with an XDP program
//! on its peer copies each packet to memory of its own (`veth_convert_skb_to_xdp_buff`) and frees the
//! original, as if it had been sent. And if the kernel joins the completions of several calls, it reports
//! the outcome of the first for all of them (`skb_zerocopy_notify_extend` compares numbers alone).
//!
//! sendfile(2) and splice(2) report nothing, and need not: they hand over the pages of the file or the
//! pipe (MSG_SPLICE_PAGES since 6.5, `sendpage` before), and no caller waits to get these back.
//! - The loopback device and veth do not copy these: `skb_orphan_frags_rx` passes on packets
//!   with pages that need no completion. If the file changes while its pages lie in the
//!   receiver's queue, the receiver reads the change. The copy to the receiver's memory remains.
//! - A route without scatter-gather copies within the call, as above; a veth device with an
//!   XDP program on its peer copies as above.
//! - So does a file that is not in the page cache: open with O_DIRECT, or of /proc and /sys
//!   (`copy_splice_read`).
//! - A program's own pages take the same path through vmsplice(2), without a report when they
//!   may be changed.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};

use crate::call::{counted, extended_error, poll, receive_message};
use crate::socket::{pending_error, set_option};

mod ledger;
#[cfg(test)]
mod tests;

pub use ledger::{Ledger, UnknownCall};

/// linux/errqueue.h
const SO_EE_ORIGIN_ZEROCOPY: u8 = 5;
const SO_EE_CODE_ZEROCOPY_COPIED: u8 = 1;

/// Calls that the kernel needs the buffers of no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The number of the first, modulo 2^32.
    pub first: u32,
    /// The number of the last, modulo 2^32: less than the first's where the numbers began anew.
    pub last: u32,
    /// Whether the kernel has copied some of it after all.
    pub copied: bool,
}

/// Lets the socket send without copying; calls are numbered from its making on.
///
/// # Errors
/// ENOTSUPP (524) for a socket of another kind than TCP, UDP, RDS or VSOCK.
pub fn enable(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_option(&socket, libc::SOL_SOCKET, libc::SO_ZEROCOPY, &1_i32)
}

/// Sends from the buffer without copying it, and returns how many bytes were taken. The kernel does not count a
/// call with result 0 or an error. The peer gets what the buffer holds until the kernel reports the call
/// as complete: do not change it before.
///
/// Where [`enable`] was not called the kernel copies, and tells nothing.
///
/// # Errors
/// Those of send(2). ENOBUFS, with nothing sent, if too many calls are not complete
/// (`net.core.optmem_max`, some 600 bytes a call) or too many pages are locked (ulimit -l,
/// without CAP_IPC_LOCK): wait for completions and try again, and give up where none is due.
#[inline]
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_ZEROCOPY | libc::MSG_NOSIGNAL;
    // SAFETY: pointer and length are those of `bytes`. The kernel holds the pages themselves, and
    // only reads them, so that they may be changed or given back before it is done with them:
    // what is sent is another matter then, yet never memory of others.
    counted(unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) })
}

/// Hands every completion that the kernel has reported to `each`, and returns their number. Never blocks.
///
/// What else is in the socket's error queue, stamps of packets for example, is taken from it
/// and thrown away.
///
/// # Errors
/// Those of recvmsg(2), except that there is nothing.
pub fn drain(socket: BorrowedFd<'_>, mut each: impl FnMut(Completion)) -> io::Result<usize> {
    let mut count = 0;
    while let Some(entry) = next(socket)? {
        if let Some(completion) = entry {
            each(completion);
            count += 1;
        }
    }
    Ok(count)
}

/// Waits until [`drain`] has something to read; `false` after `most`.
///
/// # Errors
/// EINTR, or what has become of the connection: the error that the kernel had for the socket's next
/// call, which then does not get it any more. Completions from before and from this error can still
/// be read: drain once more.
pub fn wait(socket: BorrowedFd<'_>, most: Duration) -> io::Result<bool> {
    let mut one = [PollFd::from_borrowed_fd(socket, PollFlags::empty())];
    poll(&mut one, Some(most))?;
    let seen = one[0].revents();
    if seen.contains(PollFlags::ERR) {
        return pending_error(&socket).map(|()| true);
    }
    if seen.contains(PollFlags::HUP) {
        // Both directions are at their end, which poll(2) tells at once and for ever; what was
        // sent may still wait to be acknowledged.
        std::thread::sleep(most.min(Duration::from_millis(1)));
    }
    Ok(false)
}

/// The next entry of the error queue: `None` at its end, `Some(None)` for one of another kind.
fn next(socket: BorrowedFd<'_>) -> io::Result<Option<Option<Completion>>> {
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    match receive_message(&socket, &mut [], flags, |_, message| completion(message)) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        entry => entry.map(Some),
    }
}

fn completion(message: &libc::msghdr) -> Option<Completion> {
    let error = extended_error(message)?;
    (error.ee_errno == 0 && error.ee_origin == SO_EE_ORIGIN_ZEROCOPY).then_some(Completion {
        first: error.ee_info,
        last: error.ee_data,
        copied: error.ee_code & SO_EE_CODE_ZEROCOPY_COPIED != 0,
    })
}
