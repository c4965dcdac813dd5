//! What passes a device, captured into a pcap file while a trial runs: by the packet ring of
//! our own, or by tcpdump.

use std::fs::File;
use std::path::PathBuf;

use netfathom_sys::link;
use netfathom_sys::netns::Namespace;
pub use netfathom_sys::packet_ring::CaptureDirection;
use netfathom_sys::packet_ring::{Options, PacketRing, Protocol};

use crate::ground::lab::Role;
use crate::ground::rig::Rig;

mod error;
mod ring;
pub mod tcpdump;

pub use error::CaptureTapError;

/// How much of a packet is kept, in bytes: a message's header behind those of Ethernet, a VLAN,
/// IPv6 and UDP (14 + 4 + 40 + 8 + 32), with some room.
pub const SNAPLEN: u32 = 128;
/// How much of the traffic waits in the kernel until it is read, either way of capturing:
/// about 300,000 small messages.
const BUFFER_BYTES: usize = 64 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    Ring,
    /// tcpdump, by the path or the name of the program.
    Tcpdump(PathBuf),
}

impl By {
    pub fn of(tcpdump: bool) -> Self {
        if tcpdump { Self::Tcpdump("tcpdump".into()) } else { Self::Ring }
    }
}

/// Whether packets can be captured here, found out at the loopback device.
pub fn probe(by: &By, out_at_lo: bool) -> Result<(), CaptureTapError> {
    let options = Options {
        way: CaptureDirection::In,
        protocol: Protocol::Udp,
        port: None,
        snaplen: SNAPLEN,
        bytes: 0,
    };
    PacketRing::open(link::read("lo")?.index, &options)?;
    match by {
        By::Ring => Ok(()),
        By::Tcpdump(_) if out_at_lo => Err(CaptureTapError::OutAtLoopback),
        By::Tcpdump(program) => tcpdump::version(program).map(drop),
    }
}

/// What is to be captured, and where to.
#[derive(Clone, Debug)]
pub struct Task<'a> {
    pub device: &'a str,
    pub way: CaptureDirection,
    /// To which UDP port; `None`: to any.
    pub port: Option<u16>,
    /// An empty one that can be read and written.
    pub file: &'a File,
    /// What it is called in messages.
    pub path: PathBuf,
    pub by: By,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// What captured: `packet ring`, or `tcpdump 4.99.3`.
    pub by: String,
    pub packets: u64,
    /// Packets that passed the filter and that the kernel had no room for.
    pub dropped: u64,
    /// Packets that the device dropped, as tcpdump says; `None` where it says nothing, which
    /// it does when there are none.
    pub dropped_by_interface: Option<u64>,
    /// Packets with a time before that of the capture, because another program on this host requests
    /// time stamps of packets (SO_TIMESTAMP); `None` if that is unknown.
    pub stamped_early: Option<u64>,
}

/// A capture that runs; it ends with this value.
pub enum Capturing {
    Ring(ring::RingCapture),
    Tcpdump(tcpdump::TcpdumpCapture),
}

/// Begins to capture at one end of a rig; what passes the device from now on is captured.
///
/// # Errors
/// If the file cannot be written, the device cannot be captured at, or the program is not
/// there or says why it does not begin.
pub fn begin(task: &Task<'_>, rig: &Rig, role: Role) -> Result<Capturing, CaptureTapError> {
    let place = rig.at(role, Namespace::current).map_err(|e| CaptureTapError::Place(e.to_string()))?;
    let place = place.map_err(|e| CaptureTapError::Place(e.to_string()))?;
    Ok(match &task.by {
        By::Ring => Capturing::Ring(ring::begin(task, &place)?),
        By::Tcpdump(program) => Capturing::Tcpdump(tcpdump::begin(task, program, place)?),
    })
}

impl Capturing {
    /// Writes what was captured until now to the file, and ends. That takes some
    /// milliseconds with the ring, a second or two with tcpdump.
    ///
    /// # Errors
    /// If the capture ended before its time, or the file does not hold what was captured.
    pub fn finish(self) -> Result<Captured, CaptureTapError> {
        match self {
            Self::Ring(running) => running.finish(),
            Self::Tcpdump(running) => running.finish(),
        }
    }
}
