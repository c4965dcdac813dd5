//! Runs that go on until their intervals are narrow: what was asked for, why one ended, and how narrow they are.

use netfathom_model::plan::Until;
use netfathom_model::print::percent;
use netfathom_model::record::{Ended, Precision, Width};
use netfathom_model::units::format_duration;

use super::{Words, number};

/// Such as `ended after 21 s: 95 % intervals of means and p99 are within ± 5 %`.
pub(super) fn remark(until: Option<Until>, precision: Option<&Precision>, of: &str) -> Option<String> {
    let (until, precision) = (until?, precision?);
    let (asked, limit) = (percent(until.precision), format_duration(until.time_limit_ns));
    let widest = precision.widest().filter(|widest| !widest.is_within(until.precision));
    Some(match (precision.ended?, widest) {
        (Ended::TimeLimit, Some(widest)) => {
            format!("ended by the time limit ({limit}) with {}, target ± {asked}", written(widest))
        }
        _ => format!(
            "ended after {}: 95 % intervals of {of} are within ± {asked}",
            number::seconds(precision.after_ns)
        ),
    })
}

/// Such as `rx p99 ± 4.6 %`.
pub(super) fn written(width: &Width) -> String {
    let half = width.half.map_or_else(|| "unknown".into(), |half| format!("± {}", percent(half)));
    format!("{} {half}", width.name())
}

/// A number of trials; with `until` the fewest.
pub(super) fn trials(trials: u32, until: Option<Until>) -> String {
    format!("{}{trials}", if until.is_some() { "at least " } else { "" })
}

/// What ends a run, for the words of its plan.
pub(super) fn words(until: Option<Until>) -> Words {
    let ends = |until: Until| {
        let limit = format_duration(until.time_limit_ns);
        ("ends with intervals of", format!("± {}, or after {limit}", percent(until.precision)))
    };
    until.map(ends).into_iter().collect()
}
