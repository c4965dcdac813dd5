//! Load that does not pass the stack: a program writes messages into frames and sends them
//! out of a device (BPF_PROG_RUN with live frames, since Linux 5.18).
//!
//! Each call has a fixed cost, for the kernel makes a pool of frames and takes it down
//! again. From a thread to [`crate::sink::XdpSink`] over a veth pair, 64-byte payload, on a
//! busy virtual machine (Linux 6.18), by the processor time of the thread, the receiver's
//! soft interrupt included:
//!
//! | messages a call | us a call | million messages a second |
//! |----------------:|----------:|--------------------------:|
//! | 1 | 17 | 0.06 |
//! | 16 | 20 | 0.79 |
//! | 64 | 32 | 2.0 |
//! | 256 | 81 | 3.2 |
//! | 1024 | 261 | 3.9 |
//! | 4096 | 987 | 4.2 |
//!
//! A connected socket sent 0.24 million to an unread one meanwhile. So longer batches than
//! [`MOST_BATCH`] gain nothing, and below some ten messages a call sockets are cheaper.
//!
//! A run stays on the processor that calls, and so does the receiver's part on a veth pair,
//! as a rule: that is the ceiling, one processor for both ends.
//!
//! A frame that the device does not take is freed without a word. What is known of it comes
//! from the tracepoints `xdp_devmap_xmit` and `xdp_redirect_err`, exactly and for each
//! message. A message that left may still be lost at the other end. A veth pair's counters
//! agree: tx_packets of the sender and rx_packets of its peer are the frames taken, also
//! those that an XDP program at the peer drops, and tx_dropped of the sender the others.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::Ordering::Relaxed;

use libbpf_rs::{ErrorKind, Link, MapCore, MapFlags, Object, libbpf_sys};
use netfathom_model::message::Header;

mod dispatcher;
mod frame;
mod shared;
#[cfg(test)]
mod tests;

crate::mapping::abi!("generator");

use abi::copied::Config;
use abi::shared::Shared;
use dispatcher::Attached;
use frame::Frame;
pub use frame::FrameError;

use crate::mapping::{Mapping, as_bytes};
use crate::set::{Set, SetError};
use crate::xdp::AttachError;

const SET: Set = Set {
    name: "the program that generates load",
    object: include_bytes!(concat!(env!("OUT_DIR"), "/generator.bpf.o")),
    shares_clock: true,
};

pub const MOST_BATCH: usize = Shared::SLOTS;
/// Frames that the kernel prepares before the receiver's soft interrupt may run.
const FRAMES_AT_ONCE: u32 = 64;

