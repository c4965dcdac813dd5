//! The streams of a transfer, each in a thread of its own.

use std::os::fd::AsFd;
use std::thread::{self, Builder, Scope, ScopedJoinHandle};

use netfathom_model::plan::TransferPlan;
use netfathom_model::record::{TransferEnd, TransferMethod, TransferResult, TransferStream};
use netfathom_sys::endpoint;

use super::beside::other_end;
use super::ends::{self, End};
use super::packets::Capture;
use super::{Around, TransferError};

pub(super) struct Moved {
    pub stream: TransferStream,
    pub way: TransferMethod,
    pub buffer_address: u64,
}

/// Moves the bytes of one stream, which has a number and a socket, in the calling thread.
pub(super) type Moving = fn(&TransferPlan, Around<'_>, usize, &End) -> Moved;

pub(super) fn transmit(
    plan: &TransferPlan,
    around: Around<'_>,
    sending: Moving,
) -> Result<TransferResult, TransferError> {
    let ends = ends::connect(plan, around)?;
    let first = ends.first().and_then(|end| Some((end.local, end.peer?)));
    let packets = plan.packets.and(first).map(|(local, peer)| Capture::start(local, peer)).transpose()?;
    let mut result = thread::scope(|scope| {
        let mut streams = Streams::new(scope, plan);
        for end in ends {
            streams.start(end, around, sending)?;
        }
        Ok::<_, TransferError>(streams.result())
    })?;
    result.packets = packets.zip(plan.packets).map(|(capture, shown)| capture.end(shown as usize));
    Ok(result)
}

pub(super) struct Streams<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    plan: &'env TransferPlan,
    /// Of the first: its address and its buffer.
    first: Option<(String, Option<u32>)>,
    /// What the kernel uses, which need not be what was asked for.
    congestion: Option<String>,
    running: Vec<ScopedJoinHandle<'scope, Moved>>,
}

impl<'scope, 'env> Streams<'scope, 'env> {
    pub fn new(scope: &'scope Scope<'scope, 'env>, plan: &'env TransferPlan) -> Self {
        Self { scope, plan, first: None, congestion: None, running: Vec::new() }
    }

    /// Starts the next one, which gets its number.
    pub fn start(&mut self, end: End, around: Around<'env>, moving: Moving) -> Result<(), TransferError> {
        self.first.get_or_insert_with(|| (end.local.to_string(), end.granted_bytes));
        if self.congestion.is_none() {
            self.congestion = endpoint::congestion(end.socket.as_fd()).ok();
        }
        if let (true, Some(peer)) = (self.plan.explain, end.peer) {
            let look = || endpoint::local_address(end.socket.as_fd()).map(|own| other_end(own.ip(), peer));
            around.live.other_end.get_or_init(|| look().unwrap_or_default());
        }
        let number = self.running.len();
        let thread = Builder::new().name(format!("stream {number}"));
        let plan = self.plan;
        let running = thread.spawn_scoped(self.scope, move || moving(plan, around, number, &end));
        self.running.push(running.map_err(TransferError::NoThread).inspect_err(|_| around.end())?);
        Ok(())
    }

    /// Waits for the end of all, and puts together what became of them.
    pub fn result(self) -> TransferResult {
        let (local, granted) = self.first.unwrap_or_default();
        let moved = self.running.into_iter().map(joined).collect();
        TransferResult { congestion: self.congestion, ..result(self.plan, local, granted, moved) }
    }
}

fn joined(running: ScopedJoinHandle<'_, Moved>) -> Moved {
    // A panic of ours stays one.
    running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

pub(super) fn result(
    plan: &TransferPlan,
    local: String,
    granted_buffer_bytes: Option<u32>,
    moved: Vec<Moved>,
) -> TransferResult {
    let first = moved.first();
    TransferResult {
        plan: plan.clone(),
        local,
        peer: first.and_then(|moved| moved.stream.peer.clone()),
        buffer_address: first.map_or(0, |moved| moved.buffer_address),
        granted_buffer_bytes,
        way: first.map_or(TransferMethod::Copied, |moved| moved.way),
        end: moved
            .iter()
            .map(|m| &m.stream.end)
            .max_by_key(|end| how_bad(end))
            .cloned()
            .unwrap_or(TransferEnd::Idle),
        streams: moved.into_iter().map(|moved| moved.stream).collect(),
        congestion: None,
        served: None,
        cost: None,
        explanation: None,
        packets: None,
    }
}

fn how_bad(end: &TransferEnd) -> u8 {
    match end {
        TransferEnd::Whole | TransferEnd::Stopped => 0,
        TransferEnd::Unconfirmed => 1,
        TransferEnd::Acknowledged => 2,
        TransferEnd::Idle => 3,
        TransferEnd::CutOff { .. } => 4,
        TransferEnd::Interrupted => 5,
        TransferEnd::Broken { .. } => 6,
    }
}
