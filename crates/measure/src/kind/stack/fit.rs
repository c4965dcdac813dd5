//! The rates of a ramp that this machine sends on schedule now.

use std::sync::Arc;

use netfathom_model::path::Tap;
use netfathom_model::print;
use netfathom_model::profile::Profile;
use netfathom_model::record::{LeftOut, StackResult};

use super::bench::Bench;
use super::trial::StackOutcome;
use crate::ground::observer::{Live, Observer, Step};
use crate::tap::Collected;
use crate::tap::error::TapError;

/// Peaks to try below that of the plan. Few and far apart, so that runs on one machine have the same load: their times
/// depend on it.
const PEAKS_PER_S: [f64; 2] = [20e3, 100e3];
/// The peak where none of them is sent on schedule: a busy machine delays messages at any rate.
const LEAST_PER_S: f64 = 5e3;
const TRY_NS: u64 = 150_000_000;
/// With fewer, as beside a program that has half of a CPU, chance would decide whether the verdict is of them.
const MOST_UNDISTURBED: f64 = 0.7;
/// Most of these tries decide on a peak.
const TRIES: usize = 3;
/// What the p99 lag may be, in slots: half of what the verdict allows, for a trial lasts longer.
const IN_TIME: f64 = 0.05;

/// The ramp with the highest peak that the sender keeps to with this tap, and what is left out by that; `None` where the
/// plan may stay.
pub fn fit(
    bench: &Bench<'_>,
    tap: Tap,
    observer: &mut impl Observer<StackResult>,
) -> Result<Option<(Profile, LeftOut)>, TapError> {
    let Profile::Ramp { from_per_s, to_per_s, duration_ns } = bench.plan.profile else { return Ok(None) };
    let peaks: Vec<f64> = PEAKS_PER_S.into_iter().filter(|peak| *peak < to_per_s).chain([to_per_s]).collect();
    let (mut kept, mut late) = (0, peaks.len());
    while kept < late {
        let at = usize::midpoint(kept, late);
        let name = format!("finding rates that are sent on schedule: {}", print::rate(peaks[at]));
        observer.begins(Step { name, number: 0, of: 0 }, &Arc::new(Live::default()));
        if is_on_schedule(bench, tap, peaks[at])? {
            kept = at + 1;
        } else {
            late = at;
        }
    }
    let kept = kept.checked_sub(1).map_or(LEAST_PER_S, |at| peaks[at]);
    if kept >= to_per_s {
        return Ok(None);
    }
    let left_out = LeftOut {
        what: format!("rates from {} to {}", print::rate(kept), print::rate(to_per_s)),
        reason: "this machine did not send them on schedule when the run began".into(),
        remedy: format!("--profile {} takes them all the same", bench.plan.profile),
    };
    Ok(Some((Profile::Ramp { from_per_s, to_per_s: kept, duration_ns }, left_out)))
}

fn is_on_schedule(bench: &Bench<'_>, tap: Tap, rate_per_s: f64) -> Result<bool, TapError> {
    let profile = Profile::Constant { rate_per_s, duration_ns: TRY_NS };
    let mut of = [0; 2];
    while of[0].max(of[1]) <= TRIES / 2 {
        of[usize::from(lag(&bench.attempt(tap, &profile)?) <= IN_TIME)] += 1;
    }
    Ok(of[1] > of[0])
}

/// The p99 lag: of each direction that of its undisturbed messages, if they are by far the most, else of all.
fn lag(outcome: &StackOutcome) -> f64 {
    let all = || outcome.sent.lateness.p99_of_slot();
    let of_way = |(_, of): &(_, Collected)| {
        let undisturbed = of.undisturbed.as_ref().filter(|of| of.share() >= MOST_UNDISTURBED);
        undisturbed.map_or_else(all, |of| of.lateness.p99_of_slot())
    };
    outcome.tapped.paths.iter().map(of_way).reduce(f64::max).unwrap_or_else(all)
}
