//! Ends in a device's driver (XDP), for the datagrams of one flow.
//!
//! No socket hears of what such an end takes. An echo sends each datagram out of the device that it came in at,
//! with addresses and ports exchanged and without a checksum of UDP: that of a datagram from a socket of this
//! host was never made. A veth device takes such frames only while it polls (NAPI), which a native
//! XDP program makes it do: an end of this kind, or [`crate::sink::XdpPass`] where the other end is a socket.
//!
//! Between two echoes the frame stays on the processor of whoever sent it first: in soft interrupts on top of what
//! runs there, and, for they have no end, in the kernel's thread for them (ksoftirqd).

use std::net::SocketAddrV4;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;

use super::abi::shared::Shared;
use super::{KernelEnd, MessageError, SET, Work, load};
use crate::xdp::{self, Mode};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    pub here: SocketAddrV4,
    pub there: SocketAddrV4,
}

impl Flow {
    fn tell(self, shared: &Shared) {
        let address = |of: SocketAddrV4| u32::from_ne_bytes(of.ip().octets()).into();
        let port = |of: SocketAddrV4| of.port().to_be().into();
        shared.here.store(address(self.here), Relaxed);
        shared.there.store(address(self.there), Relaxed);
        shared.port_here.store(port(self.here), Relaxed);
        shared.port_there.store(port(self.there), Relaxed);
    }
}

impl KernelEnd {
    /// An echo or a sink in the driver of a device of the calling thread's network namespace. A
    /// datagram is a message; those in several fragments, or with IP options, are left to the
    /// stack. What an echo's device cannot send is lost without a word.
    ///
    /// # Errors
    /// [`MessageError::Unfit`] of other work; what the kernel refused. Needs CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN,
    /// Linux 5.9 and a driver with XDP; no other XDP program may be attached.
    pub fn at_driver(work: Work, flow: Flow, ifindex: u32) -> Result<Self, MessageError> {
        let unfit = || MessageError::Unfit("in a driver there are echoes and sinks only".into());
        let name = work.driver_program().ok_or_else(unfit)?;
        let (object, mapping) = load(&[name], work)?;
        let shared = mapping.get();
        shared.datagrams.store(1, Relaxed);
        flow.tell(shared);
        let device = xdp::attach(SET.program(&object, name)?.as_fd(), ifindex, Mode::Native)?;
        Ok(Self { object, mapping, _hops: Vec::new(), device: Some(device) })
    }
}
