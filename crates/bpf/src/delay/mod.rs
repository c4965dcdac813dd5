//! A known delay on the path of our own messages, to prove that the stages find it where
//! it is and nowhere else.
//!
//! - Out: on the egress of the sender's device, which comes before the hook
//!   `net_dev_queue` (both in `__dev_queue_xmit`), so it lies in the stage `socket`.
//! - In: on the ingress of the reader's device, which comes after the hook
//!   `netif_receive_skb` (both in `__netif_receive_skb_core`), so it lies in the stage
//!   `protocol`.
//!
//! The processor spins meanwhile, so on a veth pair a delay on the way in holds up the
//! next messages too.

use std::os::fd::AsFd;

use libbpf_rs::{
    ErrorKind, Link, MapCore, MapFlags, Object, ObjectBuilder, TC_EGRESS, TC_INGRESS, TcHookBuilder,
};
use netfathom_model::path::Direction;

use crate::tcx;

#[cfg(test)]
mod tests;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/delay.bpf.o"));

/// The longest delay, ns: the spin runs where the kernel cannot be interrupted.
pub const MOST_NS: u32 = 1_000_000;

/// Why the delay could not be inserted.
#[derive(Debug, thiserror::Error)]
pub enum DelayError {
    /// Longer than [`MOST_NS`].
    #[error("a delay of {0} ns is too long: choose at most {MOST_NS}")]
    TooLong(u32),
    /// The kernel refused a step.
    #[error("cannot {step} the program that delays messages: {source}")]
    Step {
        /// What was tried.
        step: &'static str,
        /// Why it failed.
        source: libbpf_rs::Error,
    },
    /// The object is not the one this build was made with.
    #[error("the program that delays messages and this build disagree about {0}")]
    Abi(&'static str),
}

fn step(step: &'static str) -> impl Fn(libbpf_rs::Error) -> DelayError {
    move |source| DelayError::Step { step, source }
}

/// A delay in force; dropping it ends it, and so does the end of the process.
pub struct Delay {
    /// The attachment that vanishes with its descriptor; `None` for an old kernel's, which
    /// goes with its device.
    link: Option<Link>,
    object: Object,
}

impl Delay {
    /// Delays each message that passes a device: out (`Tx`) on its egress, in (`Rx`) on
    /// its ingress. Call it from a thread inside the device's network namespace; the value
    /// may go to any thread afterwards.
    ///
    /// From Linux 6.6 on nothing is left when the process ends for whatever reason.
    /// Before, the program stays with the device, which in the lab is ours.
    ///
    /// # Errors
    /// A delay above [`MOST_NS`], or what the kernel refused: needs CAP_BPF and
    /// CAP_NET_ADMIN, and Linux 5.17 (`bpf_loop`).
    pub fn attach(ifindex: u32, direction: Direction, delay_ns: u32) -> Result<Self, DelayError> {
        let object = load(direction, delay_ns)?;
        match tcx::attach(&object, ifindex) {
            // Linux before 6.6 does not know that kind of attachment.
            Err(e) if e.kind() == ErrorKind::InvalidInput => {
                Self::attach_to_device(object, ifindex, direction, delay_ns)
            }
            link => Self { link: Some(link.map_err(step("attach"))?), object }.begin(delay_ns),
        }
    }

    /// The way of older kernels.
    fn attach_to_device(
        object: Object,
        ifindex: u32,
        direction: Direction,
        delay_ns: u32,
    ) -> Result<Self, DelayError> {
        attach_clsact(&object, ifindex, direction).map_err(step("attach"))?;
        Self { link: None, object }.begin(delay_ns)
    }

    fn begin(self, delay_ns: u32) -> Result<Self, DelayError> {
        self.set(delay_ns)?;
        Ok(self)
    }

    /// Messages that were delayed so far.
    ///
    /// # Errors
    /// If the kernel's memory cannot be read.
    pub fn delayed(&self) -> Result<u64, DelayError> {
        let value = self.control()?.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).map_err(step("ask"))?;
        let value = value.as_deref().and_then(|v| v.get(8..16)).and_then(<[u8]>::first_chunk);
        value.map(|&v| u64::from_ne_bytes(v)).ok_or(DelayError::Abi("its memory"))
    }

    fn set(&self, delay_ns: u32) -> Result<(), DelayError> {
        let mut control = [0; 16];
        control[..8].copy_from_slice(&u64::from(delay_ns).to_ne_bytes());
        self.control()?.update(&0u32.to_ne_bytes(), &control, MapFlags::ANY).map_err(step("set"))
    }

    /// The memory of the program: `struct control`.
    fn control(&self) -> Result<impl MapCore, DelayError> {
        let bss = self.object.maps().find(|m| m.name().to_string_lossy().ends_with(".bss"));
        bss.filter(|m| m.value_size() == 16).ok_or(DelayError::Abi("its memory"))
    }
}

impl Drop for Delay {
    fn drop(&mut self) {
        // Without a link the program outlives us, and its device may be in a namespace
        // that this thread is not in; with no delay set it does nothing.
        if self.link.take().is_none() {
            let _ = self.set(0);
        }
    }
}

fn load(direction: Direction, delay_ns: u32) -> Result<Object, DelayError> {
    if delay_ns > MOST_NS {
        return Err(DelayError::TooLong(delay_ns));
    }
    let wanted = match direction {
        Direction::Tx => "on_egress",
        Direction::Rx => "on_ingress",
    };
    let mut open = ObjectBuilder::default().open_memory(OBJECT).map_err(step("open"))?;
    open.progs_mut().for_each(|mut program| {
        let load = program.name() == wanted;
        program.set_autoload(load);
    });
    crate::probe::quietly(|| open.load()).map_err(step("load"))
}

/// A queueing discipline of its own kind, with the program as a filter.
fn attach_clsact(object: &Object, ifindex: u32, direction: Direction) -> Result<(), libbpf_rs::Error> {
    let loaded = object.progs_mut().find(|p| p.autoload());
    let program = loaded.ok_or_else(|| libbpf_rs::Error::from_raw_os_error(libc::ENOENT))?;
    let mut builder = TcHookBuilder::new(program.as_fd());
    builder.ifindex(ifindex as i32).replace(true).handle(1).priority(1);
    let mut hook = builder.hook(match direction {
        Direction::Tx => TC_EGRESS,
        Direction::Rx => TC_INGRESS,
    });
    hook.create()?;
    hook.attach()?;
    Ok(())
}
