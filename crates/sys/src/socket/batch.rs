//! Many messages a system call: sendmmsg(2) and recvmmsg(2), with everything that does not
//! change between two calls set up once.

use std::io;
use std::mem::zeroed;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr;

use crate::call::{counted, retried};

/// The most messages that one call takes (UIO_MAXIOV): the kernel leaves the rest.
const MOST_MESSAGES: usize = 1024;

/// Equally long buffers in one allocation, and a message header for each.
///
/// The memory is reached through raw pointers and never through the vectors, so that those
/// in the headers stay valid whatever references are made in between; moving a vector does
/// not move what it owns.
struct Slots {
    memory: Vec<u8>,
    parts: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the pointers lead only into the vectors beside them, which move along.
unsafe impl Send for Slots {}

impl Slots {
    fn new(count: usize, bytes: usize) -> Self {
        assert!(count <= MOST_MESSAGES, "{count} messages a call: the kernel takes {MOST_MESSAGES}");
        let mut memory = vec![0; count * bytes];
        let start = memory.as_mut_ptr();
        let part = |slot: usize| libc::iovec {
            // `wrapping_add` needs no bounds, and stays within them: slot < count.
            iov_base: start.wrapping_add(slot * bytes).cast(),
            iov_len: bytes,
        };
        let mut parts: Vec<libc::iovec> = (0..count).map(part).collect();
        let first = parts.as_mut_ptr();
        let header = |slot: usize| {
            // SAFETY: all-zero is a message header without buffers.
            let mut header: libc::mmsghdr = unsafe { zeroed() };
            header.msg_hdr.msg_iov = first.wrapping_add(slot);
            header.msg_hdr.msg_iovlen = 1;
            header
        };
        let headers = (0..count).map(header).collect();
        Self { memory, parts, headers, start, bytes }
    }

    fn count(&self) -> usize {
        self.parts.len()
    }

    fn slot(&self, slot: usize) -> &[u8] {
        assert!(slot < self.count(), "slot {slot} of {}", self.count());
        debug_assert_eq!(self.memory.len(), self.count() * self.bytes);
        // SAFETY: within the allocation by the assertion; bytes are initialized since
        // `new`; nothing writes them as long as `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.start.add(slot * self.bytes), self.bytes) }
    }

    fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        assert!(slot < self.count(), "slot {slot} of {}", self.count());
        // SAFETY: as in `slot`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(slot * self.bytes), self.bytes) }
    }
}

/// Messages of one size that are sent together.
pub struct SendBatch {
    slots: Slots,
}

impl SendBatch {
    /// Makes `count` buffers of `bytes` each, all zero.
    ///
    /// # Panics
    /// With more than 1024, which is the most that the kernel takes in one call.
    pub fn new(count: usize, bytes: usize) -> Self {
        Self { slots: Slots::new(count, bytes) }
    }

    pub fn count(&self) -> usize {
        self.slots.count()
    }

    /// The payload of one message. It keeps what it held, so only what changes from one
    /// batch to the next needs to be written.
    ///
    /// # Panics
    /// Beyond the last message.
    #[inline]
    pub fn payload(&mut self, message: usize) -> &mut [u8] {
        self.slots.slot_mut(message)
    }

    /// Sends the messages of `range` through a connected socket and returns how many the
    /// kernel took, from the start of the range: fewer than there are when it met an error
    /// after the first, which the next call then returns.
    ///
    /// # Panics
    /// If the range goes beyond the last message.
    #[inline]
    pub fn send(&mut self, socket: &UdpSocket, range: Range<usize>) -> io::Result<usize> {
        let headers = &mut self.slots.headers[range];
        retried(|| {
            // SAFETY: every header points to one part and every part to a buffer of its own,
            // with their lengths; all live as long as `self`. The kernel reads the buffers
            // and writes nothing but `msg_len`.
            let sent =
                unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), headers.len() as u32, 0) };
            counted(sent as isize)
        })
    }
}