#[derive(Debug, thiserror::Error)]
pub enum GeneratorError {
    #[error("the frame cannot carry messages: {0}")]
    Frame(#[from] FrameError),
    #[error("{}{}", .0, remedy(.0))]
    Set(#[from] SetError),
    #[error("cannot prepare the program that generates load in a namespace of its own (CAP_SYS_ADMIN): {0}")]
    Place(#[from] AttachError),
}

fn remedy(error: &SetError) -> &'static str {
    let SetError::Step { source, .. } = error else { return "" };
    match source.kind() {
        Some(ErrorKind::InvalidInput) => {
            "; this needs Linux 5.18, and a frame that fits into a page of memory"
        }
        _ => error.remedy(),
    }
}

/// A program that sends messages out of one device, and the memory that feeds it.
pub struct Generator {
    mapping: Mapping<Shared>,
    frame: Frame,
    /// The tracepoints that tell which frames the device took.
    _links: Vec<Link>,
    _place: Attached,
    object: Object,
}

impl Generator {
    /// Loads the program for a device of the calling thread's network namespace. `frame`
    /// is a whole Ethernet frame of one message: IPv4 or IPv6 without options, UDP, lengths
    /// right; its checksums and the fields of the message don't matter.
    ///
    /// # Errors
    /// A frame of another kind, or what the kernel refused. Needs CAP_BPF, CAP_NET_ADMIN
    /// and CAP_PERFMON, Linux 5.18 and BTF.
    pub fn load(frame: &[u8], ifindex: u32) -> Result<Self, GeneratorError> {
        let frame = Frame::parse(frame)?;
        let mut open = SET.open(|_| true)?;
        let config = Config {
            headers: frame.header_words(),
            payload_at: frame.payload_at as u32,
            constant_sum: frame.constant_sum().into(),
        };
        SET.configure(&mut open, as_bytes(&config))?;
        let object = SET.load(open)?;
        let device = SET.map(&object, "device")?;
        device
            .update(&0u32.to_ne_bytes(), &ifindex.to_ne_bytes(), MapFlags::ANY)
            .map_err(SET.step("point"))?;
        let traced = object.progs_mut().filter(|p| p.name() != "generate");
        let links = traced.map(|p| p.attach()).collect::<Result<Vec<_>, _>>().map_err(SET.step("watch"))?;
        let place = Attached::take(SET.program(&object, "generate")?.as_fd())?;
        let mapping = SET.memory(&object)?;
        let generator = Self { mapping, frame, _links: links, _place: place, object };
        // A run of no message shows whether the kernel has live frames and takes this one.
        generator.mapping.get().begin(&[]);
        generator.run(1).map_err(libbpf_rs::Error::from).map_err(SET.step("run"))?;
        Ok(generator)
    }

    /// Sends a batch of at most [`MOST_BATCH`] messages in order, the flow of each its own,
    /// and fills in when each left: `sent_ns` is 0 of a message that did not. Returns how
    /// many left.
    pub fn send(&mut self, batch: &mut [Header]) -> io::Result<usize> {
        if batch.len() > MOST_BATCH {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "more than MOST_BATCH messages"));
        }
        if batch.is_empty() {
            return Ok(0);
        }
        let shared = self.mapping.get();
        shared.begin(batch);
        let run = self.run(batch.len());
        for (header, slot) in batch.iter_mut().zip(&shared.slots) {
            header.sent_ns = slot.sent_ns();
        }
        match shared.taken.load(Relaxed) {
            0 => run.and_then(|()| reason(shared)).map(|()| 0),
            taken => Ok(taken as usize),
        }
    }

    fn run(&self, messages: usize) -> io::Result<()> {
        let program = self.object.progs().find(|p| p.name() == "generate");
        let program = program.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))?;
        let mut options = libbpf_sys::bpf_test_run_opts {
            sz: size_of::<libbpf_sys::bpf_test_run_opts>() as _,
            data_in: self.frame.bytes.as_ptr().cast(),
            data_size_in: self.frame.bytes.len() as u32,
            repeat: messages as i32,
            flags: libbpf_sys::BPF_F_TEST_XDP_LIVE_FRAMES,
            batch_size: FRAMES_AT_ONCE,
            ..Default::default()
        };
        // SAFETY: the program is loaded, and the frame and the options outlive the call,
        // which writes to the options alone.
        match unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_fd().as_raw_fd(), &mut options) } {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(-error)),
        }
    }
}

/// Why no message left, as far as the kernel says.
fn reason(shared: &Shared) -> io::Result<()> {
    let refused = shared.refused.load(Relaxed);
    let error = if refused == 0 { shared.driver_error.load(Relaxed) } else { refused };
    if error == 0 {
        return Ok(());
    }
    let error = io::Error::from_raw_os_error(-error);
    let remedy = match error.raw_os_error() {
        // A veth says the first since Linux 6.3, and the second before.
        Some(libc::EOPNOTSUPP | libc::ENXIO) => {
            "; its driver takes no frames from XDP: send with sockets, or, where it is one end of a veth \
             pair, attach a native XDP program to the other end (or turn on its GRO), so that it polls"
        }
        Some(libc::ENETDOWN) => "; set the device up",
        Some(libc::ENODEV) => "; the device is gone",
        Some(libc::EMSGSIZE) => "; the frame is longer than its MTU allows",
        _ => "",
    };
    Err(io::Error::new(error.kind(), format!("the device took no frame: {error}{remedy}")))
}
