//! AF_XDP sockets in copy mode: whole frames to and from one queue of a device, past the
//! protocols. Copy mode works with every driver, veth included; the kernel copies each frame
//! between the memory shared with it (the UMEM) and a packet of its own.
//!
//! See Documentation/networking/af_xdp.rst.

use std::io;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

mod receiver;
mod ring;
mod sender;
mod umem;

pub use receiver::XskReceiver;
pub use sender::XskSender;

use rustix::io::Errno;
use rustix::net;
use rustix::net::sockopt::{set_xdp_umem_reg, xdp_mmap_offsets};
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, XDP_PGOFF_RX_RING, XDP_PGOFF_TX_RING, XDP_UMEM_PGOFF_COMPLETION_RING,
    XDP_UMEM_PGOFF_FILL_RING, XdpUmemReg, XdpUmemRegFlags,
};
use umem::Umem;

use crate::call;
use crate::socket::set_option;

/// The largest frame, in bytes, link-layer header included. Half a page: every frame lies
/// within one.
pub const FRAME_BYTES: usize = 2048;

refusal! {
    /// What could not be done with an AF_XDP socket, why, and what to do.
    XskError:
    libc::EPERM => "; this needs CAP_NET_RAW and CAP_NET_ADMIN: run as root",
    libc::EAFNOSUPPORT => "; this kernel has no AF_XDP (CONFIG_XDP_SOCKETS): use another engine",
    libc::ENODEV => "; no such device is in the network namespace of this thread",
    libc::ENETDOWN => "; set the device up first",
    libc::EBUSY => "; another AF_XDP socket has this queue: end its program",
    libc::ENOBUFS | libc::ENOMEM => "; use fewer frames, or raise ulimit -l",
    libc::EINVAL => "; does the device have this queue?",
}

/// Which ring; the values are those of linux/if_xdp.h, for its number of entries.
#[derive(Clone, Copy)]
enum RingKind {
    Receive = libc::XDP_RX_RING as isize,
    Transmit = libc::XDP_TX_RING as isize,
    Fill = libc::XDP_UMEM_FILL_RING as isize,
    Completion = libc::XDP_UMEM_COMPLETION_RING as isize,
}

/// A queue that is not given back after so long is somebody else's.
const QUEUE_COMES_BACK: Duration = Duration::from_millis(500);
const LOOK: Duration = Duration::from_millis(10);

/// A socket with its memory, not yet bound.
struct Socket {
    fd: OwnedFd,
    umem: Umem,
}

impl Socket {
    /// A socket of the calling thread's namespace with `frames` frames, a power of two.
    fn create(frames: u32) -> io::Result<Self> {
        if !frames.is_power_of_two() {
            let why = format!("{frames} frames are no power of two; the kernel's rings are");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let socket = Self { fd: call::socket(libc::AF_XDP, libc::SOCK_RAW)?, umem: Umem::map(frames)? };
        let registration = XdpUmemReg {
            addr: socket.umem.address(),
            len: socket.umem.bytes() as u64,
            chunk_size: FRAME_BYTES as u32,
            headroom: 0,
            flags: XdpUmemRegFlags::empty(),
            tx_metadata_len: 0,
        };
        // The kernel pins the pages until the socket is closed, and keeps their address: `umem` is dropped after `fd`.
        set_xdp_umem_reg(&socket.fd, registration)?;
        Ok(socket)
    }

    /// Sets the number of entries of a ring, a power of two.
    fn size(&self, role: RingKind, entries: u32) -> io::Result<()> {
        self.set_option(role as i32, entries)
    }

    /// Makes a ring of `entries` entries, a power of two, and maps it.
    fn ring<T>(&self, role: RingKind, entries: u32) -> io::Result<ring::Map<T>> {
        self.size(role, entries)?;
        let offsets = xdp_mmap_offsets(&self.fd)?;
        let (page, place) = match role {
            RingKind::Receive => (XDP_PGOFF_RX_RING, offsets.rx),
            RingKind::Transmit => (XDP_PGOFF_TX_RING, offsets.tx),
            RingKind::Fill => (XDP_UMEM_PGOFF_FILL_RING, offsets.fr),
            RingKind::Completion => (XDP_UMEM_PGOFF_COMPLETION_RING, offsets.cr),
        };
        ring::Map::new(&self.fd, page, place, entries)
    }

    /// Takes a queue of a device. The kernel gives one back some time after its last socket
    /// was closed (`xp_put_pool` leaves it to a worker, 6.18), so a busy one is waited for.
    fn bind(&self, ifindex: u32, queue: u32) -> io::Result<()> {
        let flags = SocketAddrXdpFlags::XDP_COPY | SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP;
        let address = SocketAddrXdp::new(flags, ifindex, queue);
        let deadline = Instant::now() + QUEUE_COMES_BACK;
        loop {
            match net::bind(&self.fd, &address) {
                Err(Errno::BUSY) if Instant::now() < deadline => thread::sleep(LOOK),
                outcome => return Ok(outcome?),
            }
        }
    }

    fn set_option(&self, name: i32, value: u32) -> io::Result<()> {
        set_option(&self.fd, libc::SOL_XDP, name, &value)
    }
}

#[cfg(test)]
mod tests;
