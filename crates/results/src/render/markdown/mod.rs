//! A record as Markdown, for an issue, a wiki or a commit: the same page as in a terminal, its tables as
//! GitHub draws them, and every quantity of the run.

pub(super) mod escape;
mod quantities;

use netfathom_model::record::Record;

use super::terminal;

/// Draws a record as GitHub's Markdown. Nothing in it is obeyed: what the record says is text.
#[must_use]
pub fn render(record: &Record) -> String {
    let mut text = format!("# netfathom {}\n\n", record.measurement.name());
    text.push_str(&terminal::markdown(record));
    quantities::draw(&mut text, record);
    text
}
