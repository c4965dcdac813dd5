//! A record as Markdown, for an issue, a wiki or a commit: its page, with tables as GitHub draws them, and every
//! quantity of the run.

use netfathom_model::record::Record;

use super::quantities;
use super::sheet::{Medium, Sheet};
use crate::story;

/// Draws a record as GitHub's Markdown. Nothing in it is obeyed: what the record says is text.
#[must_use]
pub fn render(record: &Record) -> String {
    let mut text = format!("# netfathom {}\n\n", record.measurement.name());
    // The reader's program wraps.
    text.push_str(&Sheet::draw(&story::of(record), usize::MAX, Medium::Markdown));
    quantities::draw(&mut text, record);
    text
}