/// Whether to wait where no message is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Until the first, as the socket does (its read time-out, or not at all when it is
    /// non-blocking); then take what else is there.
    ForOne,
    /// Not at all: take what is there.
    No,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedDatagram<'a> {
    /// What was in it, up to the size of a buffer.
    pub payload: &'a [u8],
    /// Whether there was more in it than fits.
    pub truncated: bool,
    /// Who sent it; `None` for what is neither IPv4 nor IPv6.
    pub from: Option<SocketAddr>,
}

pub struct ReceiveBatch {
    slots: Slots,
    /// Written by the kernel through the headers alone.
    senders: Vec<libc::sockaddr_storage>,
    received: usize,
}

// SAFETY: the headers' pointers lead only into the vectors beside them, which move along.
unsafe impl Send for ReceiveBatch {}

impl ReceiveBatch {
    /// Makes `count` buffers of `bytes` each.
    ///
    /// # Panics
    /// With more than 1024, which is the most that the kernel takes in one call.
    pub fn new(count: usize, bytes: usize) -> Self {
        let mut slots = Slots::new(count, bytes);
        // SAFETY: all-zero is an address of no family.
        let mut senders: Vec<libc::sockaddr_storage> = vec![unsafe { zeroed() }; count];
        let first = senders.as_mut_ptr();
        for (slot, header) in slots.headers.iter_mut().enumerate() {
            header.msg_hdr.msg_name = first.wrapping_add(slot).cast();
        }
        Self { slots, senders, received: 0 }
    }

    /// Receives as many messages as are there and fit, and returns how many;
    /// [`Self::datagrams`] has them until the next call.
    ///
    /// # Errors
    /// Those of recvmmsg(2): `WouldBlock` when there is none in time, `Interrupted` by a
    /// signal, so that the caller can look whether it is to end.
    pub fn receive(&mut self, socket: &UdpSocket, wait: Wait) -> io::Result<usize> {
        self.received = 0;
        for header in &mut self.slots.headers {
            // The kernel wrote the length of the last address there.
            header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        }
        let flags = match wait {
            Wait::ForOne => libc::MSG_WAITFORONE,
            Wait::No => libc::MSG_DONTWAIT,
        };
        // SAFETY: every header points to one part, every part to a buffer of its own, and to
        // room for an address, with their lengths; all live as long as `self`, and nothing
        // refers to them during the call.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.slots.headers.as_mut_ptr(),
                self.slots.count() as u32,
                flags,
                ptr::null_mut(),
            )
        };
        self.received = counted(received as isize)?;
        Ok(self.received)
    }

    /// The messages of the last receive, in the order of their arrival.
    pub fn datagrams(&self) -> impl ExactSizeIterator<Item = ReceivedDatagram<'_>> {
        self.slots.headers[..self.received].iter().enumerate().map(|(slot, header)| ReceivedDatagram {
            payload: &self.slots.slot(slot)[..header.msg_len as usize],
            truncated: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            from: self.sender(slot),
        })
    }

    fn sender(&self, slot: usize) -> Option<SocketAddr> {
        debug_assert!(slot < self.senders.len());
        let address = self.slots.headers[slot].msg_hdr.msg_name.cast::<libc::sockaddr_storage>();
        // SAFETY: the header points to an address storage in `senders`, initialized since
        // `new`, which is large enough and aligned for either family; nothing writes it as
        // long as `self` is borrowed.
        unsafe {
            match i32::from((*address).ss_family) {
                libc::AF_INET => {
                    let v4 = &*address.cast::<libc::sockaddr_in>();
                    let ip = Ipv4Addr::from_bits(u32::from_be(v4.sin_addr.s_addr));
                    Some((ip, u16::from_be(v4.sin_port)).into())
                }
                libc::AF_INET6 => {
                    let v6 = &*address.cast::<libc::sockaddr_in6>();
                    let (ip, port) = (Ipv6Addr::from(v6.sin6_addr.s6_addr), u16::from_be(v6.sin6_port));
                    Some(SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id).into())
                }
                _ => None,
            }
        }
    }
}

#[cfg(test)]
mod tests;
