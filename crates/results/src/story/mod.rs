//! What there is to say of each result: its page. The only place where what was found becomes sentences and tables.

mod accounting;
pub(crate) mod beside;
mod capacity;
pub(crate) mod carried;
pub mod compare;
mod cost;
pub(crate) mod costed;
pub(crate) mod curves;
mod headline;
pub mod host;
mod join;
pub(crate) mod joined;
mod load;
mod message;
pub(crate) mod messaged;
mod notes;
mod number;
pub(crate) mod place;
pub(crate) mod pooled;
mod reproduce;
mod reverse;
pub mod runs;
mod stack;
pub(crate) mod standing;
mod sweep;
pub(crate) mod swept;
mod transfer;

use netfathom_model::record::{LeftOut, Measurement, Record};

use crate::page::Page;

/// Rows beyond which a table is cut: the record has them all.
const MOST_ROWS: usize = 40;

/// What there is to say of a result, whatever became of the run.
pub(crate) struct Body<'a> {
    pub title: &'static str,
    /// How much of the plan is done.
    pub done: String,
    pub page: Page,
    pub plan: Vec<(&'static str, String)>,
    pub left_out: &'a [LeftOut],
}

/// The body of those whose reports are drawn from it too.
pub(crate) fn body(measurement: &Measurement) -> Option<Body<'_>> {
    match measurement {
        Measurement::Capacity(result) => Some(capacity::body(result)),
        Measurement::Reverse(result) => Some(reverse::body(result)),
        Measurement::Join(result) => Some(join::body(result)),
        Measurement::Transfer(result) => Some(transfer::body(result)),
        Measurement::Sweep(result) => Some(sweep::body(result)),
        _ => None,
    }
}

/// The page of a record.
#[must_use]
pub fn of(record: &Record) -> Page {
    let mut page = Page::default();
    if let Some(body) = body(&record.measurement) {
        headline::draw(&mut page, record, &answer(&record.measurement), &body.done);
        page.sections.extend(body.page.sections);
        notes::findings(&mut page, record);
        notes::left_out(&mut page, body.left_out);
        return page;
    }
    match &record.measurement {
        Measurement::Stack(result) => stack::draw(&mut page, record, result),
        Measurement::Load(result) => load::draw(&mut page, record, result),
        Measurement::Capacity(_)
        | Measurement::Reverse(_)
        | Measurement::Join(_)
        | Measurement::Transfer(_)
        | Measurement::Sweep(_) => {}
        Measurement::Reproduce(result) => reproduce::draw(&mut page, record, result),
        Measurement::Message(result) => message::draw(&mut page, record, result),
        Measurement::Cost(result) => cost::draw(&mut page, record, result),
    }
    page
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

/// The processors that were asked for.
pub(crate) fn processors(cpus: &[usize]) -> String {
    if cpus.is_empty() {
        return "chosen by netfathom".into();
    }
    cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}
