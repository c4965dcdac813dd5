//! AF_XDP sockets in copy mode: whole frames to and from one queue of a device, past the
//! protocols. Copy mode works with every driver, veth included; the kernel copies each frame
//! between the memory shared with it (the UMEM) and a packet of its own.
//!
//! See Documentation/networking/af_xdp.rst.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

mod receiver;
mod ring;
mod sender;
mod umem;

pub use receiver::XskReceiver;
pub use sender::XskSender;

use ring::Offsets;
use umem::Umem;

use crate::call;
use crate::socket::{get_option, set_option};

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

/// Which ring; the values are those of linux/if_xdp.h.
#[derive(Clone, Copy)]
enum RingKind {
    Receive = libc::XDP_RX_RING as isize,
    Transmit = libc::XDP_TX_RING as isize,
    Fill = libc::XDP_UMEM_FILL_RING as isize,
    Completion = libc::XDP_UMEM_COMPLETION_RING as isize,
}

impl RingKind {
    fn page(self) -> libc::off_t {
        match self {
            Self::Receive => libc::XDP_PGOFF_RX_RING,
            Self::Transmit => libc::XDP_PGOFF_TX_RING,
            Self::Fill => libc::XDP_UMEM_PGOFF_FILL_RING as libc::off_t,
            Self::Completion => libc::XDP_UMEM_PGOFF_COMPLETION_RING as libc::off_t,
        }
    }
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
        socket.register()?;
        Ok(socket)
    }

    /// Shares the memory with the kernel, which pins its pages until the socket is closed.
    fn register(&self) -> io::Result<()> {
        /// struct xdp_umem_reg as Linux 5.4 to 6.7 have it; later ones take this size too.
        #[repr(C)]
        struct Registration {
            address: u64,
            bytes: u64,
            frame_bytes: u32,
            headroom: u32,
            flags: u32,
            padding: u32,
        }
        let registration = Registration {
            address: self.umem.address(),
            bytes: self.umem.bytes() as u64,
            frame_bytes: FRAME_BYTES as u32,
            headroom: 0,
            flags: 0,
            padding: 0,
        };
        self.set_option(libc::XDP_UMEM_REG, &registration)
    }

    /// Sets the number of entries of a ring, a power of two.
    fn size(&self, role: RingKind, entries: u32) -> io::Result<()> {
        self.set_option(role as i32, &entries)
    }

    /// Makes a ring of `entries` entries, a power of two, and maps it.
    fn ring<T>(&self, role: RingKind, entries: u32) -> io::Result<ring::Map<T>> {
        self.size(role, entries)?;
        let offsets: Offsets = get_option(&self.fd, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS)?;
        let place = match role {
            RingKind::Receive => offsets.receive,
            RingKind::Transmit => offsets.transmit,
            RingKind::Fill => offsets.fill,
            RingKind::Completion => offsets.completion,
        };
        ring::Map::new(&self.fd, role.page(), place, entries)
    }

    /// Takes a queue of a device. The kernel gives one back some time after its last socket
    /// was closed (`xp_put_pool` leaves it to a worker, 6.18), so a busy one is waited for.
    fn bind(&self, ifindex: u32, queue: u32) -> io::Result<()> {
        let deadline = Instant::now() + QUEUE_COMES_BACK;
        loop {
            match self.try_bind(ifindex, queue) {
                Err(e) if e.raw_os_error() == Some(libc::EBUSY) && Instant::now() < deadline => {
                    thread::sleep(LOOK);
                }
                outcome => return outcome,
            }
        }
    }

    fn try_bind(&self, ifindex: u32, queue: u32) -> io::Result<()> {
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: libc::XDP_COPY | libc::XDP_USE_NEED_WAKEUP,
            sxdp_ifindex: ifindex,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: 0,
        };
        let length = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the pointer and the length are those of `address`.
        call::done(unsafe { libc::bind(self.fd.as_raw_fd(), (&raw const address).cast(), length) })
    }

    /// Of the registration the kernel keeps an address that outlives the socket: `umem` is dropped after `fd`.
    fn set_option<T>(&self, name: i32, value: &T) -> io::Result<()> {
        set_option(&self.fd, libc::SOL_XDP, name, value)
    }

    fn statistics(&self) -> io::Result<Statistics> {
        get_option(&self.fd, libc::SOL_XDP, libc::XDP_STATISTICS)
    }
}

/// struct xdp_statistics; before Linux 5.9 it ended after the first three.
#[repr(C)]
#[derive(Default)]
struct Statistics {
    rx_dropped: u64,
    rx_invalid: u64,
    tx_invalid: u64,
    rx_ring_full: u64,
    rx_fill_ring_empty: u64,
    tx_ring_empty: u64,
}

#[cfg(test)]
mod tests;
