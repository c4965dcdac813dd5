//! The load: open loop, each message at its own time, whatever became of those before it.
//!
//! A message that is late is sent at once; none is skipped, and none is moved because
//! another was late. What the generator could not keep up with is its lag. An engine that
//! batches gets all that is due in one call, so it catches up in fewer calls, not by leaving
//! anything out.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_model::message::Header;
use netfathom_model::plan::Spin;
use netfathom_sys::clock::{monotonic_ns, sleep_until_ns};
use netfathom_sys::cpu::{RunDelay, thread_time_ns};
use serde::{Deserialize, Serialize};

use super::engine::Engine;
use super::sent::Sent;
use super::tap::SendTap;
use super::window::Windows;
use crate::ground::observer::Live;

/// Before a departure the last stretch is spun, not slept: a wake-up alone is late by
/// tens of microseconds.
const SPIN_NS: u64 = 200_000;
/// The longest nap, so that a slow profile still ends on request.
const NAP_NS: u64 = 50_000_000;

/// What a sender sends, and when.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct SenderPlan {
    pub flow: u32,
    /// Its number among the senders, from 0; it sends every `lanes`-th message from this one on.
    pub lane: u32,
    pub lanes: u32,
    /// Where chance decides when messages are due: the mean time between two of this sender.
    pub mean_interval_ns: Option<i64>,
    /// Where the windows begin: the start of the trial.
    pub windows: Windows,
    /// When the sender gives up on what is still unsent, CLOCK_MONOTONIC.
    pub deadline_ns: u64,
    pub spin: Spin,
}

impl SenderPlan {
    /// The plan of a single sender.
    pub fn single(flow: u32, windows: Windows, deadline_ns: u64, spin: Spin) -> Self {
        Self { flow, lane: 0, lanes: 1, mean_interval_ns: None, windows, deadline_ns, spin }
    }
}

pub struct SenderTask<'a> {
    pub plan: SenderPlan,
    pub stop: &'a AtomicBool,
    pub gone: &'a AtomicBool,
    pub live: &'a Live,
}

impl SenderTask<'_> {
    #[inline]
    pub fn is_over(&self) -> bool {
        self.stop.load(Relaxed) || self.gone.load(Relaxed)
    }
}

/// Sends a message at each of the departures of this lane, given from the start of the trial.
pub fn send_all<T: SendTap>(
    task: &SenderTask<'_>,
    departures: impl ExactSizeIterator<Item = u64>,
    engine: &mut dyn Engine,
    tap: &mut T,
) -> Sent {
    let most = engine.most();
    let SenderPlan { flow, lane, lanes, mean_interval_ns, windows, .. } = task.plan;
    let mut sent = Sent::new(windows, most, lanes, mean_interval_ns);
    let mut batch: Vec<Header> = Vec::with_capacity(most);
    let start_ns = windows.start_ns;
    let mut sequence = u64::from(lane);
    let mut header = |due_ns: u64| {
        let header = Header { flow, sequence, intended_ns: start_ns + due_ns, sent_ns: 0 };
        sequence += u64::from(lanes);
        header
    };
    let cpu_before_ns = thread_time_ns();
    let mut departures = departures.peekable();
    let delay = RunDelay::of_this_thread().ok();
    let delay_ns = || delay.as_ref()?.read_ns().ok();
    let mut before_start_ns = delay_ns();
    if let Some(due_ns) = departures.peek().map(|due_ns| start_ns + due_ns) {
        wait(due_ns.saturating_sub(NAP_NS), task);
        // From here to the first message there is one nap: earlier ones delay nothing, unless they ended after it.
        if monotonic_ns() < due_ns {
            before_start_ns = delay_ns();
        }
    }
    while let Some(due_ns) = departures.next() {
        let first = header(due_ns);
        let Some(now_ns) = wait(first.intended_ns, task) else {
            sent.unsent += departures.len() as u64 + 1;
            break;
        };
        batch.clear();
        batch.push(first);
        while batch.len() < most
            && let Some(due_ns) = departures.next_if(|due_ns| start_ns + due_ns <= now_ns)
        {
            batch.push(header(due_ns));
        }
        let next_ns = departures.peek().map(|due_ns| start_ns + due_ns);
        hand_over(task, &mut batch, next_ns, engine, tap, &mut sent);
        if let Some(before_ns) = before_start_ns.take() {
            sent.start_waited_ns = delay_ns().map(|now_ns| now_ns - before_ns);
        }
        task.live.sent.fetch_add(batch.len() as u64, Relaxed);
        task.live.lag_ns.store(batch.last().map_or(0, lag_ns), Relaxed);
    }
    sent.cpu_ns = thread_time_ns() - cpu_before_ns;
    tap.finish();
    sent
}

fn lag_ns(header: &Header) -> i64 {
    header.sent_ns.wrapping_sub(header.intended_ns) as i64
}

/// Gives a batch to the engine until each of its messages is accepted or refused. `next_ns`
/// is when the message after the batch is due.
#[inline]
fn hand_over<T: SendTap>(
    task: &SenderTask<'_>,
    batch: &mut Vec<Header>,
    next_ns: Option<u64>,
    engine: &mut dyn Engine,
    tap: &mut T,
    sent: &mut Sent,
) {
    let mut from = 0;
    while from < batch.len() {
        let rest = &mut batch[from..];
        // That of the first message, unless the kernel stamps it.
        let called_ns = if engine.stamped_by_kernel() { monotonic_ns() } else { 0 };
        let outcome = engine.send(rest);
        let done_ns = monotonic_ns();
        let tried = (outcome.accepted + outcome.refused).clamp(1, rest.len());
        sent.call(tried, if called_ns == 0 { rest[0].sent_ns } else { called_ns }, done_ns);
        if outcome.refused > 0 {
            *sent.refused.entry(outcome.errno).or_default() += outcome.refused as u64;
        }
        sent.accepted += outcome.accepted as u64;
        for (i, header) in rest[..tried].iter().enumerate() {
            tap.sent(header, i < outcome.accepted);
        }
        from += tried;
        if from < batch.len() && task.is_over() {
            sent.unsent += (batch.len() - from) as u64;
            batch.truncate(from);
        }
    }
    sent.departed(batch, next_ns);
}

/// Waits for the departure; returns the time it is, or `None` if there is to be no more.
#[inline]
fn wait(intended_ns: u64, task: &SenderTask<'_>) -> Option<u64> {
    let ahead_ns = if task.plan.spin == Spin::Auto { SPIN_NS } else { 0 };
    let mut now = monotonic_ns();
    while now + ahead_ns < intended_ns {
        sleep_until_ns((intended_ns - ahead_ns).min(now + NAP_NS));
        now = monotonic_ns();
        if task.is_over() {
            return None;
        }
    }
    while now < intended_ns {
        std::hint::spin_loop();
        now = monotonic_ns();
    }
    (now < task.plan.deadline_ns && !task.is_over()).then_some(now)
}

#[cfg(test)]
mod tests;
