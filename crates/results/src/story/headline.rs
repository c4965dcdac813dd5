//! The verdict and the answer in one sentence.

use crate::page::{Cell, Page, Style};
use netfathom_model::record::{Record, State};
use netfathom_model::verdict::{Finding, Level, Part, Verdict};

use crate::story::{Body, answer, place, story};

/// Draws the head of a page: the answer in one sentence, and what changes how to read it.
pub(super) fn draw(page: &mut Page, record: &Record, body: &Body<'_>) {
    let level = record.verdict.level;
    let label = story(&record.measurement).partial().unwrap_or_else(|| level.name().into());
    page.labelled(style(level), &label, &answer(&record.measurement, &record.verdict));
    if let Some(text) = unfinished(record.state, &body.done) {
        page.bullet(&format!("NOT WHOLE: {text}"));
    }
    let reasons = record.verdict.shown();
    let (mut deciding, others): (Vec<_>, Vec<_>) = reasons.partition(|r| r.level == level);
    // What is wrong with the answer itself comes before what is wrong with its load.
    let is_of_load = |part: &Part| matches!(part, Part::Load | Part::Loss | Part::Lateness);
    deciding.sort_by_key(|reason| reason.about.iter().any(is_of_load) || !reason.is_of_answer());
    let has_reason = !deciding.is_empty();
    let mut reasons = deciding.into_iter().chain(others).map(|r| format!("{}{}", r.label(level), r.text));
    // What is not part of the answer does not change how to read it.
    reasons.by_ref().take(has_reason.into()).for_each(|reason| page.bullet(&reason));
    remarks(record, body).iter().for_each(|remark| page.bullet(remark));
    reasons.for_each(|reason| page.bullet(&reason));
    page.rest();
    let version = record.tool.strip_prefix("netfathom ").unwrap_or(&record.tool);
    let name = record.measurement.name();
    page.note(&format!("netfathom {version} {name}, {}, {}", place::site_name(record), record.id));
}

/// Findings that come first, then the remarks, with what to do about the first other finding among them. The short view
/// has room for three entries: a reason, a remark on the answer, and this.
pub(crate) fn remarks(record: &Record, body: &Body<'_>) -> Vec<String> {
    let mut remarks = body.remarks.clone();
    let is_new = |remedy: &str| !remarks.iter().any(|remark| remark.contains(remedy));
    let story = story(&record.measurement);
    let (urgent, others): (Vec<_>, Vec<_>) = record.findings.iter().partition(|of| story.comes_first(of));
    let finding = others.first().copied().filter(|finding| is_new(&finding.remedy));
    let has_reason = record.verdict.reasons.iter().any(|reason| reason.level == record.verdict.level);
    let most = story.before_remedy().min(2 - usize::from(has_reason));
    let place = remarks.len().min(most);
    let shown = |finding: &Finding| format!("{}: {}", finding.seen, finding.remedy);
    remarks.splice(place..place, finding.map(shown));
    remarks.splice(0..0, urgent.into_iter().map(shown));
    remarks
}

/// The level of a verdict in a table, with its reasons.
pub(super) fn mark(verdict: &Verdict) -> Cell {
    let reasons: Vec<&str> = verdict.reasons.iter().map(|r| r.text.as_str()).collect();
    Cell::Marked { text: verdict.level.name().into(), style: style(verdict.level), why: reasons.join("\n") }
}

pub(super) fn style(level: Level) -> Style {
    match level {
        Level::Valid => Style::Good,
        Level::Degraded => Style::Warning,
        Level::Void => Style::Bad,
    }
}

/// What is missing of a record that is not whole.
fn unfinished(state: State, there: &str) -> Option<String> {
    match state {
        State::Complete => None,
        State::Partial => Some(format!("{there}; the record is partial")),
        State::Interrupted => Some(format!("{there}; the run was ended early")),
    }
}
