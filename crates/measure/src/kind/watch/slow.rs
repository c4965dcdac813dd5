//! Single messages that took long: from when on, which are kept, and when they are written.

use std::time::{Duration, Instant};

use netfathom_bpf::watch::{Watch, WatchError};
use netfathom_model::path::Direction;
use netfathom_model::plan::{SlowBound, WatchPlan};
use netfathom_model::record::WatchSlow;
use netfathom_stats::Distribution;
use netfathom_sys::clock::monotonic_ns;

/// The record of a run that goes on is written that seldom.
const APART: Duration = Duration::from_secs(10);

pub(super) fn empty(plan: &WatchPlan) -> Option<WatchSlow> {
    plan.slow.map(|_| WatchSlow { began_ns: monotonic_ns(), ..WatchSlow::default() })
}

/// Sets from when on messages are slow. Of a quantile it changes with the messages that come; to be called every second
/// or so.
pub(super) fn set(watch: &Watch, plan: &WatchPlan, slow: &mut WatchSlow) -> Result<(), WatchError> {
    if let Some(SlowBound::Time(ns)) = plan.slow {
        watch.set_slow_application(ns);
    }
    for &direction in &plan.directions {
        let bound_ns = match plan.slow {
            Some(SlowBound::Time(ns)) => Some(ns),
            Some(SlowBound::Quantile(q)) => {
                let total = match direction {
                    Direction::Rx => watch.total()?,
                    Direction::Tx => watch.send_total()?,
                };
                quantile(&total, q)
            }
            None => None,
        };
        let Some(bound_ns) = bound_ns else { continue };
        watch.set_slow(direction, bound_ns);
        match direction {
            Direction::Rx => slow.received_bound_ns = Some(bound_ns),
            Direction::Tx => slow.sent_bound_ns = Some(bound_ns),
        }
    }
    Ok(())
}

fn quantile(times: &Distribution, q: f64) -> Option<u64> {
    let is_known = times.moments.n >= SlowBound::Quantile(q).known_after();
    times.quantile(q).filter(|_| is_known).and_then(|ns| u64::try_from(ns).ok())
}

/// Takes those that ended since the last call.
pub(super) fn take(watch: &Watch, slow: &mut WatchSlow) -> Result<(), WatchError> {
    slow.extend(watch.slow()?);
    slow.applications_lost = watch.slow_applications_lost();
    slow.lost = watch.slow_lost();
    Ok(())
}

/// Whether there were as many as were asked for.
pub(super) fn is_enough(plan: &WatchPlan, slow: Option<&WatchSlow>) -> bool {
    plan.stop_after.zip(slow).is_some_and(|(most, slow)| slow.seen() >= most)
}

/// When the record of a run that goes on was written, and how many it had then: one that is killed leaves it.
#[derive(Default)]
pub(super) struct Written {
    kept: u64,
    last: Option<Instant>,
}

impl Written {
    /// Whether it is to be written now, and so it is: there are others.
    pub fn is_due(&mut self, slow: Option<&WatchSlow>, now: Instant) -> bool {
        let kept = slow.map_or(0, |slow| slow.kept);
        let is_due = kept > self.kept && self.last.is_none_or(|last| now.duration_since(last) >= APART);
        if is_due {
            (self.kept, self.last) = (kept, Some(now));
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_written_for_others_alone_and_not_at_each_of_them() {
        let (mut written, now) = (Written::default(), Instant::now());
        let slow = |kept: u64| WatchSlow { kept, ..WatchSlow::default() };
        let mut is_due = |kept: u64, after: Duration| written.is_due(Some(&slow(kept)), now + after);
        assert!(!is_due(0, Duration::ZERO) && is_due(1, Duration::ZERO));
        assert!(!is_due(2, APART / 2) && is_due(2, APART) && !is_due(2, APART * 3));
        assert!(!written.is_due(None, now + APART * 4));
    }

    #[test]
    fn a_quantile_is_known_once_there_are_messages_beyond_it() {
        let mut times = Distribution::new(5);
        let mut add = |n: u64| (0..n).for_each(|ns| times.add(ns as i64 * 1000));
        add(999);
        assert_eq!(quantile(&times, 0.5), None);
        (0..1001).for_each(|ns| times.add(ns * 1000));
        let median = quantile(&times, 0.5).unwrap();
        assert!(median.abs_diff(500_000) < 20_000, "{median}");
        assert_eq!(quantile(&times, 0.999), None);
    }
}
