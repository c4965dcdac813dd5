//! Why the run ended, and how narrow its intervals are.

use netfathom_model::print::percent;
use netfathom_model::record::{Ended, Precision, StackResult, TrialKind, Width};
use netfathom_model::units::format_duration;

use super::of_kind;
use crate::story::{counted, number};

/// Such as `Ended after 9 trials, 21 s: every mean and p99 is known to ± 5 % (rx p99: ± 4.6 %)`.
pub(super) fn remark(result: &StackResult) -> Option<String> {
    let (until, precision) = (result.plan.until?, result.precision.as_ref()?);
    let asked = percent(until.precision);
    let trials = counted(of_kind(result, TrialKind::Measured).count() as u32, "trial");
    let (after, limit) = (number::seconds(precision.after_ns), format_duration(until.time_limit_ns));
    let text = match precision.ended {
        Some(Ended::Narrow) => {
            let widest = precision.widest().map(|width| format!(" ({})", written(width)));
            let widest = widest.unwrap_or_default();
            format!("ended after {trials} and {after}: each mean and p99 is known to ± {asked}{widest}")
        }
        Some(Ended::TimeLimit) => {
            format!(
                "hit the time limit ({limit}) after {trials}: {}, target ± {asked}",
                wide(precision, until.precision)
            )
        }
        None => return None,
    };
    Some(text)
}

/// Those that are wider than asked.
fn wide(precision: &Precision, asked: f64) -> String {
    let wide: Vec<_> = precision.widths.iter().filter(|width| !width.is_within(asked)).map(written).collect();
    if wide.is_empty() { "too few trials".into() } else { wide.join(", ") }
}

fn written(width: &Width) -> String {
    let half = width.half.map_or_else(|| "unknown".into(), |half| format!("± {}", percent(half)));
    format!("{} {half}", width.name())
}
