//! Why the run ended, and how narrow its intervals are.

use netfathom_model::print::percent;
use netfathom_model::record::{Ended, StackResult, TrialKind, Width};
use netfathom_model::units::format_duration;

use super::of_kind;
use crate::story::{counted, number};

/// Such as `Ended after 9 trials, 21 s: every mean and p99 is known to ± 5 % (rx p99: ± 4.6 %)`.
pub(super) fn remark(result: &StackResult) -> Option<String> {
    let (until, precision) = (result.plan.until?, result.precision.as_ref()?);
    let asked = percent(until.precision);
    let trials = counted(of_kind(result, TrialKind::Measured).count() as u32, "trial");
    let (after, limit) = (number::seconds(precision.after_ns), format_duration(until.time_limit_ns));
    let wide: Vec<_> =
        precision.widths.iter().filter(|width| !width.is_within(until.precision)).map(written).collect();
    Some(match precision.ended? {
        Ended::TimeLimit if !wide.is_empty() => {
            format!("hit the time limit ({limit}) after {trials}: {}, target ± {asked}", wide.join(", "))
        }
        _ => {
            let widest = precision.widest().map(|width| format!(" ({})", written(width)));
            let widest = widest.unwrap_or_default();
            format!("ended after {trials} and {after}: each mean and p99 is known to ± {asked}{widest}")
        }
    })
}

fn written(width: &Width) -> String {
    let half = width.half.map_or_else(|| "unknown".into(), |half| format!("± {}", percent(half)));
    format!("{} {half}", width.name())
}
