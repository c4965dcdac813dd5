//! The far end of a trial: it sends the load in, or sends the load back. It is the same on this machine and on another
//! host, which has its own clock.

use std::net::UdpSocket;
use std::sync::atomic::AtomicBool;

use netfathom_model::plan::{ReversePlan, Spin, Variant};

use super::inbound::{Until, WindowCounts, echo};
use super::phases::{self, Phases};
use super::trial::cloned;
use crate::ground::observer::Live;
use crate::load::engine::Sendmmsg;
use crate::load::error::FlightError;
use crate::load::sender::{SenderPlan, SenderTask, send_all};

pub struct FarEnd<'a> {
    pub plan: &'a ReversePlan,
    pub variant: Variant,
    /// The number of the outgoing messages; the next one is that of the incoming.
    pub flow: u32,
    pub phases: Phases,
    /// Sends; in an echo it is also where the load comes to.
    pub socket: &'a UdpSocket,
    pub stop: &'a AtomicBool,
    /// Whoever the messages are for is gone, which what is left is not read after.
    pub gone: &'a AtomicBool,
    /// The load is over.
    pub ended: &'a AtomicBool,
}

#[derive(Clone, Debug, Default)]
pub struct Inbound {
    pub sent: u64,
    /// Those that the plan wants; `None` of answers, which nothing plans.
    pub planned: Option<u64>,
    /// Departures by window; `None` of answers.
    pub windows: Option<Vec<u64>>,
    /// Messages of the load that were read, which an echo does.
    pub read: u64,
}

impl Inbound {
    /// That of another far end beside it.
    pub fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.read += other.read;
        self.planned = other.planned.map(|planned| self.planned.unwrap_or(0) + planned);
        let sum = |mut windows: Vec<u64>| {
            let before = self.windows.take().unwrap_or_default();
            windows.resize(windows.len().max(before.len()), 0);
            windows.iter_mut().zip(before).for_each(|(n, before)| *n += before);
            windows
        };
        self.windows = other.windows.map(sum);
    }
}

/// The number of the messages that come in.
pub fn inbound_flow(flow: u32) -> u32 {
    flow.wrapping_add(1)
}

impl FarEnd<'_> {
    pub fn run(&self) -> Result<Inbound, FlightError> {
        if self.variant == Variant::Echo { self.echo() } else { self.generate() }
    }

    /// Sends what the plan wants, however it fares, and nothing after the end of the peak. It
    /// does not spin: its processor is also that of the reader.
    fn generate(&self) -> Result<Inbound, FlightError> {
        let profile = phases::inbound(self.plan);
        let on = self.phases.inbound_ns();
        let flow = inbound_flow(self.flow);
        let plan = SenderPlan::single(flow, self.phases.windows, on.end, Spin::Never);
        let task = SenderTask { plan, stop: self.stop, gone: self.ended, live: &Live::default() };
        let from_start_ns = on.start - self.phases.windows.start_ns;
        let departures = profile.schedule(0).map(|due_ns| from_start_ns + due_ns);
        let mut engine = Sendmmsg::new(cloned(self.socket)?, self.plan.size_bytes);
        let mut counts = WindowCounts::new(self.phases, flow);
        let sent = send_all(&task, departures, &mut engine, &mut counts);
        let planned = Some(profile.messages());
        Ok(Inbound { sent: sent.accepted, planned, windows: Some(counts.windows), read: 0 })
    }

    fn echo(&self) -> Result<Inbound, FlightError> {
        let until = Until { ended: self.ended, cut: [self.stop, self.gone] };
        echo(self.socket, self.flow, self.plan.size_bytes, self.phases, until).map_err(FlightError::Receive)
    }
}
