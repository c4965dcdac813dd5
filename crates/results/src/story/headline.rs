//! The verdict and the answer in one sentence.

use crate::page::{Cell, Page, Style};
use netfathom_model::record::{Record, State};
use netfathom_model::verdict::{Level, Verdict};

use crate::story::place;

/// Draws the head of a page: `answer` in one sentence, and in `there` how much of the plan is
/// done, such as `2 of 10 trials are there`.
pub(super) fn draw(page: &mut Page, record: &Record, answer: &str, there: &str) {
    let version = record.tool.strip_prefix("netfathom ").unwrap_or(&record.tool);
    page.labelled(
        Style::Strong,
        &format!("netfathom {}", record.measurement.name()),
        &format!("{}  {}  {version}", place::of(record), record.id),
    );
    page.gap();
    page.labelled(style(record.verdict.level), record.verdict.level.name(), answer);
    for reason in &record.verdict.reasons {
        page.bullet(&format!("{}: {}", reason.level.name(), reason.text));
    }
    if let Some(text) = unfinished(record.state, there) {
        page.labelled(Style::Warning, "NOT WHOLE", &text);
    }
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
        State::Partial => Some(format!(
            "{there}; the record was written while trials were still to come, so the run goes on or was killed"
        )),
        State::Interrupted => Some(format!("{there}; the run was ended early and kept what was finished")),
    }
}
