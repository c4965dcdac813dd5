//! What the two ends of a trial share.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use netfathom_model::layer::Side;
use netfathom_model::plan::{Carrier, MessagePlan, MessageTest};
use netfathom_stats::Distribution;
use netfathom_sys::clock::monotonic_ns;

use super::error::EndError;
use super::samples::{MOST, Samples};

/// Resolution of times: a bucket is less than one percent wide.
pub const GRAIN: u32 = 7;
/// Closed loop, one way: the clock is read once per this many messages, which costs a small message
/// about a nanosecond at either end.
const EVERY: u64 = 16;
/// How much longer than its time an end may take before the other one goes on without it.
const PATIENCE: Duration = Duration::from_secs(2);
/// Messages in a row, at the beginning, without a reply.
const MOST_LOST: u64 = 5;
/// Between two looks at whether it has finished.
const NAP: Duration = Duration::from_millis(1);

pub struct Task<'a> {
    pub plan: &'a MessagePlan,
    room: u64,
    pub shared_processor: bool,
    pub samples: Samples,
    pub stop: &'a AtomicBool,
    /// How many messages there will have been; known when the last one leaves.
    total: AtomicU64,
    finished: [AtomicBool; 2],
}

#[derive(Debug)]
pub struct Done {
    /// Messages that it sent, or that came.
    pub messages: u64,
    /// When the first one left or came, CLOCK_MONOTONIC; `None` before.
    pub first_ns: Option<u64>,
    /// Messages that came by then.
    pub first: u64,
    /// When the last one with a known time did.
    pub last_ns: u64,
    /// Messages until then.
    pub timed: u64,
    /// Messages without a reply, so that another one was sent (UDP).
    pub lost: u64,
    /// Whether time was over before there were enough.
    pub cut_short: bool,
    pub times: Distribution,
    /// With a rate: times from when messages left, not from when they were to.
    pub service: Option<Distribution>,
    pub lag: Option<Distribution>,
    /// Processor time that its thread took to wait until messages were to leave: no cost of theirs.
    pub waiting_ns: u64,
}

impl Done {
    pub fn nothing() -> Self {
        let times = Distribution::new(GRAIN);
        Self {
            messages: 0,
            first_ns: None,
            first: 0,
            last_ns: 0,
            timed: 0,
            lost: 0,
            cut_short: false,
            times,
            service: None,
            lag: None,
            waiting_ns: 0,
        }
    }

    /// Nothing comes any more: over UDP a message was lost, which another one can stand for, if this
    /// does not go on for ever.
    pub fn has_lost(&mut self, task: &Task<'_>) -> Result<(), EndError> {
        self.lost += 1;
        if task.plan.carrier == Carrier::Udp && self.lost <= MOST_LOST + self.timed {
            return Ok(());
        }
        Err(EndError::Unexpected("nothing comes back from the other end".into()))
    }

    /// A message is here: from the last one to this it took one round, but for the first.
    pub fn arrived(&mut self, task: &Task<'_>) -> Next {
        let now = monotonic_ns();
        let first_ns = *self.first_ns.get_or_insert(now);
        if self.messages > 0 {
            self.times.add(now as i64 - self.last_ns as i64);
            self.timed += 1;
        }
        self.messages += 1;
        self.last_ns = now;
        // What is asked is whether another one is the last.
        task.next(self.timed.saturating_sub(1), now - first_ns)
    }
}

/// What is to be done when it is so late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Go,
    Last,
    /// The last one, though there are too few.
    CutShort,
}

impl<'a> Task<'a> {
    pub fn new(plan: &'a MessagePlan, room: u64, shared_processor: bool, stop: &'a AtomicBool) -> Self {
        Self {
            plan,
            room,
            shared_processor,
            samples: match plan.test {
                MessageTest::Oneway => Samples::new(every(plan)),
                MessageTest::Pingpong | MessageTest::Post => Samples::none(),
            },
            stop,
            total: AtomicU64::new(u64::MAX),
            finished: Default::default(),
        }
    }

    /// What to do after `messages` messages, `elapsed_ns` after the first.
    pub fn next(&self, messages: u64, elapsed_ns: u64) -> Next {
        if messages + 1 >= self.plan.messages && elapsed_ns >= self.plan.least_ns {
            Next::Last
        } else if messages + 1 >= self.room || elapsed_ns >= self.plan.most_ns || self.stop.load(Relaxed) {
            Next::CutShort
        } else {
            Next::Go
        }
    }

    /// The client is about to send the last of `total` messages.
    pub fn announce(&self, total: u64) {
        self.total.store(total, Release);
    }

    /// Whether the server has them all.
    #[inline]
    pub fn is_all(&self, messages: u64) -> bool {
        messages >= self.total.load(Acquire)
    }

    /// Waits for messages of the client, through silences, until it has finished and what it sent is
    /// there or lost; how many. 0 in the end.
    pub fn receive(&self, end: &mut dyn super::end::End) -> Result<u64, EndError> {
        loop {
            // What comes before it has finished may be followed by the last one.
            let finished = self.has_finished(Side::Client);
            let came = end.receive()?;
            if came > 0 || finished || !end.is_silent() {
                return Ok(came);
            }
        }
    }

    /// Whether all that was announced was more than this.
    pub fn lacks(&self, messages: u64) -> bool {
        let total = self.total.load(Acquire);
        total != u64::MAX && messages < total
    }

    pub fn has_finished(&self, end: Side) -> bool {
        self.finished[end as usize].load(Acquire)
    }

    /// An end has done its work, and knows what it took.
    pub fn finish(&self, end: Side) {
        self.finished[end as usize].store(true, Release);
    }

    /// Waits until it has, or the user wants an end; not for ever.
    pub fn await_finished(&self, end: Side) {
        let begin = Instant::now();
        let most = Duration::from_nanos(self.plan.most_ns) + PATIENCE;
        while !self.has_finished(end) && !self.stop.load(Relaxed) && begin.elapsed() < most {
            std::thread::sleep(NAP);
        }
    }
}

/// One in this many messages is timed. With a rate, the sample has room for all messages that can be in
/// flight at once, so that none of them is forgotten while it waits.
fn every(plan: &MessagePlan) -> u64 {
    match plan.rate_per_s {
        Some(rate) => ((rate * plan.most_ns as f64 / 1e9) as u64).div_ceil(MOST as u64).max(1),
        None if plan.messages < 64 * EVERY => 1,
        None => EVERY,
    }
}

#[cfg(test)]
mod tests {
    use netfathom_model::plan::Place;

    use super::*;

    #[test]
    fn with_a_rate_all_that_can_be_under_way_fits() {
        let paper = MessagePlan::paper(MessageTest::Oneway, Place::Loopback);
        let every = |rate_per_s, most_ns| super::every(&MessagePlan { rate_per_s, most_ns, ..paper.clone() });
        assert_eq!(every(Some(20_000.0), 2_000_000_000), 1);
        assert_eq!(every(Some(131_072.0), 10_000_000_000), 10);
        assert_eq!(every(None, 2_000_000_000), EVERY);
    }
}
