//! Ends of a conversation that are in the kernel, for one connected socket each: an echo, a sink, or
//! an end of a post ([`Work`]). With UDP an echo or a sink can also be in a device's driver
//! ([`KernelEnd::at_driver`]), which is another way to the same counts.
//!
//! The socket stands in a map (sockmap), and a verdict is asked about each packet that comes to it,
//! in the soft interrupt that brings it. An echo's verdict sends the packet out of the same socket, which
//! a worker of the kernel does (kworker), for no process: what that takes is in no process's processor time
//! (`netfathom_sys::cpu::KernelWorkers` has it). A sink's verdict drops the packet. The
//! counts and times are the kernel's own.
//!
//! # The order
//!
//! 1. [`Programs::load`], before there is a socket: what the kernel refuses is known early.
//! 2. The sockets are connected, and nothing was sent yet.
//! 3. [`Programs::attach`] gives the socket to the kernel. What came before is not looked at until
//!    something else happens: of TCP it is worked on now by newer kernels, of UDP, and by older ones, it
//!    is refused ([`MessageError::Early`]).
//! 4. Now the other end may send. In a bounce, where both ends are echoes, the
//!    first message is written into one of the two sockets.
//! 5. [`KernelEnd::stop`], or an echo's `until`, ends it: what comes from then on is counted and
//!    dropped. What an echo has not sent back yet when it is detached is lost.
//! 6. [`KernelEnd::detach`], or a drop: from here on the socket is like any other. So it is when
//!    the process ends for whatever reason: programs and maps hang on its descriptors.
//!
//! What an answer waits for is memory of the kernel's that is charged to no socket: an end of TCP refuses to send
//! more than 64 MiB that the other end has not acknowledged ([`EndReport::refused`]).
//!
//! A message is a number of bytes of a stream, however many packets they come in, or a datagram.

use std::io;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::Ordering::Relaxed;

use libbpf_rs::{MapCore, MapFlags, Object};

mod driver;
mod report;
mod shared;
mod socket;
#[cfg(test)]
mod tests;

crate::mapping::abi!("message");
mod work;

use abi::shared::Shared;
pub use driver::Flow;
pub use report::EndReport;
pub use shared::GRAIN;
use work::{HOP, SOCKETS};
pub use work::{MOST_GROWN, Work};

use crate::mapping::Mapping;
use crate::set::{Set, SetError};
use crate::xdp::{AttachError, Attachment};

const SET: Set = Set {
    name: "the program that is a message's end in the kernel",
    object: include_bytes!(concat!(env!("OUT_DIR"), "/message.bpf.o")),
    shares_clock: true,
};

/// The place of the socket in its map.
const THIS: u32 = 0;

/// Why there is no end in the kernel.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    #[error(transparent)]
    Set(#[from] SetError),
    #[error("cannot find out what the socket for the kernel's end {unknown}: {source}")]
    Socket { unknown: &'static str, source: io::Error },
    #[error("this is more than the kernel's end of a message can do: {0}")]
    Unfit(String),
    #[error("cannot make the sockets that the kernel's replies go through: {0}")]
    Hop(io::Error),
    #[error(
        "something came to the socket before it was given to the kernel, which would leave it there; \
         attach the kernel's end before the other end sends"
    )]
    Early,
    #[error(transparent)]
    Device(#[from] AttachError),
}

/// The programs of an end, loaded and not attached to anything.
pub struct Programs {
    object: Object,
    mapping: Mapping<Shared>,
    work: Work,
    message_bytes: u32,
}

impl Programs {
    /// Loads the programs of one end, for messages of that many bytes. Of datagrams each is a
    /// message, however long.
    ///
    /// # Errors
    /// What the kernel refused. Needs CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN, and Linux 5.13 for TCP and UDP,
    /// 5.15 for [`Work::Reply`] and [`Work::Ask`] over a stream.
    pub fn load(work: Work, message_bytes: NonZeroU32) -> Result<Self, MessageError> {
        let wanted = [false, true].map(|datagrams| work.programs(datagrams)).concat();
        let names: Vec<&str> = wanted.iter().map(|&(name, _)| name).collect();
        let (object, mapping) = load(&names, work)?;
        let message_bytes = message_bytes.get();
        mapping.get().message_bytes.store(message_bytes.into(), Relaxed);
        Ok(Self { object, mapping, work, message_bytes })
    }

