//! The ruler measured: what the tap costs, and what another tap says.

use netfathom_model::path::{Direction, Stage, Tap};
use netfathom_model::record::{Agreement, PathTimes, SelfCost, Trial, TrialKind, Witness};
use netfathom_stats::{Estimate, difference, ratio};

/// Two taps agree within the larger of these.
const AGREE_SHARE: f64 = 0.15;
const AGREE_NS: f64 = 300.0;

fn values(trials: &[Trial], kind: TrialKind, value: impl Fn(&Trial) -> Option<f64>) -> Vec<f64> {
    trials.iter().filter(|t| t.kind == kind).filter_map(value).collect()
}

/// Trials with the tap against trials without; `None` where either are less than two.
#[must_use]
pub fn of_tap(trials: &[Trial]) -> Option<SelfCost> {
    let both = |value: fn(&Trial) -> Option<f64>| {
        (values(trials, TrialKind::Measured, value), values(trials, TrialKind::Control, value))
    };
    // Of a sender on another host nobody knows how long its calls took.
    let (tapped, bare) = both(|t| (t.load.send_call.n > 0).then_some(t.load.send_call.mean_ns));
    let send_call_ns = difference(&tapped, &bare)?.into();
    let (tapped, bare) = both(|t| t.reader_cpu_ns_per_message);
    let reader_cpu_ns = difference(&tapped, &bare).map(Into::into);
    let (tapped, bare) = both(|t| t.flat_out_per_s);
    let lost = |r: Estimate| Estimate { value: 1.0 - r.value, half_width: r.half_width };
    Some(SelfCost { send_call_ns, reader_cpu_ns, rate_lost: ratio(&tapped, &bare).map(|r| lost(r).into()) })
}

/// What the witness trials say beside the measured ones.
#[must_use]
pub fn witnesses(trials: &[Trial], directions: &[Direction]) -> Vec<Witness> {
    directions.iter().filter_map(|&d| witness(trials, d)).collect()
}

fn witness(trials: &[Trial], direction: Direction) -> Option<Witness> {
    let means =
        |kind| values(trials, kind, |t| t.paths.iter().find(|p| p.direction == direction).map(comparable_ns));
    let (main, other) = (means(TrialKind::Measured), means(TrialKind::Witness));
    let mean = |v: &[f64]| (!v.is_empty()).then(|| v.iter().sum::<f64>() / v.len() as f64);
    let tap: Tap = trials.iter().find(|t| t.kind == TrialKind::Witness)?.tap?;
    let mean_ns = mean(&other)?;
    let difference_ns = mean(&main)? - mean_ns;
    let half_width_ns = difference(&main, &other).map(|d| d.half_width);
    let agreement = if difference_ns.abs() <= (AGREE_SHARE * mean_ns).max(AGREE_NS) {
        Agreement::Agree
    } else if half_width_ns.is_some_and(|h| difference_ns.abs() <= h) {
        Agreement::CannotTell
    } else {
        Agreement::Disagree
    };
    Some(Witness { direction, tap, mean_ns, difference_ns, half_width_ns, agreement })
}

/// The mean time that the two taps have in common. On the way in SO_TIMESTAMPING stamps
/// before the backlog (net.core.netdev_tstamp_prequeue, on by default), so the backlog is
/// added where the other tap knows it.
fn comparable_ns(path: &PathTimes) -> f64 {
    let backlog = path.stages.iter().find(|s| s.stage == Stage::Backlog).and_then(|s| s.times.distribution());
    path.total.mean_ns + backlog.map_or(0.0, |b| b.mean_ns)
}
