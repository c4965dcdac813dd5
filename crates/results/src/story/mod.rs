//! What there is to say of each result: its page. The only place where what was found becomes sentences and tables.

mod accounting;
mod capacity;
pub mod compare;
mod contention;
mod cost;
pub(crate) mod curves;
pub mod fleet;
pub(crate) mod headline;
mod histogram;
pub mod host;
mod join;
mod load;
mod message;
mod notes;
mod number;
pub(crate) mod place;
mod precision;
pub(crate) mod quantities;
mod reproduce;
mod reverse;
pub mod runs;
mod sender;
mod stack;
mod stages;
mod sweep;
pub mod transfer;
pub mod watch;

use std::borrow::Cow;

use netfathom_model::print::{counted, listed};
use netfathom_model::record::{LeftOut, Measurement, Record};
use netfathom_model::verdict::{Finding, Level, Verdict};

use crate::page::Page;
use crate::quantity::with_result;
use place::Site;

/// Rows beyond which a table is cut: the record has them all.
const MOST_ROWS: usize = 40;

/// Letters of an answer: with the verdict before it a line of 100.
const LONGEST_ANSWER: usize = 90;

/// An answer in one line, if the short form is.
fn in_a_line(answer: String, short: impl FnOnce() -> String) -> String {
    if answer.chars().count() > LONGEST_ANSWER { short() } else { answer }
}

/// What there is to say of a result, whatever became of the run.
pub(crate) struct Body<'a> {
    pub title: Cow<'a, str>,
    pub done: String,
    pub page: Page,
    /// What changes how to read the answer, most important first.
    pub remarks: Vec<String>,
    pub plan: Words,
    pub left_out: &'a [LeftOut],
}

/// Names and what stands for them.
pub(crate) type Words = Vec<(&'static str, String)>;

const ASKED_FOR: &str = "Plan";

fn asked_for(page: &mut Page, plan: &Words) {
    words(page, ASKED_FOR, plan);
}

fn words(page: &mut Page, heading: &str, words: &Words) {
    page.heading(heading);
    words.iter().for_each(|(name, value)| page.bullet(&format!("{name}: {value}")));
}

/// What a measurement has to say, in words too.
pub(crate) trait Story {
    fn body(&self) -> Body<'_>;

    /// The answer in one short sentence.
    fn answer(&self) -> String;

    /// How many remarks come before what to do about the first finding, where the short view has room.
    fn before_remedy(&self) -> usize {
        2
    }

    /// Whether the terminal shows a finding before all remarks, whatever other findings there are.
    fn comes_first(&self, _finding: &Finding) -> bool {
        false
    }

    /// What stands in the place of the verdict where hosts or parts are missing, such as `PARTIAL 14 of 16`.
    fn partial(&self) -> Option<String> {
        None
    }

    /// What of the answer holds though the verdict is VOID, such as `none lost`.
    fn usable(&self, _verdict: &Verdict) -> Vec<String> {
        Vec::new()
    }

    /// Where it was made.
    fn site(&self) -> Site;

    /// Whether the answer is one value, or several, that a VOID verdict forbids to use.
    fn is_of_values(&self) -> bool {
        false
    }
}

pub(crate) fn story(measurement: &Measurement) -> &dyn Story {
    with_result!(measurement, result => &**result)
}

pub fn of(record: &Record) -> Page {
    let mut page = Page::default();
    let body = story(&record.measurement).body();
    headline::draw(&mut page, record, &body);
    page.sections.extend(body.page.sections);
    notes::findings(&mut page, record);
    notes::left_out(&mut page, body.left_out);
    page
}

/// The answer of a measurement in one short sentence, if it has a use. It is wrapped, not cut: half a number is none.
pub fn answer(measurement: &Measurement, verdict: &Verdict) -> String {
    let story = story(measurement);
    if verdict.level < Level::Void || !story.is_of_values() {
        return story.answer();
    }
    // Without a reason, none of its parts is known to hold.
    let usable = if verdict.deciding().is_some() { story.usable(verdict) } else { Vec::new() };
    match &usable[..] {
        [] => "no usable answer; the values below are not to be used".into(),
        some => format!("{}; the other values below are not to be used", some.join(", ")),
    }
}

/// How a trial is called in print: its place in the run, from 1.
fn trial_number(index: u32) -> String {
    (u64::from(index) + 1).to_string()
}

/// What stands below a table of the first [`MOST_ROWS`].
fn more(page: &mut Page, all: usize, what: &str) {
    if let Some(n) = all.checked_sub(MOST_ROWS).filter(|&n| n > 0) {
        page.note(&format!("… and {} in the record", counted(n, &format!("more {what}"))));
    }
}

/// Values as shares of the longest bar, logarithmic: from half of the lowest, which so has a bar, to the highest.
fn logarithmic(values: impl Iterator<Item = f64> + Clone) -> impl Fn(f64) -> f64 {
    let (low, high) = (values.clone().fold(f64::INFINITY, f64::min) / 2.0, values.fold(0.0, f64::max));
    move |value| (value / low).ln() / (high / low).ln()
}

/// Where no processors were asked for.
pub(crate) const CHOSEN: &str = "chosen by netfathom";

/// Those that were asked for; of none, what stands for them.
pub(crate) fn processors(cpus: &[usize], none: &str) -> String {
    if cpus.is_empty() { none.into() } else { listed(cpus) }
}
