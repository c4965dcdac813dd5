//! Programs at the driver of a receiving device (XDP): one that counts messages and drops
//! them before the stack, one that hands them to an AF_XDP socket, one that does nothing.
//! Each is attached by a link, so that it goes when the process ends for whatever reason.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use libbpf_rs::{MapCore, MapFlags, Object};

mod counting;
#[cfg(test)]
mod tests;

crate::mapping::abi!("sink");

pub use counting::{MOST_LANES, SinkCounts, SinkFlow, XdpSink};

use crate::load::{self, Refusal};
use crate::xdp::{self, AttachError, Attachment, Mode};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sink.bpf.o"));

/// Why there is no program at a device.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    #[error("cannot {step} the program that receives messages: {source}")]
    Step { step: &'static str, source: Refusal },
    #[error(transparent)]
    Attach(#[from] AttachError),
    #[error("cannot map the memory of the program that receives messages: {0}")]
    Map(#[from] io::Error),
    #[error("the program that receives messages and this build disagree about {0}")]
    Abi(&'static str),
}

fn step<E: Into<Refusal>>(step: &'static str) -> impl Fn(E) -> SinkError {
    move |source| SinkError::Step { step, source: source.into() }
}

/// Hands messages to AF_XDP sockets until this is dropped.
pub struct XdpRedirect {
    attachment: Attachment,
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
        Ok(Self { attachment, object })
    }

    pub fn mode(&self) -> Mode {
        self.attachment.mode
    }

    pub fn native_refused(&self) -> Option<&AttachError> {
        self.attachment.native_refused.as_ref()
    }

    /// Gives the messages of a receive queue (0 to 63) to an AF_XDP socket that is bound
    /// to that queue of the device. It is taken out again when it is closed.
    pub fn insert(&self, queue: u32, socket: BorrowedFd<'_>) -> Result<(), SinkError> {
        let sockets = self.object.maps().find(|m| m.name() == "sockets");
        let sockets = sockets.ok_or(SinkError::Abi("its sockets"))?;
        let socket = socket.as_raw_fd().to_ne_bytes();
        sockets.update(&queue.to_ne_bytes(), &socket, MapFlags::ANY).map_err(step("give a socket to"))
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

fn load(name: &str, ifindex: u32, port: u16, mode: Mode) -> Result<(Object, Attachment), SinkError> {
    let mut open = load::open(OBJECT, |of| of == name).map_err(step("open"))?;
    let mut constants = open.maps_mut().find(|m| m.name().to_string_lossy().ends_with(".rodata"));
    let value = constants.as_mut().and_then(|m| m.initial_value_mut());
    let port_be = value.and_then(|v| <&mut [u8; 4]>::try_from(v).ok());
    *port_be.ok_or(SinkError::Abi("its constants"))? = u32::from(port.to_be()).to_ne_bytes();
    let object = load::load(open).map_err(step("load"))?;
    let program = object.progs().find(|p| p.name() == name).ok_or(SinkError::Abi("its name"))?;
    let attachment = xdp::attach(program.as_fd(), ifindex, mode)?;
    Ok((object, attachment))
}
