//! The verdict and the answer in one sentence.

use netfathom_model::record::{Record, StackResult, State, TrialKind};
use netfathom_model::verdict::Level;

use super::number;
use super::page::{Page, Style};

pub(super) fn draw(page: &mut Page, record: &Record, result: &StackResult) {
    page.labelled(
        Style::Strong,
        &format!("netfathom {}", record.measurement.name()),
        &format!("{}  {}", record.id, record.tool),
    );
    page.blank();
    let style = match record.verdict.level {
        Level::Valid => Style::Good,
        Level::Degraded => Style::Warning,
        Level::Void => Style::Bad,
    };
    page.labelled(style, record.verdict.level.name(), &answer(result));
    for reason in &record.verdict.reasons {
        page.bullet(&format!("{}: {}", reason.level.name(), reason.text));
    }
    if let Some(text) = unfinished(record.state, result) {
        page.labelled(Style::Warning, "NOT WHOLE", &text);
    }
}

/// Such as `tx 1.21 µs ± 0.04, rx 8.4 µs ± 0.3 per message over 10 trials, lab, …`.
fn answer(result: &StackResult) -> String {
    let plan = &result.plan;
    let how =
        format!("{}, {}, {} B, {} tap", plan.place.name(), plan.profile, plan.size_bytes, result.tap.name());
    let Some(first) = result.summaries.first() else {
        return format!("no measured trial is finished, so there is no answer yet; {how}");
    };
    let times: Vec<String> = result
        .summaries
        .iter()
        .map(|s| {
            let time = match s.total.n {
                0 => "n/a".into(),
                _ => number::interval(s.overall.mean_ns, s.overall.between_trials_ns),
            };
            format!("{} {time}", s.direction.name())
        })
        .collect();
    let trials = first.overall.trials;
    let over = if trials == 1 {
        "in 1 trial, so without an interval".into()
    } else {
        format!("over {trials} trials")
    };
    format!("{} per message {over}, {how}", times.join(", "))
}

/// What is missing of a record that is not whole.
fn unfinished(state: State, result: &StackResult) -> Option<String> {
    let done = super::of_kind(result, TrialKind::Measured).count();
    let there = format!("{done} of {} measured trials are there", result.plan.trials);
    match state {
        State::Complete => None,
        State::Partial => Some(format!(
            "{there}; the record was written while trials were still to come, so the run goes on or was killed"
        )),
        State::Interrupted => Some(format!("{there}; the run was ended early and kept what was finished")),
    }
}
