//! What a transfer costs the processors of this host: this process with all its threads, and the
//! soft interrupts of the network that others are charged with.
//!
//! Counting begins with the first stream, so that the wait for it is not within, and ends when
//! the last has ended, acknowledgments and closing included.

use netfathom_bpf::softirq::{Softirq, SoftirqError, SoftirqTimes, accounting_splits_softirq};
use netfathom_model::plan::TransferPlan;
use netfathom_model::record::{TransferCost, TransferResult};
use netfathom_sys::cpu::{Spent, spent_by_process};
use parking_lot::Mutex;

/// Counts for a transfer that asked for it, or for none.
#[derive(Default)]
pub(super) struct Cost(Mutex<Option<Counting>>);

/// From a beginning on, or why not.
struct Counting {
    softirq: Result<Softirq, SoftirqError>,
    /// Whether the time of a thread does not hold that of soft interrupts on top of it.
    apart: bool,
    since: SoftirqTimes,
    spent: Spent,
}

impl Cost {
    /// Makes ready, which takes some time, where the plan asks for it.
    pub fn prepare(&self, plan: &TransferPlan) {
        let counting = plan.cost.then(|| {
            let softirq = Softirq::attach(std::process::id());
            let apart = softirq.is_ok() && accounting_splits_softirq() == Some(true);
            Counting { softirq, apart, since: SoftirqTimes::default(), spent: spent_by_process() }
        });
        *self.0.lock() = counting;
    }

    /// The transfer begins now, or anew.
    pub fn begin(&self) {
        let mut counting = self.0.lock();
        let Some(counting) = counting.as_mut() else { return };
        counting.spent = spent_by_process();
        if let Some(now) = counting.softirq.as_ref().ok().and_then(|softirq| softirq.read().ok()) {
            counting.since = now;
        }
    }

    /// It has ended: what it cost, if that was asked for.
    pub fn end(&self, result: &TransferResult) -> Option<TransferCost> {
        let counting = self.0.lock().take()?;
        let spent = spent_by_process().since(&counting.spent);
        let times = counting.softirq.and_then(|softirq| softirq.read());
        Some(cost(spent, result.bytes(), times.map(|now| now.since(&counting.since)), counting.apart))
    }
}

fn cost(spent: Spent, bytes: u64, softirq: Result<SoftirqTimes, SoftirqError>, apart: bool) -> TransferCost {
    let others_ns = softirq.as_ref().map_or(0, |times| times.others_ns);
    let own_ns = softirq.as_ref().map_or(0, |times| if apart { times.own_ns } else { 0 });
    let process_ns = spent.user_ns + spent.system_ns;
    let all_ns = process_ns + others_ns + own_ns;
    TransferCost {
        process_ns,
        softirq_ns: softirq.as_ref().ok().map(|times| times.others_ns),
        own_softirq_ns: softirq.as_ref().ok().map(|times| times.own_ns),
        ns_per_kib: if bytes == 0 { 0.0 } else { all_ns as f64 * 1024.0 / bytes as f64 },
        left_out: softirq.err().map(|error| {
            format!(
                "softirqs are left out: {error}; run as root (CAP_BPF, CAP_PERFMON), on Linux 5.7 or later with BTF"
            )
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_counted_once_wherever_the_kernel_puts_them() {
        let spent = Spent { user_ns: 100, system_ns: 900 };
        let times = || Ok(SoftirqTimes { own_ns: 300, others_ns: 200, count: 5 });
        let within = cost(spent, 2048, times(), false);
        assert_eq!((within.ns_per_kib, within.own_softirq_ns, within.left_out), (600.0, Some(300), None));
        assert_eq!(cost(spent, 2048, times(), true).ns_per_kib, 750.0);
        assert_eq!(cost(spent, 0, times(), true).ns_per_kib, 0.0);
    }

    #[test]
    fn what_cannot_be_counted_is_reported() {
        let cost = cost(
            Spent { user_ns: 1000, system_ns: 0 },
            1024,
            Err(SoftirqError::Abi { programs: "x", part: "x" }),
            false,
        );
        assert_eq!((cost.ns_per_kib, cost.softirq_ns), (1000.0, None));
        assert!(cost.left_out.unwrap().contains("run as root"));
    }
}
