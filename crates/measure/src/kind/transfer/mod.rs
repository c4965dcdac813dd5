//! `netfathom ttcp`: a transfer between two hosts over TCP or UDP, as the classic program of
//! that name makes it, so that either end may be a classic one.
//!
//! [`run`] is the map: `ends` makes the sockets, bytes go in one of the loops of `tcp`
//! or `udp`, `closing` finds out whether all of it arrived, and `report` says what it was worth.
//!
//! Others see a stream as a lane of `live`: how far it is, its socket, its thread. Blocked calls are ended by a signal to
//! that thread (`netfathom_sys::interrupt`). `watch` looks at TCP_INFO and the queues, `timing` takes the calls' times;
//! without `--explain` the loops are compiled without it.

use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use netfathom_model::environment::Device;
use netfathom_model::plan::{Role, TransferPlan, Transport};
use netfathom_model::record::TransferResult;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::interrupt::Interruptible;
use netfathom_sys::link;

use crate::ground::environment;
use crate::ground::observer::Progressed;

mod account;
mod beside;
mod buffer;
mod checksum;
mod closing;
mod cost;
mod door;
mod ends;
mod error;
mod explain;
mod incoming;
mod live;
mod outgoing;
mod pace;
mod packets;
mod report;
mod sample_series;
mod segments;
mod serve;
mod socket_states;
mod streams;
mod tcp;
mod timing;
mod udp;
mod wakeups;
mod zero_copy;

pub use ends::TransferEvent;
pub use error::TransferError;
pub use live::Live;
pub use serve::Left;
pub use socket_states::Step;

use beside::Beside;
use buffer::Buffer;
use error::Broken;
use socket_states::Watch;

/// How often it is looked whether to end; also how often a blocked call is then interrupted.
const LOOK: Duration = Duration::from_millis(50);
/// Within this the other thread has noticed, unless it was only about to make a call.
const NOTICE: Duration = Duration::from_millis(5);

/// Where data comes from and goes to, unless it is generated.
#[derive(Clone, Copy, Debug)]
pub struct Standard<'a> {
    /// Standard input, or what takes its place.
    pub input: BorrowedFd<'a>,
    /// Standard output, or what takes its place.
    pub output: BorrowedFd<'a>,
}

#[derive(Clone, Copy)]
pub struct Around<'a> {
    pub standard: Standard<'a>,
    pub live: &'a Live,
    pub stop: &'a AtomicBool,
    /// Hears what happens, from whichever thread it happens in.
    pub tell: &'a (dyn Fn(TransferEvent) + Sync),
}

impl Around<'_> {
    fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    fn unless_stopped(&self) -> Result<(), Broken> {
        if self.stopped() { Err(Broken::Interrupted) } else { Ok(()) }
    }

    fn tell(&self, event: TransferEvent) {
        (self.tell)(event);
    }

    fn silent(self) -> Self {
        Self { tell: &|_| {}, ..self }
    }

    /// Ends all streams: one of them cannot be, and the others are not to go on alone.
    fn end(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether the time of the plan is over, which is no reason to end but that of the data.
    fn expired(&self) -> bool {
        self.live.expired.load(Relaxed)
    }
}

/// Transfers. What broke off after it had begun is a result too, which says so.
pub fn run(plan: &TransferPlan, around: Around<'_>) -> Result<Progressed<TransferResult>, TransferError> {
    if plan.explain {
        around.live.follow_waits();
    }
    let mut progressed = part(plan, around)?;
    let devices = device_of(&progressed.result).into_iter().collect();
    progressed.environment = environment::read(Vec::new(), devices, None);
    Ok(progressed)
}

/// The device of the own end's address, once there was a connection.
fn device_of(result: &TransferResult) -> Option<Device> {
    let local: SocketAddr = result.local.parse().ok()?;
    let link = link::with_address(local.ip()).ok()??;
    let role = match (local.ip().is_loopback(), result.plan.role) {
        (true, _) => "both",
        (false, Role::Transmit) => "sender",
        (false, Role::Receive) => "reader",
    };
    Some(Device { role: role.into(), name: link.name, mtu: link.mtu, qdisc: link.qdisc })
}

/// The same as a part of another measurement, which describes the machine once. It loads no programs: of many transfers
/// that would be a large part.
pub fn part(plan: &TransferPlan, around: Around<'_>) -> Result<Progressed<TransferResult>, TransferError> {
    let this = Interruptible::this_thread().map_err(TransferError::Signals)?;
    ends::check_standard(plan, around.standard)?;
    around.live.planned.store(plan.planned_bytes().unwrap_or(0), Relaxed);
    around.live.cost.prepare(plan);
    let beside = plan.explain.then(Beside::begin);
    let mut result = thread::scope(|scope| {
        let (running, ended) = channel::<()>();
        let interrupt = move || {
            while ended.recv_timeout(until_end(plan, around.live)) == Err(RecvTimeoutError::Timeout) {
                let over = until_end(plan, around.live).is_zero();
                around.live.expired.store(over, Relaxed);
                if around.stopped() || over {
                    this.interrupt();
                    around.live.lanes().iter().for_each(|lane| lane.interrupt());
                    thread::sleep(NOTICE);
                }
            }
        };
        thread::Builder::new()
            .name("interrupt".into())
            .spawn_scoped(scope, interrupt)
            .map_err(TransferError::NoThread)?;
        let watch = Watch::start(scope, plan, around)?;
        let result = transfer(plan, around);
        drop(watch);
        drop(running);
        result
    })?;
    result.cost = around.live.cost.end(&result);
    let busiest = beside.and_then(|beside| beside.busiest());
    let other_end = around.live.other_end.get().cloned().unwrap_or_default();
    let seen = explain::Host { busiest, other_end, ..Default::default() };
    Ok(report::conclude(result, seen))
}

/// How long to sleep before the next look: nothing once the time of the plan is over.
fn until_end(plan: &TransferPlan, live: &Live) -> Duration {
    let started_ns = live.started_ns();
    match plan.time_ns {
        Some(time_ns) if started_ns > 0 => {
            let end_ns = started_ns.saturating_add(time_ns);
            LOOK.min(Duration::from_nanos(end_ns.saturating_sub(monotonic_ns())))
        }
        _ => LOOK,
    }
}

fn transfer(plan: &TransferPlan, around: Around<'_>) -> Result<TransferResult, TransferError> {
    match (plan.protocol, plan.role) {
        (Transport::Tcp, Role::Transmit) => streams::transmit(plan, around, tcp::sending(plan)),
        (Transport::Tcp, Role::Receive) => match &plan.serve {
            Some(service) => serve::serve(plan, service, around),
            None => tcp::receive(plan, around),
        },
        (Transport::Udp, Role::Transmit) => streams::transmit(plan, around, udp::send),
        (Transport::Udp, Role::Receive) => udp::receive(plan, around),
    }
}

fn median<T: Ord>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut values: Vec<T> = values.collect();
    let middle = values.len() / 2;
    values.sort_unstable();
    values.into_iter().nth(middle)
}
