//! Why the run ended, and how narrow its intervals are.

use netfathom_model::path::Direction;
use netfathom_model::print::percent;
use netfathom_model::record::StackResult;
use netfathom_model::verdict::Level;

use crate::story::precision::{self, written};

pub(super) fn remark(result: &StackResult) -> Option<String> {
    let is_of_undisturbed = result.summaries.iter().any(|summary| summary.stands_for_all().is_some());
    let of = if is_of_undisturbed { "undisturbed means and p99" } else { "means and p99" };
    precision::remark(result.plan.until, result.precision.as_ref(), of)
}

/// The figures of a way that are known less well than asked, such as `rx p99 ± 60 % is DEGRADED (target ± 5 %)`.
pub(super) fn doubts(result: &StackResult, direction: Direction) -> Option<String> {
    let (until, precision) = (result.plan.until?, result.precision.as_ref()?);
    let of_way = precision.widths.iter().filter(|width| width.direction == Some(direction));
    let levels = of_way.map(|width| (width, width.level(until.precision)));
    let doubts = levels.filter(|(_, level)| *level > Level::Valid);
    let doubts = doubts.map(|(width, level)| format!("{} is {}", written(width), level.name()));
    let doubts = doubts.collect::<Vec<_>>().join("; ");
    (!doubts.is_empty()).then(|| format!("{doubts} (target ± {})", percent(until.precision)))
}
