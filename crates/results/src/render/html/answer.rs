//! What a reader needs first, in words.

use netfathom_model::path::Direction;
use netfathom_model::plan::Family;
use netfathom_model::record::{PathSummary, Record, StackResult, StageSummary, State, TrialKind};
use netfathom_model::units::format_duration;
use netfathom_model::verdict::Level;

/// What a verdict means for the reader.
pub fn trust(level: Level) -> &'static str {
    match level {
        Level::Valid => "These figures stand as they are.",
        Level::Degraded => "Read these figures with the reasons in mind.",
        Level::Void => "Do not use these figures.",
    }
}

/// The answer of the measurement in one sentence.
pub fn sentence(stack: &StackResult) -> String {
    let parts: Vec<String> = stack.summaries.iter().filter(|s| s.total.n > 0).map(one_way).collect();
    if parts.is_empty() {
        return "No trial was finished, so there is no answer yet.".into();
    }
    format!("A message spends {}.", parts.join(", and "))
}

fn one_way(summary: &PathSummary) -> String {
    let (way, ends) = match summary.direction {
        Direction::Tx => ("out", "from application to link layer"),
        Direction::Rx => ("in", "from link layer to application"),
    };
    let interval =
        summary.overall.between_trials_ns.map_or(String::new(), |half| format!(" ±\u{a0}{}", time(half)));
    let largest = summary.stages.iter().filter(|s| s.inside).max_by(|a, b| share(a).total_cmp(&share(b)));
    let most = largest.filter(|s| share(s) > 0.0).map_or(String::new(), |s| {
        format!(", {:.0}\u{a0}% of it in the stage {}", share(s) * 100.0, s.stage.name())
    });
    format!("{}{interval} on its way {way} ({ends}{most})", time(summary.overall.mean_ns))
}

fn share(stage: &StageSummary) -> f64 {
    stage.share.unwrap_or(0.0)
}

/// What is missing of a record that is not whole.
pub fn state(state: State, stack: &StackResult) -> Option<String> {
    let done = stack.trials.iter().filter(|t| t.kind == TrialKind::Measured).count();
    let what = match state {
        State::Complete => return None,
        State::Partial => "Partial: this was written while trials were still to come.",
        State::Interrupted => "Interrupted: the user ended it early; the finished trials are kept.",
    };
    Some(format!("{what} {done} of {} trials with the tap are here.", stack.plan.trials))
}

/// Under which circumstances the answer holds, as short phrases.
pub fn circumstances(record: &Record, stack: &StackResult) -> Vec<String> {
    let plan = &stack.plan;
    let family = match plan.family {
        Family::Ipv4 => "IPv4",
        Family::Ipv6 => "IPv6",
    };
    vec![
        plan.place.name().to_owned(),
        plan.profile.to_string(),
        format!("{} trials of {}", plan.trials, format_duration(plan.profile.duration_ns())),
        format!("{} bytes over UDP, {family}", plan.size_bytes),
        format!("tap {}", stack.tap.name()),
        record.started_utc.clone(),
    ]
}

/// Microseconds, unless it is below one.
pub fn time(ns: f64) -> String {
    let us = ns / 1e3;
    match us.abs() {
        a if a < 1.0 && ns.abs() < 10.0 => format!("{ns:.2}\u{a0}ns"),
        a if a < 1.0 => format!("{ns:.0}\u{a0}ns"),
        a if a < 10.0 => format!("{us:.2}\u{a0}µs"),
        a if a < 100.0 => format!("{us:.1}\u{a0}µs"),
        _ => format!("{us:.0}\u{a0}µs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_microseconds_unless_below_one() {
        assert_eq!(time(1184.79), "1.18\u{a0}µs");
        assert_eq!(time(39.6), "40\u{a0}ns");
        assert_eq!(time(-0.25), "-0.25\u{a0}ns");
        assert_eq!(time(123_456.0), "123\u{a0}µs");
    }
}
