//! Packets as they pass a device: an AF_PACKET socket with a receive ring (TPACKET_V3) in
//! shared memory. The kernel fills it block by block, without system calls of ours.
//!
//! See Documentation/networking/packet_mmap.rst.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

mod block;
mod filter;
mod memory;

pub use block::{Block, Packet, PacketsOf};

use memory::{Memory, Shape};
use rustix::event::{PollFd, PollFlags};

use crate::call;
use crate::socket::{get_option, pending_error, set_option};

/// How long a block that is not full stays with the kernel. Whoever ends a capture waits
/// for about twice as long; a shorter time would have the timer disturb what is measured.
const RETIRE_MS: u32 = 10;

refusal! {
    /// What could not be done with a packet ring, why, and what to do.
    PacketRingError:
    libc::EPERM => "; this needs CAP_NET_RAW: run as root",
    libc::EAFNOSUPPORT => "; this kernel has no packet sockets (CONFIG_PACKET)",
    libc::ENODEV => "; no such device is in the network namespace of this thread",
    libc::ENETDOWN => "; the device is down or gone: set it up and capture again",
    libc::ENOBUFS | libc::ENOMEM => "; ask for a smaller ring",
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureDirection {
    /// Those that this host sends.
    Out,
    In,
    /// All. On `lo` every packet is there twice then: first on its way out, then in.
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Tcp,
    Udp,
}

/// What is captured: one protocol over IPv4 or IPv6, in Ethernet frames. Of a datagram in
/// fragments the first one over IPv4, none over IPv6; none behind IPv6 extension headers.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub way: CaptureDirection,
    pub protocol: Protocol,
    /// To which port; `None`: to any.
    pub port: Option<u16>,
    /// How many bytes of each are kept, link-layer header included; at least 1.
    pub snaplen: u32,
    /// How large the ring is: rounded down to whole blocks, and never below 128 KiB. A packet
    /// takes its kept bytes and about 90 more.
    pub bytes: usize,
}

/// What the kernel counted since the ring was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets that passed the filter, those that were dropped included.
    pub packets: u64,
    /// Those of them that the ring had no room for.
    pub dropped: u64,
    /// How often the ring was found full: a time of drops each.
    pub freezes: u64,
}

impl Statistics {
    pub fn captured(&self) -> u64 {
        self.packets - self.dropped
    }
}

/// A capture at one device.
///
/// The times of packets are CLOCK_REALTIME, taken by `tpacket_rcv` as it writes the packet
/// into the ring. For sent packets this is in `dev_queue_xmit_nit`, in the sender's context, after the
/// qdisc and just before the driver; for received packets it is next to the tracepoint
/// `netif_receive_skb`. The times of tcpdump are the same. If any program on the host requests receive
/// timestamps (SO_TIMESTAMP and similar), every packet already has one, and the ring takes
/// that over ([`Packet::stamped_before`]). For sent packets it is a few hundred nanoseconds earlier; for
/// received packets it dates from `netif_rx`, before the packet waited for its softirq
/// (Linux 6.18). So the ring itself does not request any.
pub struct PacketRing {
    // In this order: the memory is unmapped before the socket is closed.
    memory: Memory,
    fd: OwnedFd,
    /// The number of the block that the kernel fills next for us.
    next: usize,
    handed_out: u64,
    counted: Statistics,
}

impl PacketRing {
    /// Begins to capture at a device of the calling thread's namespace. The ring can be used
    /// in any thread from then on.
    ///
    /// # Errors
    /// Without CAP_NET_RAW, when there is no such device or it is down, when there is no
    /// memory for the ring, or when nothing is to be kept of a packet.
    pub fn open(ifindex: u32, options: &Options) -> Result<Self, PacketRingError> {
        let action = format!("capture packets at device number {ifindex}");
        Self::try_open(ifindex, options).map_err(PacketRingError::new(action))
    }

    fn try_open(ifindex: u32, options: &Options) -> io::Result<Self> {
        if options.snaplen == 0 {
            let why = "no byte of a packet is to be kept; keep at least one";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        // Without a protocol nothing comes in until the socket is bound: the filter and the
        // ring are there before the first packet.
        let fd = call::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK)?;
        filter::attach(&fd, options)?;
        if options.way == CaptureDirection::In {
            // Spares those who send the copy for a filter that would refuse it. Since Linux
            // 4.20; on an older kernel the filter alone does it.
            let _ = set_option(&fd, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1_i32);
        }
        set_option(
            &fd,
            libc::SOL_PACKET,
            libc::PACKET_VERSION,
            &(libc::tpacket_versions::TPACKET_V3 as i32),
        )?;
        let shape = Shape::of(options.bytes);
        set_option(&fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &shape.request(RETIRE_MS))?;
        let memory = Memory::map(&fd, shape)?;
        bind(&fd, ifindex)?;
        let ring = Self { memory, fd, next: 0, handed_out: 0, counted: Statistics::default() };
        // bind(2) succeeds on a device that is down; only the socket's error shows it.
        pending_error(&ring.fd)?;
        Ok(ring)
    }

    /// The next block of packets, if the kernel is done with one; it goes back to the kernel
    /// when it is dropped. The kernel is done with a block when it is full, or some
    /// milliseconds after its first packet.
    pub fn next_block(&mut self) -> Option<Block<'_>> {
        let block = Block::take(&self.memory, self.next)?;
        self.next = (self.next + 1) % self.memory.blocks();
        self.handed_out += u64::from(block.packets());
        Some(block)
    }

    /// Waits until a block is there, for `timeout` at most; a signal ends it, too. Look with
    /// [`Self::next_block`] whatever it returns.
    ///
    /// # Errors
    /// `NetworkDown` when the device was set down or is gone, and others of poll(2).
    pub fn wait(&self, timeout: Duration) -> io::Result<()> {
        let mut one = [PollFd::new(&self.fd, PollFlags::IN)];
        match call::poll(&mut one, Some(timeout)) {
            Err(e) if e.kind() != io::ErrorKind::Interrupted => Err(e),
            Ok(_) if one[0].revents().contains(PollFlags::ERR) => pending_error(&self.fd),
            _ => Ok(()),
        }
    }

    pub fn statistics(&mut self) -> io::Result<Statistics> {
        // struct tpacket_stats_v3
        let [packets, drops, freezes]: [u32; 3] =
            get_option(&self.fd, libc::SOL_PACKET, libc::PACKET_STATISTICS)?;
        // The kernel begins anew with every reading. `tp_packets` includes the drops: it adds
        // them for this very call (packet_getsockopt, 6.18).
        self.counted.packets += u64::from(packets);
        self.counted.dropped += u64::from(drops);
        self.counted.freezes += u64::from(freezes);
        Ok(self.counted)
    }

    /// Packets of all blocks that were handed out. All that were captured until
    /// [`Self::statistics`] was called have been, once this is its
    /// [`captured`](Statistics::captured) or more.
    pub fn handed_out(&self) -> u64 {
        self.handed_out
    }
}

/// Lets packets of all protocols in, from one device.
fn bind(fd: &OwnedFd, ifindex: u32) -> io::Result<()> {
    // Number 0 would be every device.
    let index = i32::try_from(ifindex).ok().filter(|&index| index > 0);
    // SAFETY: made of integers alone, for which zero is a value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index.ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))?;
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer and the length are those of `address`.
    call::done(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) })
}

#[cfg(test)]
mod tests;
