//! Ends of a conversation that are in the kernel: an echo, or a sink, for one connected socket.
//!
//! The socket stands in a map (sockmap), and a verdict is asked about each packet that comes to it,
//! in the soft interrupt that brings it. An echo's verdict sends the packet out of the same socket, which
//! a worker of the kernel does (kworker), in nobody's name: what that takes is in no process's processor time
//! (`netfathom_sys::cpu::KernelWorkers` has it). A sink's verdict drops the packet. The
//! counts and times are the kernel's own.
//!
//! # The order
//!
//! 1. [`Programs::load`], before there is a socket: what the kernel refuses is known early.
//! 2. The sockets are connected, and nobody has sent anything yet.
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
//! A message is so many bytes of a stream, however many packets they come in, or a datagram.

use std::io;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::Ordering::Relaxed;

use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder};
use netfathom_stats::Histogram;

mod shared;
mod socket;
#[cfg(test)]
mod tests;

pub use shared::GRAIN;
use shared::Shared;

use crate::mapping::Mapping;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/message.bpf.o"));

/// The only socket of the map.
const KEY: [u8; 4] = [0; 4];

/// Why there is no end in the kernel.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// The kernel refused a step.
    #[error("cannot {step} the program that is a message's end in the kernel: {source:#}")]
    Step {
        /// What was tried.
        step: &'static str,
        /// Why it failed.
        source: libbpf_rs::Error,
    },
    /// The socket does not tell what it is.
    #[error("cannot find out what the socket for the kernel's end {unknown}: {source}")]
    Socket {
        /// What is not known of it.
        unknown: &'static str,
        /// Why.
        source: io::Error,
    },
    /// Somebody was too early.
    #[error(
        "something came to the socket before it was given to the kernel, which would leave it there; \
         attach the kernel's end before the other end sends"
    )]
    Early,
    /// The memory shared with the program could not be mapped.
    #[error("cannot map the memory of the program that is a message's end in the kernel: {0}")]
    Map(#[from] io::Error),
    /// The object is not the one this build was made with.
    #[error("the program that is a message's end in the kernel and this build disagree about {0}")]
    Abi(&'static str),
}

fn step(step: &'static str) -> impl Fn(libbpf_rs::Error) -> MessageError {
    move |source| MessageError::Step { step, source }
}

/// What an end does with what comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Sends it back.
    Echo {
        /// The message that does not go back, counted from 1, and none after it. It is exact where
        /// no more than one message is under way.
        until: Option<u64>,
    },
    /// Counts and drops it.
    Sink,
}

impl Work {
    fn program(self) -> &'static str {
        match self {
            Self::Echo { .. } => "message_echo",
            Self::Sink => "message_sink",
        }
    }
}

/// What an end in the kernel saw; times are CLOCK_MONOTONIC, in nanoseconds.
#[derive(Clone, Debug)]
pub struct EndReport {
    /// Verdicts: packets, as they came to the socket.
    pub calls: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Messages that came whole.
    pub messages: u64,
    /// Bytes that an echo gave to be sent back.
    pub returned_bytes: u64,
    /// Packets that should have gone back, and that the kernel would not take.
    pub refused: u64,
    /// Messages that were whole at the same moment as another, and have no interval of their own.
    pub together: u64,
    /// The first verdict.
    pub first_ns: Option<u64>,
    /// The last one.
    pub last_ns: Option<u64>,
    /// When the first message was whole.
    pub first_message_ns: Option<u64>,
    /// When the last one was.
    pub last_message_ns: Option<u64>,
    /// Time from one message to the next, both whole. Where one message at a time goes to and
    /// fro, they are round-trip times, one fewer than messages.
    pub intervals: Histogram,
}

impl EndReport {
    /// The mean of the intervals, in nanoseconds, exactly; `None` without any.
    #[must_use]
    pub fn mean_interval_ns(&self) -> Option<f64> {
        let ns = self.last_message_ns?.checked_sub(self.first_message_ns?)?;
        let count = self.intervals.count();
        (count > 0).then(|| ns as f64 / count as f64)
    }
}

/// A program for an end, loaded and not attached to anything.
pub struct Programs {
    object: Object,
    mapping: Mapping<Shared>,
}

