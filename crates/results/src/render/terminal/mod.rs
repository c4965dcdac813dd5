//! Tables for a terminal: the answer, the tables behind it, and what stands for the numbers.

mod accounting;
mod bar;
mod capacity;
pub mod compare;
mod cost;
mod headline;
pub mod host;
mod join;
mod load;
mod message;
mod notes;
mod number;
pub(super) mod page;
mod reproduce;
mod reverse;
pub mod runs;
mod stack;
mod sweep;
mod table;
mod transfer;

use netfathom_model::record::{Measurement, Record};

use crate::render::place::ends as place;
use page::Page;

/// The narrowest page that the tables fit on.
const LEAST_WIDTH: usize = 80;

/// What tables of Markdown have room for; a page on the web is wider than a terminal.
const MARKDOWN_WIDTH: usize = 160;

/// Rows beyond which a table is cut: the record has them all.
const MOST_ROWS: usize = 40;

/// Draws a record as text of at most `width` columns (80 where it is less), each line ended
/// by a newline. With `color` it has ANSI escapes; without, none at all, whatever the
/// record says.
#[must_use]
pub fn render(record: &Record, width: usize, color: bool) -> String {
    drawn(Page::new(width.max(LEAST_WIDTH), color), record)
}

/// The same page as Markdown.
pub(super) fn markdown(record: &Record) -> String {
    drawn(Page::markdown(MARKDOWN_WIDTH), record)
}

fn drawn(mut page: Page, record: &Record) -> String {
    match &record.measurement {
        Measurement::Stack(result) => stack::draw(&mut page, record, result),
        Measurement::Load(result) => load::draw(&mut page, record, result),
        Measurement::Capacity(result) => capacity::draw(&mut page, record, result),
        Measurement::Reverse(result) => reverse::draw(&mut page, record, result),
        Measurement::Join(result) => join::draw(&mut page, record, result),
        Measurement::Reproduce(result) => reproduce::draw(&mut page, record, result),
        Measurement::Transfer(result) => transfer::draw(&mut page, record, result),
        Measurement::Sweep(result) => sweep::draw(&mut page, record, result),
        Measurement::Message(result) => message::draw(&mut page, record, result),
        Measurement::Cost(result) => cost::draw(&mut page, record, result),
    }
    page.finish()
}

/// The answer of a measurement in one sentence.
#[must_use]
pub fn answer(measurement: &Measurement) -> String {
    match measurement {
        Measurement::Stack(result) => stack::answer(result),
        Measurement::Load(result) => load::answer(result),
        Measurement::Capacity(result) => capacity::answer(result),
        Measurement::Reverse(result) => reverse::answer(result),
        Measurement::Join(result) => join::answer(result),
        Measurement::Reproduce(result) => reproduce::answer(result),
        Measurement::Transfer(result) => transfer::answer(result),
        Measurement::Sweep(result) => sweep::answer(result),
        Measurement::Message(result) => message::answer(result),
        Measurement::Cost(result) => cost::answer(result),
    }
}

/// How a trial is called in print: its place in the run, from 1.
fn trial_number(index: u32) -> String {
    (u64::from(index) + 1).to_string()
}

/// `1 trial`, `2 trials`, `3 searches`.
fn counted(count: u32, what: &str) -> String {
    let plural = if what.ends_with("ch") { "es" } else { "s" };
    format!("{count} {what}{}", if count == 1 { "" } else { plural })
}
