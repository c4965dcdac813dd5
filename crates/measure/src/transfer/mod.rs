//! `netfathom ttcp`: a transfer between two hosts over TCP or UDP, as the classic program of
//! that name makes it, so that either end may be a classic one.
//!
//! [`run`] is the map: `ends` makes the sockets, bytes go in one of the loops of `tcp`
//! or `udp`, `closing` finds out whether all of it arrived, and `report` says what it was worth.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use netfathom_model::plan::{Protocol, Role, TransferPlan};
use netfathom_model::record::TransferResult;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::interrupt::Interruptible;

use crate::environment;
use crate::observer::Progressed;

mod account;
mod buffer;
mod checksum;
mod closing;
mod ends;
mod error;
mod incoming;
mod outgoing;
mod report;
mod tcp;
mod udp;

pub use ends::Event;
pub use error::TransferError;

use buffer::Buffer;
use error::Broken;

/// How often it is looked whether to end; also how often a blocked call is then interrupted.
const LOOK: Duration = Duration::from_millis(50);
/// Within this the other thread has noticed, unless it was only about to make a call.
const NOTICE: Duration = Duration::from_millis(5);

/// Where data comes from and goes to that is not made up.
#[derive(Clone, Copy, Debug)]
pub struct Standard<'a> {
    /// Standard input, or what takes its place.
    pub input: BorrowedFd<'a>,
    /// Standard output, or what takes its place.
    pub output: BorrowedFd<'a>,
}

/// How far a transfer is: others may look while it runs.
#[derive(Debug, Default)]
pub struct Live {
    /// Bytes that went.
    pub bytes: AtomicU64,
    /// Bytes that there are, 0 where nobody knows.
    pub planned: AtomicU64,
    /// When bytes began to go, on the one clock; 0 before.
    started_ns: AtomicU64,
    /// The time is over that it was to take.
    expired: AtomicBool,
}

/// What a transfer runs with besides its plan.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// Standard input and output.
    pub standard: Standard<'a>,
    /// Moves while it runs.
    pub live: &'a Live,
    /// Ends it.
    pub stop: &'a AtomicBool,
}

impl Around<'_> {
    fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Whether the time of the plan is over, which is no reason to end but that of the data.
    fn expired(&self) -> bool {
        self.live.expired.load(Relaxed)
    }
}

/// Transfers. What broke off after it had begun is a result too, which says so; `tell` hears
/// what happens until then.
///
/// # Errors
/// If there was nobody to transfer to or from.
pub fn run(
    plan: &TransferPlan,
    around: Around<'_>,
    tell: &mut dyn FnMut(Event),
) -> Result<Progressed<TransferResult>, TransferError> {
    let this = Interruptible::this_thread().map_err(TransferError::Signals)?;
    let environment = environment::read(Vec::new(), Vec::new());
    ends::check_standard(plan, around.standard)?;
    around.live.planned.store(plan.planned_bytes().unwrap_or(0), Relaxed);
    let result = thread::scope(|scope| {
        let (running, ended) = channel::<()>();
        let interrupt = move || {
            while ended.recv_timeout(until_end(plan, around.live)) == Err(RecvTimeoutError::Timeout) {
                let over = until_end(plan, around.live).is_zero();
                around.live.expired.store(over, Relaxed);
                if around.stopped() || over {
                    this.interrupt();
                    thread::sleep(NOTICE);
                }
            }
        };
        thread::Builder::new()
            .name("interrupt".into())
            .spawn_scoped(scope, interrupt)
            .map_err(TransferError::NoThread)?;
        let result = transfer(plan, around, tell);
        drop(running);
        result
    })?;
    Ok(report::conclude(environment, result))
}

/// How long to sleep before the next look: nothing once the time of the plan is over.
fn until_end(plan: &TransferPlan, live: &Live) -> Duration {
    let started_ns = live.started_ns.load(Relaxed);
    match plan.time_ns {
        Some(time_ns) if started_ns > 0 => {
            let end_ns = started_ns.saturating_add(time_ns);
            LOOK.min(Duration::from_nanos(end_ns.saturating_sub(monotonic_ns())))
        }
        _ => LOOK,
    }
}

fn transfer(
    plan: &TransferPlan,
    around: Around<'_>,
    tell: &mut dyn FnMut(Event),
) -> Result<TransferResult, TransferError> {
    let buffer = Buffer::new(plan);
    tell(Event::Buffer { address: buffer.address() });
    match (plan.protocol, plan.role) {
        (Protocol::Tcp, Role::Transmit) => tcp::transmit(plan, around, buffer, tell),
        (Protocol::Tcp, Role::Receive) => tcp::receive(plan, around, buffer, tell),
        (Protocol::Udp, Role::Transmit) => udp::transmit(plan, around, buffer, tell),
        (Protocol::Udp, Role::Receive) => udp::receive(plan, around, buffer, tell),
    }
}
