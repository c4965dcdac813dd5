//! What a sender did: counts, lag, and the time between departures.

use std::collections::BTreeMap;

use netfathom_bpf::stack::WINDOWS;
use netfathom_model::message::Header;
use netfathom_model::record::Contention;
use netfathom_stats::{Distribution, Moments, Windowed};
use serde::{Deserialize, Serialize};

use super::lateness::Lateness;
use super::window::{GRAIN, PART_GRAIN, Windows};

/// Coarse: there are many, and each goes into the record.
const SECOND_GRAIN: u32 = 3;
/// The most histograms of lag over a trial.
const MOST_SECONDS: u64 = 120;
const SECOND_NS: u64 = 1_000_000_000;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sent {
    pub windows: Windows,
    pub accepted: u64,
    /// Messages that it refused, by errno.
    pub refused: BTreeMap<i32, u64>,
    /// Messages that were never tried.
    pub unsent: u64,
    /// The first departure and the last, CLOCK_MONOTONIC; equal before the second.
    pub first_ns: u64,
    pub last_ns: u64,
    /// For how long of the last 50 ms before its first departure the thread waited for a processor; of several
    /// senders the longest. `None` where this kernel does not count it.
    pub start_waited_ns: Option<u64>,
    /// Actual minus intended departure.
    pub lag: Windowed,
    /// The same, held against the slots of the engine.
    pub lateness: Lateness,
    /// The same, a histogram a window of [`Sent::second_ns`].
    pub lag_by_second: Vec<Distribution>,
    pub second_ns: u64,
    /// Duration of the send call, shared by the messages of a batch.
    pub send_call: Windowed,
    /// Time between neighbouring departures.
    pub intervals: Distribution,
    pub cpu_ns: u64,
    /// Who had the processors of the senders.
    pub contention: Vec<Contention>,
}

impl Sent {
    /// Empty, for one of `lanes` senders with an engine that sends up to `batch` messages together.
    pub fn new(windows: Windows, batch: usize, lanes: u32, mean_interval_ns: Option<i64>) -> Self {
        // The messages of the other senders lie in between.
        let lateness = Lateness::new(batch as f64 / f64::from(lanes), mean_interval_ns);
        let longest_ns = windows.length_ns().saturating_mul(WINDOWS as u64);
        Self {
            windows,
            accepted: 0,
            refused: BTreeMap::new(),
            unsent: 0,
            first_ns: 0,
            last_ns: 0,
            start_waited_ns: None,
            lag: Windowed::new(GRAIN, WINDOWS),
            lateness,
            lag_by_second: Vec::new(),
            second_ns: longest_ns.div_ceil(MOST_SECONDS * SECOND_NS).max(1) * SECOND_NS,
            send_call: Windowed::new(PART_GRAIN, WINDOWS),
            intervals: Distribution::new(PART_GRAIN),
            cpu_ns: 0,
            contention: Vec::new(),
        }
    }

    /// Messages that were tried, whatever came of it.
    pub fn tried(&self) -> u64 {
        self.accepted + self.refused.values().sum::<u64>()
    }

    /// From the first departure to the last.
    pub fn span_ns(&self) -> u64 {
        self.last_ns - self.first_ns
    }

