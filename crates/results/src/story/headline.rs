//! The verdict and the answer in one sentence.

use crate::page::{Cell, Page, Style};
use netfathom_model::record::{Record, State};
use netfathom_model::verdict::{Level, Verdict};

use crate::story::{Body, answer, place, story};

/// Draws the head of a page: the answer in one sentence, and what changes how to read it.
pub(super) fn draw(page: &mut Page, record: &Record, body: &Body<'_>) {
    let level = record.verdict.level;
    let label = story(&record.measurement).partial().unwrap_or_else(|| level.name().into());
    page.labelled(style(level), &label, &answer(&record.measurement, level));
    if let Some(text) = unfinished(record.state, &body.done) {
        page.bullet(&format!("NOT WHOLE: {text}"));
    }
    let reasons = record.verdict.shown();
    let (deciding, others): (Vec<_>, Vec<_>) = reasons.partition(|r| r.level >= level);
    let mut reasons = deciding.into_iter().chain(others).map(|r| format!("{}{}", r.label(level), r.text));
    // The short view has room for three: one reason, what the answer is of, and what to do.
    let mut entries: Vec<String> = reasons.next().into_iter().chain(body.remarks.iter().cloned()).collect();
    let third = entries.len().min(2);
    entries.splice(third..third, remedy(record, body));
    entries.into_iter().chain(reasons).for_each(|entry| page.bullet(&entry));
    page.rest();
    let version = record.tool.strip_prefix("netfathom ").unwrap_or(&record.tool);
    let name = record.measurement.name();
    page.note(&format!("netfathom {version} {name}, {}, {}", place::of(record), record.id));
}

/// What to do about the first finding, if no remark has it.
fn remedy(record: &Record, body: &Body<'_>) -> Option<String> {
    let finding = record.findings.first()?;
    let is_there = body.remarks.iter().any(|remark| remark.contains(&finding.remedy));
    (!is_there).then(|| format!("{}: {}", finding.seen, finding.remedy))
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
        State::Partial => Some(format!("{there}; the run goes on, or was killed")),
        State::Interrupted => Some(format!("{there}; the run was ended early")),
    }
}