    /// Gives a socket to the kernel: of TCP an established one, of UDP a connected one. It stays the
    /// caller's, who may close it at any time; the counts outlive it. A socket of UDP that is bound only
    /// can be a sink; of other ends all packets would be [`EndReport::refused`].
    ///
    /// # Errors
    /// [`MessageError::Early`] if something came before, and the socket is as it was;
    /// [`MessageError::Unfit`] if the kernel cannot make such answers; what it refused, such as a
    /// socket that has an end already.
    pub fn attach(self, socket: BorrowedFd<'_>) -> Result<KernelEnd, MessageError> {
        let datagrams = socket::is_of_datagrams(socket);
        let datagrams = datagrams.map_err(|source| MessageError::Socket { unknown: "is", source })?;
        self.work.check(self.message_bytes, datagrams)?;
        self.mapping.get().datagrams.store(datagrams.into(), Relaxed);
        let programs = self.work.programs(datagrams);
        for &(name, to) in programs {
            let program = SET.program(&self.object, name)?;
            let to = SET.map(&self.object, to)?;
            program.attach_sockmap(to.as_fd().as_raw_fd()).map_err(SET.step("attach"))?;
        }
        let hops = if datagrams { Vec::new() } else { make_hops(&self.object, self.work)? };
        put(&SET.map(&self.object, SOCKETS)?, THIS, socket)?;
        let end = KernelEnd { object: self.object, mapping: self.mapping, _hops: hops, device: None };
        // Whatever comes from here on is asked about, so that what lies there came before. Looking for it
        // makes newer kernels work on what TCP has.
        let waiting = socket::has_something_waiting(socket, datagrams);
        match waiting.map_err(|source| MessageError::Socket { unknown: "holds", source })? {
            true => Err(MessageError::Early),
            false => Ok(end),
        }
    }
}

/// Loads the programs of these names alone, and tells them their work.
fn load(names: &[&str], work: Work) -> Result<(Object, Mapping<Shared>), SetError> {
    let object = SET.load(SET.open(|name| names.contains(&name))?)?;
    let mapping: Mapping<Shared> = SET.memory(&object)?;
    let shared = mapping.get();
    shared.until.store(work.until().unwrap_or(0), Relaxed);
    shared.answer_bytes.store(work.answer_bytes().unwrap_or(0).into(), Relaxed);
    shared.pieces.store(work.pieces().into(), Relaxed);
    Ok((object, mapping))
}

/// The sockets that the replies of a post over a stream grow between, at their places in `enum hop`: what goes out of the
/// second comes in at the first.
fn make_hops(object: &Object, work: Work) -> Result<Vec<UnixDatagram>, MessageError> {
    let Work::Reply { .. } = work else { return Ok(Vec::new()) };
    let (map, sockets) = (SET.map(object, HOP)?, UnixDatagram::pair().map_err(MessageError::Hop)?);
    let sockets: [UnixDatagram; 2] = sockets.into();
    (0..).zip(&sockets).try_for_each(|(place, socket)| put(&map, place, socket.as_fd()))?;
    Ok(sockets.into())
}

fn put(map: &impl MapCore, key: u32, socket: BorrowedFd<'_>) -> Result<(), SetError> {
    let fd = socket.as_raw_fd().to_ne_bytes();
    map.update(&key.to_ne_bytes(), &fd, MapFlags::ANY).map_err(SET.step("give a socket to"))
}

/// A socket's end in the kernel, until this is dropped or the socket closed; or one in a driver,
/// until this is dropped.
pub struct KernelEnd {
    object: Object,
    mapping: Mapping<Shared>,
    /// They hang on these descriptors.
    _hops: Vec<UnixDatagram>,
    device: Option<Attachment>,
}

impl KernelEnd {
    /// Messages that came whole so far; reading it costs no system call.
    pub fn messages(&self) -> u64 {
        self.mapping.get().messages.load(Relaxed)
    }

    /// Lets nothing go back from here on. What has been given to be sent goes out yet.
    pub fn stop(&self) {
        self.mapping.get().stopped.store(1, Relaxed);
    }

    /// What was counted so far, each count for itself: while messages come, one of them may be
    /// in some of the counts and not in others.
    pub fn report(&self) -> EndReport {
        self.mapping.get().report()
    }

    /// Takes the socket back, and returns what was counted. It is then like any other.
    pub fn detach(mut self) -> Result<EndReport, MessageError> {
        self.device = None;
        take_back(&self.object)?;
        Ok(self.report())
    }
}

impl Drop for KernelEnd {
    fn drop(&mut self) {
        // The map goes with its last descriptor, but some time later, and until then would have the
        // socket. One that was closed is in it no longer.
        let _ = take_back(&self.object);
    }
}

fn take_back(object: &Object) -> Result<(), SetError> {
    match SET.map(object, SOCKETS)?.delete(&THIS.to_ne_bytes()) {
        // Closed meanwhile: a closed socket leaves the map.
        Err(e) if is_absent(&e) => Ok(()),
        other => other.map_err(SET.step("take the socket back from")),
    }
}

fn is_absent(error: &libbpf_rs::Error) -> bool {
    matches!(error.kind(), libbpf_rs::ErrorKind::NotFound | libbpf_rs::ErrorKind::InvalidInput)
}
