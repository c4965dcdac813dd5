//! Why the run ended, and how narrow its intervals are.

use netfathom_model::print::percent;
use netfathom_model::record::{Ended, StackResult, Width};
use netfathom_model::units::format_duration;

use crate::story::number;

/// Such as `ended after 21 s: 95 % intervals of means and p99 are within ± 5 %`.
pub(super) fn remark(result: &StackResult) -> Option<String> {
    let (until, precision) = (result.plan.until?, result.precision.as_ref()?);
    let (asked, limit) = (percent(until.precision), format_duration(until.time_limit_ns));
    let widest = precision.widest().filter(|widest| !widest.is_within(until.precision));
    Some(match (precision.ended?, widest) {
        (Ended::TimeLimit, Some(widest)) => {
            format!("ended by the time limit ({limit}) with {}, target ± {asked}", written(widest))
        }
        _ => format!(
            "ended after {}: 95 % intervals of {}means and p99 are within ± {asked}",
            number::seconds(precision.after_ns),
            if of_undisturbed(result) { "undisturbed " } else { "" }
        ),
    })
}

fn of_undisturbed(result: &StackResult) -> bool {
    result.summaries.iter().any(|summary| summary.stands_for_all().is_some())
}

fn written(width: &Width) -> String {
    let half = width.half.map_or_else(|| "unknown".into(), |half| format!("± {}", percent(half)));
    format!("{} {half}", width.name())
}
