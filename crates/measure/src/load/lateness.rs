//! How late messages left, held against their send slots.

use netfathom_stats::Histogram;
use serde::{Deserialize, Serialize};

use super::window::GRAIN;

/// Lag is compared with a slot in thousandths.
const PER_SLOT: f64 = 1000.0;
/// No slot of a batching engine is longer, unless the interval is: a slow load is no excuse for
/// sending together what was wanted one by one.
const LONGEST_NS: i64 = 250_000;

/// What a lag is held against: the time of a full batch at some interval of the whole plan,
/// however many senders share it. Most intervals are
/// like those before them, and a division takes a fifth of the time of all the sums here.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct SendSlot {
    interval_ns: i64,
    ns: i64,
    per_ns: f64,
}

impl SendSlot {
    fn new(interval_ns: i64, batch: f64) -> Self {
        let full_ns = (interval_ns as f64 * batch) as i64;
        let one_ns = (interval_ns as f64 * batch.min(1.0)) as i64;
        let ns = full_ns.min(LONGEST_NS.max(one_ns)).max(1);
        Self { interval_ns, ns, per_ns: PER_SLOT / ns as f64 }
    }
}

/// Lags, each in the slot of its message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lateness {
    /// Messages of a slot: those that leave together.
    batch: f64,
    /// Where the plan leaves the intervals to chance: their mean.
    mean_interval_ns: Option<i64>,
    slot: SendSlot,
    /// In thousandths of a slot.
    of_slot: Histogram,
    /// Messages that left after the next slot was due.
    pub missed_slots: u64,
}

impl Lateness {
    pub fn new(batch: f64, mean_interval_ns: Option<i64>) -> Self {
        let (slot, of_slot) = (SendSlot::new(1, batch), Histogram::new(GRAIN));
        Self { batch, mean_interval_ns, slot, of_slot, missed_slots: 0 }
    }

    /// A message left so late, and the next one was due so long after it.
    #[inline]
    pub fn add(&mut self, lag_ns: i64, interval_ns: Option<u64>) {
        // The last message has none after it: it cannot miss a slot.
        let next_ns = interval_ns.map_or(i64::MAX, |ns| ns as i64).max(1);
        let interval_ns = self.mean_interval_ns.unwrap_or(next_ns);
        if interval_ns != self.slot.interval_ns {
            self.slot = SendSlot::new(interval_ns, self.batch);
        }
        self.of_slot.add((lag_ns as f64 * self.slot.per_ns) as i64);
        self.missed_slots += u64::from(lag_ns > self.slot.ns);
    }

    /// 99th percentile of the lag, in what a batch takes at the wanted rate.
    pub fn p99_of_slot(&self) -> f64 {
        self.of_slot.quantile(0.99).unwrap_or(0) as f64 / PER_SLOT
    }

    pub fn merge(&mut self, other: &Self) {
        self.of_slot.merge(&other.of_slot);
        self.missed_slots += other.missed_slots;
    }
}
