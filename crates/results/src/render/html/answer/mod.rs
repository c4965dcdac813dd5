//! What a reader needs first, in words.

mod cost;
mod load;
mod message;
mod reproduce;
mod stack;

use netfathom_model::plan::Family;
use netfathom_model::print::{self, Scale};
use netfathom_model::record::{Measurement, Record, State};
use netfathom_model::verdict::Level;

use crate::story;

pub(crate) use crate::story::place::ends as place;

/// What stands at the head of a report.
#[derive(Default)]
pub struct Words {
    /// What it is about.
    pub title: String,
    /// The answer of the measurement in one sentence.
    pub sentence: String,
    /// How much of the plan is done.
    pub there: String,
    /// Under which circumstances the answer holds, as short phrases.
    pub circumstances: Vec<String>,
}

impl Words {
    pub fn of(record: &Record) -> Self {
        let mut words = Self::of_measurement(&record.measurement);
        words.circumstances.push(record.started_utc.clone());
        words
    }

    /// The same of a measurement alone, which may be a run of an experiment.
    pub fn of_measurement(measurement: &Measurement) -> Self {
        if let Some(body) = story::body(measurement) {
            return Self {
                title: body.title.into(),
                sentence: story::answer(measurement),
                there: format!("{}.", body.done),
                circumstances: Vec::new(),
            };
        }
        match measurement {
            Measurement::Stack(result) => stack::words(result),
            Measurement::Load(result) => load::words(result),
            Measurement::Capacity(_)
            | Measurement::Reverse(_)
            | Measurement::Join(_)
            | Measurement::Transfer(_)
            | Measurement::Sweep(_) => Self::default(),
            Measurement::Reproduce(result) => reproduce::words(result),
            Measurement::Message(result) => message::words(result),
            Measurement::Cost(result) => cost::words(result),
        }
    }

    /// What is missing of a record that is not whole.
    pub fn state(&self, state: State) -> Option<String> {
        let what = match state {
            State::Complete => return None,
            State::Partial => "Partial: this was written while trials were still to come.",
            State::Interrupted => "Interrupted: the user ended it early; the finished trials are kept.",
        };
        Some(format!("{what} {}", self.there))
    }
}

/// What a verdict means for the reader.
pub fn trust(level: Level) -> &'static str {
    match level {
        Level::Valid => "These figures stand as they are.",
        Level::Degraded => "Read these figures with the reasons in mind.",
        Level::Void => "Do not use these figures.",
    }
}

fn family(family: Family) -> &'static str {
    match family {
        Family::Ipv4 => "IPv4",
        Family::Ipv6 => "IPv6",
    }
}

/// `1 trial`, `2 trials`.
fn trials(count: u32) -> String {
    if count == 1 { "1\u{a0}trial".into() } else { format!("{count}\u{a0}trials") }
}

/// The same with half its interval: `1.24M ± 0.02M`.
fn rate_interval(per_s: f64, half_width_per_s: Option<f64>) -> String {
    together(&Scale::Multiple.interval(per_s, half_width_per_s))
}

fn percent(share: f64) -> String {
    together(&print::percent(share))
}

fn time(ns: f64) -> String {
    together(&print::time(ns))
}

/// A number and its unit do not part at the end of a line.
fn together(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}
