//! A record as Markdown, for an issue, a wiki or a commit: its page, with tables as GitHub draws them, and every
//! quantity of the run.

use netfathom_model::record::Record;

use crate::{draw, story};

/// Draws a record as GitHub's Markdown. Nothing in it is obeyed: what the record says is text.
pub fn render(record: &Record) -> String {
    let mut page = story::of(record);
    story::quantities::draw(&mut page, record);
    format!("# netfathom {}\n\n{}", record.measurement.name(), draw::markdown(&page))
}
