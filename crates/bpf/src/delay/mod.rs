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
use std::sync::atomic::Ordering::Relaxed;

use libbpf_rs::{ErrorKind, Link, Object, TC_EGRESS, TC_INGRESS, TcHookBuilder};
use netfathom_model::path::Direction;

use self::abi::shared::Control;
use crate::mapping::Mapping;
use crate::set::{Set, SetError};
use crate::tcx;

#[cfg(test)]
mod tests;

crate::mapping::abi!("delay");

const SET: Set = Set {
    name: "the program that delays messages",
    object: include_bytes!(concat!(env!("OUT_DIR"), "/delay.bpf.o")),
    shares_clock: false,
};

/// The longest delay, ns: the spin runs where the kernel cannot be interrupted.
pub const MOST_NS: u32 = 1_000_000;

/// Why the delay could not be inserted.
#[derive(Debug, thiserror::Error)]
pub enum DelayError {
    #[error("a delay of {0} ns is too long: choose at most {MOST_NS}")]
    TooLong(u32),
    #[error("{}{}", .0, .0.remedy())]
    Set(#[from] SetError),
}

/// A delay in force; dropping it ends it, and so does the end of the process.
pub struct Delay {
    /// The attachment that vanishes with its descriptor; `None` for an old kernel's, which
    /// goes with its device.
    link: Option<Link>,
    control: Mapping<Control>,
    _object: Object,
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
        let link = match tcx::attach(&object, ifindex) {
            // Linux before 6.6 does not know that kind of attachment.
            Err(e) if e.kind() == ErrorKind::InvalidInput => {
                return Self::attach_to_device(object, ifindex, direction, delay_ns);
            }
            link => Some(link.map_err(SET.step("attach"))?),
        };
        Self::begin(object, link, delay_ns)
    }

    fn attach_to_device(
        object: Object,
        ifindex: u32,
        direction: Direction,
        delay_ns: u32,
    ) -> Result<Self, DelayError> {
        attach_clsact(&object, ifindex, direction).map_err(SET.step("attach"))?;
        Self::begin(object, None, delay_ns)
    }

    fn begin(object: Object, link: Option<Link>, delay_ns: u32) -> Result<Self, DelayError> {
        let control = SET.memory(&object)?;
        let delay = Self { link, control, _object: object };
        delay.control.get().delay_ns.store(delay_ns.into(), Relaxed);
        Ok(delay)
    }

    pub fn delayed(&self) -> u64 {
        self.control.get().delayed.load(Relaxed)
    }
}

impl Drop for Delay {
    fn drop(&mut self) {
        // Without a link the program outlives us, and its device may be in a namespace
        // that this thread is not in; with no delay set it does nothing.
        if self.link.take().is_none() {
            self.control.get().delay_ns.store(0, Relaxed);
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
    Ok(SET.load(SET.open(|name| name == wanted)?)?)
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
