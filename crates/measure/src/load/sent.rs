//! What a sender did: counts, lag, and the time between departures.

use std::collections::BTreeMap;

use netfathom_bpf::stack::WINDOWS;
use netfathom_model::message::Header;
use netfathom_model::record::Contention;
use netfathom_stats::{Distribution, Histogram, Moments, Windowed};

use super::window::Windows;
use super::window::{GRAIN, PART_GRAIN};

/// Lag is compared with a slot in thousandths.
const PER_SLOT: f64 = 1000.0;
/// Coarse: there are many, and each goes into the record.
const SECOND_GRAIN: u32 = 3;
/// No slot of a batching engine is longer, unless the interval is: a slow load is no excuse for
/// sending together what was wanted one by one.
const LONGEST_NS: i64 = 250_000;
/// At most so many histograms of lag over a trial.
const MOST_SECONDS: u64 = 120;
const SECOND_NS: u64 = 1_000_000_000;

/// What a lag is held against: the time of a full batch at some interval of the whole plan,
/// however many senders share it. Most intervals are
/// like those before them, and a division takes a fifth of the time of all the sums here.
#[derive(Clone, Copy, Debug)]
struct Slot {
    interval_ns: i64,
    ns: i64,
    per_ns: f64,
}

impl Slot {
    fn new(interval_ns: i64, batch: f64) -> Self {
        let full_ns = (interval_ns as f64 * batch) as i64;
        let one_ns = (interval_ns as f64 * batch.min(1.0)) as i64;
        let ns = full_ns.min(LONGEST_NS.max(one_ns)).max(1);
        Self { interval_ns, ns, per_ns: PER_SLOT / ns as f64 }
    }
}

#[derive(Clone, Debug)]
pub struct Sent {
    windows: Windows,
    /// Messages of a slot: those that leave together. Those of the other senders lie in between.
    batch: f64,
    /// Where the plan leaves the intervals to chance: their mean.
    mean_interval_ns: Option<i64>,
    slot: Slot,
    pub accepted: u64,
    /// Messages that it refused, by errno.
    pub refused: BTreeMap<i32, u64>,
    /// Messages that were never tried.
    pub unsent: u64,
    /// Messages that left after the next slot of the engine was due.
    pub missed_slots: u64,
    /// The first departure and the last, CLOCK_MONOTONIC; equal before the second.
    pub first_ns: u64,
    /// See `first_ns`.
    pub last_ns: u64,
    /// Actual minus intended departure.
    pub lag: Windowed,
    /// The same in thousandths of the wanted time of a batch at that moment.
    pub lag_of_slot: Histogram,
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
    /// Nothing yet, of one of `lanes` senders whose engine sends up to `batch` messages together.
    pub fn new(windows: Windows, batch: usize, lanes: u32, mean_interval_ns: Option<i64>) -> Self {
        let batch = batch as f64 / f64::from(lanes);
        let longest_ns = windows.length_ns().saturating_mul(WINDOWS as u64);
        Self {
            windows,
            batch,
            mean_interval_ns,
            slot: Slot::new(1, batch),
            accepted: 0,
            refused: BTreeMap::new(),
            unsent: 0,
            missed_slots: 0,
            first_ns: 0,
            last_ns: 0,
            lag: Windowed::new(GRAIN, WINDOWS),
            lag_of_slot: Histogram::new(GRAIN),
            lag_by_second: Vec::new(),
            second_ns: longest_ns.div_ceil(MOST_SECONDS * SECOND_NS).max(1) * SECOND_NS,
            send_call: Windowed::new(PART_GRAIN, WINDOWS),
            intervals: Distribution::new(PART_GRAIN),
            cpu_ns: 0,
            contention: Vec::new(),
        }
    }

    pub fn windows(&self) -> Windows {
        self.windows
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
        self.accepted.saturating_sub(1) as f64 * 1e9 / self.span_ns().max(1) as f64
    }

    /// 99th percentile of the lag, in what a batch takes at the wanted rate.
    pub fn lag_p99_of_slot(&self) -> f64 {
        self.lag_of_slot.quantile(0.99).unwrap_or(0) as f64 / PER_SLOT
    }

    /// A call of the engine took so many messages.
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
            self.hold_against_slot(lag_ns, next_ns.map(|next| next.saturating_sub(header.intended_ns)));
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

    /// Holds a lag against the slot of its message.
    #[inline]
    fn hold_against_slot(&mut self, lag_ns: i64, interval_ns: Option<u64>) {
        // The last message has none after it: it cannot miss a slot.
        let next_ns = interval_ns.map_or(i64::MAX, |ns| ns as i64).max(1);
        let interval_ns = self.mean_interval_ns.unwrap_or(next_ns);
        if interval_ns != self.slot.interval_ns {
            self.slot = Slot::new(interval_ns, self.batch);
        }
        self.lag_of_slot.add((lag_ns as f64 * self.slot.per_ns) as i64);
        self.missed_slots += u64::from(lag_ns > self.slot.ns);
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
        self.missed_slots += other.missed_slots;
        if other.first_ns != 0 {
            self.first_ns =
                if self.first_ns == 0 { other.first_ns } else { self.first_ns.min(other.first_ns) };
            self.last_ns = self.last_ns.max(other.last_ns);
        }
        self.lag.merge(&other.lag);
        self.lag_of_slot.merge(&other.lag_of_slot);
        let more = other.lag_by_second.len().max(self.lag_by_second.len());
        self.lag_by_second.resize_with(more, || Distribution::new(SECOND_GRAIN));
        self.lag_by_second.iter_mut().zip(&other.lag_by_second).for_each(|(a, b)| a.merge(b));
        self.send_call.merge(&other.send_call);
        self.intervals.merge(&other.intervals);
        self.cpu_ns += other.cpu_ns;
        self.contention.extend_from_slice(&other.contention);
    }
}