    /// The last departure, from the start of the trial.
    pub fn end_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.windows.start_ns)
    }

    /// Messages a second between the first departure and the last.
    pub fn per_s(&self) -> f64 {
        self.per_s_of(self.span_ns())
    }

    /// The same from the start of the plan: a sender that begins late and then hurries is no faster than its plan.
    pub fn reached_per_s(&self) -> f64 {
        self.per_s_of(self.end_ns())
    }

    fn per_s_of(&self, ns: u64) -> f64 {
        self.accepted.saturating_sub(1) as f64 * 1e9 / ns.max(1) as f64
    }

    /// A call of the engine took `messages` messages.
    #[inline]
    pub fn call(&mut self, messages: usize, called_ns: u64, done_ns: u64) {
        let count = messages.max(1) as u64;
        let each_ns = (done_ns.wrapping_sub(called_ns) / count) as i64;
        self.send_call.add_many(self.windows.of(called_ns), each_ns, count);
    }

    /// These messages left together; the one after them is due at `next_ns`, if there is one.
    ///
    /// Moments are summed over the batch first: of the fastest engines a message takes
    /// little more than the sums themselves would.
    #[inline]
    pub fn departed(&mut self, batch: &[Header], next_ns: Option<u64>) {
        let Some(first) = batch.first() else { return };
        let (mut lags, mut intervals) = (Moments::default(), Moments::default());
        let second = self.second(first.sent_ns);
        for (i, header) in batch.iter().enumerate() {
            let lag_ns = header.sent_ns.wrapping_sub(header.intended_ns) as i64;
            lags.add(lag_ns);
            self.lag.distribution.histogram.add(lag_ns);
            self.lag_by_second[second].histogram.add(lag_ns);
            let next_ns = batch.get(i + 1).map(|next| next.intended_ns).or(next_ns);
            self.lateness.add(lag_ns, next_ns.map(|next| next.saturating_sub(header.intended_ns)));
            if self.first_ns == 0 {
                self.first_ns = header.sent_ns;
            } else {
                let interval_ns = header.sent_ns.wrapping_sub(self.last_ns) as i64;
                intervals.add(interval_ns);
                self.intervals.histogram.add(interval_ns);
            }
            self.last_ns = header.sent_ns;
        }
        self.lag.add_moments(self.windows.of(first.sent_ns), &lags);
        self.lag_by_second[second].moments.merge(&lags);
        self.intervals.moments.merge(&intervals);
    }

    /// A message left so late, whatever left before and after it.
    pub fn lagged(&mut self, header: &Header) {
        let lag_ns = header.sent_ns.wrapping_sub(header.intended_ns) as i64;
        self.lag.add(self.windows.of(header.sent_ns), lag_ns);
        let second = self.second(header.sent_ns);
        self.lag_by_second[second].add(lag_ns);
    }

    /// The window of [`Sent::lag_by_second`] of a time.
    fn second(&mut self, sent_ns: u64) -> usize {
        let second = (sent_ns.saturating_sub(self.windows.start_ns) / self.second_ns) as usize;
        // A sender that runs far behind its plan is cut off by its deadline.
        let second = second.min(2 * MOST_SECONDS as usize);
        if second >= self.lag_by_second.len() {
            self.lag_by_second.resize_with(second + 1, || Distribution::new(SECOND_GRAIN));
        }
        second
    }

    pub fn merged(senders: impl IntoIterator<Item = Self>, windows: Windows) -> Self {
        let mut senders = senders.into_iter();
        let mut all = senders.next().unwrap_or_else(|| Self::new(windows, 1, 1, None));
        senders.for_each(|sent| all.merge(&sent));
        all
    }

    /// Adds what another sender of the same trial did.
    pub fn merge(&mut self, other: &Self) {
        self.accepted += other.accepted;
        other.refused.iter().for_each(|(&errno, n)| *self.refused.entry(errno).or_default() += n);
        self.unsent += other.unsent;
        if other.first_ns != 0 {
            self.first_ns =
                if self.first_ns == 0 { other.first_ns } else { self.first_ns.min(other.first_ns) };
            self.last_ns = self.last_ns.max(other.last_ns);
        }
        self.start_waited_ns = self.start_waited_ns.max(other.start_waited_ns);
        self.lag.merge(&other.lag);
        self.lateness.merge(&other.lateness);
        let more = other.lag_by_second.len().max(self.lag_by_second.len());
        self.lag_by_second.resize_with(more, || Distribution::new(SECOND_GRAIN));
        self.lag_by_second.iter_mut().zip(&other.lag_by_second).for_each(|(a, b)| a.merge(b));
        self.send_call.merge(&other.send_call);
        self.intervals.merge(&other.intervals);
        self.cpu_ns += other.cpu_ns;
        self.contention.extend_from_slice(&other.contention);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_that_hurries_after_a_late_start_is_no_faster() {
        let windows = Windows { start_ns: 1000, shift: 20 };
        let mut sent = Sent::new(windows, 1, 1, None);
        (sent.accepted, sent.first_ns, sent.last_ns) = (101, 60_001_000, 100_001_000);
        assert_eq!((sent.reached_per_s(), sent.per_s()), (1000.0, 2500.0));
    }
}
