//! Programs at the driver of a receiving device (XDP): one that counts messages and drops
//! them before the stack, one that hands them to an AF_XDP socket, one that does nothing.
//! Each is attached by a link, so that it goes when the process ends for whatever reason.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use libbpf_rs::{MapCore, MapFlags, Object};

mod counting;
#[cfg(test)]
mod tests;

crate::mapping::abi!("sink");

pub use counting::{MOST_LANES, SinkCounts, SinkFlow, XdpSink};

use crate::set::{Set, SetError};
use crate::xdp::{self, AttachError, Attachment, Mode};

const SET: Set = Set {
    name: "the program that receives messages",
    object: include_bytes!(concat!(env!("OUT_DIR"), "/sink.bpf.o")),
    shares_clock: false,
};

/// Why there is no program at a device.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    #[error("{}{}", .0, .0.remedy())]
    Set(#[from] SetError),
    #[error(transparent)]
    Attach(#[from] AttachError),
}

/// Hands messages to AF_XDP sockets until this is dropped.
pub struct XdpRedirect {
    _attachment: Attachment,
    object: Object,
}

impl XdpRedirect {
    /// Attaches the program to a device of the calling thread's network namespace, native
    /// where its driver can. Datagrams to the UDP port go to the socket of their receive
    /// queue, all others to the stack; so do those of a queue without a socket.
    ///
    /// # Errors
    /// What the kernel refused. Needs CAP_BPF and CAP_NET_ADMIN, and Linux 5.9; no other
    /// XDP program may be attached.
    pub fn attach(ifindex: u32, port: u16) -> Result<Self, SinkError> {
        let (object, attachment) = load("redirect", ifindex, port, Mode::Auto)?;
        Ok(Self { _attachment: attachment, object })
    }

    /// Gives the messages of a receive queue (0 to 63) to an AF_XDP socket that is bound
    /// to that queue of the device. It is taken out again when it is closed.
    pub fn insert(&self, queue: u32, socket: BorrowedFd<'_>) -> Result<(), SinkError> {
        let sockets = SET.map(&self.object, "sockets")?;
        let socket = socket.as_raw_fd().to_ne_bytes();
        sockets.update(&queue.to_ne_bytes(), &socket, MapFlags::ANY).map_err(SET.step("give a socket to"))?;
        Ok(())
    }
}

/// Lets everything pass until this is dropped. It makes the device of a veth pair poll
/// (NAPI), without which it takes no frames that XDP sends from the other end.
pub struct XdpPass {
    _attachment: Attachment,
    _object: Object,
}

impl XdpPass {
    /// Attaches the program to the driver of a device of the calling thread's network
    /// namespace.
    ///
    /// # Errors
    /// What the kernel refused. Needs CAP_BPF and CAP_NET_ADMIN, Linux 5.18 and a driver
    /// with XDP; no other XDP program may be attached.
    pub fn attach(ifindex: u32) -> Result<Self, SinkError> {
        let (object, attachment) = load("pass", ifindex, 0, Mode::Native)?;
        Ok(Self { _attachment: attachment, _object: object })
    }
}

fn load(name: &'static str, ifindex: u32, port: u16, mode: Mode) -> Result<(Object, Attachment), SinkError> {
    let mut open = SET.open(|of| of == name)?;
    SET.configure(&mut open, &u32::from(port.to_be()).to_ne_bytes())?;
    let object = SET.load(open)?;
    let attachment = xdp::attach(SET.program(&object, name)?.as_fd(), ifindex, mode)?;
    Ok((object, attachment))
}
