//! The answer of `netfathom stack`.

use netfathom_model::path::Direction;
use netfathom_model::print::Scale;
use netfathom_model::record::{PathSummary, StackResult, StageSummary, TrialKind};
use netfathom_model::units::format_duration;

use super::{Words, family, percent, place, together};

pub fn words(stack: &StackResult) -> Words {
    let done = stack.trials.iter().filter(|t| t.kind == TrialKind::Measured).count();
    let plan = &stack.plan;
    Words {
        title: "Time in the network stack".into(),
        sentence: sentence(stack),
        there: format!("{done} of {} trials with the tap are here.", plan.trials),
        circumstances: vec![
            place(plan.place),
            plan.profile.to_string(),
            format!("{} trials of {}", plan.trials, format_duration(plan.profile.duration_ns())),
            format!("{} bytes over UDP, {}", plan.size_bytes, family(plan.family)),
            taps(stack),
        ],
    }
}

/// The tap, or all that were compared, the one that measured first.
fn taps(stack: &StackResult) -> String {
    match stack.taps.as_slice() {
        [] | [_] => format!("tap {}", stack.tap.name()),
        taps => format!("taps {}", taps.iter().map(|t| t.tap.name()).collect::<Vec<_>>().join(", ")),
    }
}

/// The answer of the measurement in one sentence.
fn sentence(stack: &StackResult) -> String {
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
    let took = together(&Scale::Time.interval(summary.overall.mean_ns, summary.overall.between_trials_ns));
    let largest = summary.stages.iter().filter(|s| s.inside).max_by(|a, b| share(a).total_cmp(&share(b)));
    let most = largest
        .filter(|s| share(s) > 0.0)
        .map_or(String::new(), |s| format!(", {} of it in the stage {}", percent(share(s)), s.stage.name()));
    format!("{took} on its way {way} ({ends}{most})")
}

fn share(stage: &StageSummary) -> f64 {
    stage.share.unwrap_or(0.0)
}
