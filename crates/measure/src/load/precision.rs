//! What an interval that is wider than asked makes of the verdict of a run that goes on until its intervals are narrow.

use netfathom_model::plan::Until;
use netfathom_model::print::percent;
use netfathom_model::record::{Precision, Value, Width};
use netfathom_model::units::format_duration;
use netfathom_model::verdict::Level;

/// With fewer trials of a fixed number, Student's interval is wide because they are few.
pub const ENOUGH_TRIALS: u32 = 5;

/// `None` of one that is hardly wider than asked, or unknown. The advice is more time; or, where that would be more than ten
/// minutes, what frees the CPUs.
pub fn judged(
    precision: &Precision,
    width: &Width,
    until: Until,
    free: impl FnOnce() -> Option<String>,
) -> Option<(Level, String)> {
    let (level, half) = (width.level(until.precision), width.half?);
    if level == Level::Valid {
        return None;
    }
    let longer = precision.time_limit_ns(width, until).filter(|&ns| ns > until.time_limit_ns);
    let remedy = longer.map(|ns| format!("run longer: --time-limit {}", format_duration(ns))).or_else(free);
    if level == Level::Void {
        return Some((level, no_value(width.of, half, remedy)));
    }
    let (of, written, asked) = (width.of.name(), percent(half), percent(until.precision));
    let remedy = remedy.unwrap_or_else(free_cpus);
    Some((level, format!("the {of} is known to ± {written} only (target ± {asked}): {remedy}")))
}

/// Why a value with an interval that includes 0 is none.
pub fn no_value(of: Value, half: f64, remedy: Option<String>) -> String {
    let (of, written, remedy) = (of.name(), percent(half), remedy.unwrap_or_else(free_cpus));
    format!("the interval of the {of}, ± {written}, includes 0: {remedy}")
}

pub fn free_cpus() -> String {
    "free the CPUs (--cpu)".into()
}