impl Programs {
    /// Loads the program of one end, for messages of so many bytes. Of datagrams each is a
    /// message, however long.
    ///
    /// # Errors
    /// What the kernel refused. Needs CAP_BPF and CAP_NET_ADMIN, and Linux 5.13 for TCP and UDP.
    pub fn load(work: Work, message_bytes: NonZeroU32) -> Result<Self, MessageError> {
        let mut open = ObjectBuilder::default().open_memory(OBJECT).map_err(step("open"))?;
        open.progs_mut().for_each(|mut program| {
            let load = program.name() == work.program();
            program.set_autoload(load);
        });
        let object = crate::probe::quietly(|| open.load()).map_err(step("load"))?;
        let mapping: Mapping<Shared> = Mapping::of_globals(&object)?;
        mapping.get().message_bytes.store(message_bytes.get().into(), Relaxed);
        if let Work::Echo { until: Some(until) } = work {
            mapping.get().until.store(until, Relaxed);
        }
        let program = object.progs_mut().find(|p| p.name() == work.program());
        let program = program.ok_or(MessageError::Abi("its name"))?;
        program.attach_sockmap(sockets(&object)?.as_fd().as_raw_fd()).map_err(step("attach"))?;
        Ok(Self { object, mapping })
    }

    /// Gives a socket to the kernel: of TCP an established one, of UDP a connected one. It stays the
    /// caller's, who may close it at any time; the counts outlive it. A socket of UDP that is bound only
    /// can be a sink; of an echo all packets would be [`EndReport::refused`].
    ///
    /// # Errors
    /// [`MessageError::Early`] if something came before, and the socket is as it was; what the kernel
    /// refused, such as a socket that has an end already.
    pub fn attach(self, socket: BorrowedFd<'_>) -> Result<KernelEnd, MessageError> {
        let datagrams = socket::is_of_datagrams(socket);
        let datagrams = datagrams.map_err(|source| MessageError::Socket { unknown: "is", source })?;
        self.mapping.get().datagrams.store(datagrams.into(), Relaxed);
        let fd = u64::from(socket.as_raw_fd().unsigned_abs()).to_ne_bytes();
        let map = sockets(&self.object)?;
        map.update(&KEY, &fd[..map.value_size() as usize], MapFlags::ANY)
            .map_err(step("give a socket to"))?;
        let end = KernelEnd { object: self.object, mapping: self.mapping };
        // Whatever comes from here on is asked about, so that what lies there came before. Looking for it
        // makes newer kernels work on what TCP has.
        let waiting = socket::has_something_waiting(socket, datagrams);
        match waiting.map_err(|source| MessageError::Socket { unknown: "holds", source })? {
            true => Err(MessageError::Early),
            false => Ok(end),
        }
    }
}

/// A socket's end in the kernel, until this is dropped or the socket closed.
pub struct KernelEnd {
    object: Object,
    mapping: Mapping<Shared>,
}

impl KernelEnd {
    /// Messages that came whole so far; reading it costs no system call.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.mapping.get().messages.load(Relaxed)
    }

    /// Lets nothing go back from here on. What has been given to be sent goes out yet.
    pub fn stop(&self) {
        self.mapping.get().stopped.store(1, Relaxed);
    }

    /// What was counted so far, each count for itself: while messages come, one of them may be
    /// in some of the counts and not in others.
    #[must_use]
    pub fn report(&self) -> EndReport {
        self.mapping.get().report()
    }

    /// Takes the socket back, and returns what was counted. It is then like any other.
    ///
    /// # Errors
    /// If the kernel does not give it back.
    pub fn detach(self) -> Result<EndReport, MessageError> {
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

fn take_back(object: &Object) -> Result<(), MessageError> {
    match sockets(object)?.delete(&KEY) {
        // Closed meanwhile: a closed socket leaves the map.
        Err(e) if is_absent(&e) => Ok(()),
        other => other.map_err(step("take the socket back from")),
    }
}

fn is_absent(error: &libbpf_rs::Error) -> bool {
    matches!(error.kind(), libbpf_rs::ErrorKind::NotFound | libbpf_rs::ErrorKind::InvalidInput)
}

fn sockets(object: &Object) -> Result<libbpf_rs::Map<'_>, MessageError> {
    object.maps().find(|map| map.name() == "sockets").ok_or(MessageError::Abi("its sockets"))
}
