//! What a reader needs first, in words.

mod capacity;
mod cost;
mod join;
mod load;
mod message;
mod reproduce;
mod reverse;
mod stack;
mod sweep;
mod transfer;

use netfathom_model::plan::{Family, Place};
use netfathom_model::record::{Measurement, Record, State};
use netfathom_model::verdict::Level;

/// What stands at the head of a report.
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
        match measurement {
            Measurement::Stack(result) => stack::words(result),
            Measurement::Load(result) => load::words(result),
            Measurement::Capacity(result) => capacity::words(result),
            Measurement::Reverse(result) => reverse::words(result),
            Measurement::Join(result) => join::words(result),
            Measurement::Reproduce(result) => reproduce::words(result),
            Measurement::Transfer(result) => transfer::words(result),
            Measurement::Sweep(result) => sweep::words(result),
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

/// Where it was measured, with the address of the other host.
pub fn place(place: Place) -> String {
    match place {
        Place::Lab | Place::Loopback => place.name().into(),
        Place::To(address) => format!("to {address}"),
        Place::Listen(address) => format!("from another host, at {address}"),
    }
}

/// `1 trial`, `2 trials`.
fn trials(count: u32) -> String {
    if count == 1 { "1\u{a0}trial".into() } else { format!("{count}\u{a0}trials") }
}

/// Messages a second in three digits: `1.24M`.
fn rate(per_s: f64) -> String {
    rate_interval(per_s, None)
}

/// The same with half its interval and the unit with both: `1.24M ± 0.02M`.
fn rate_interval(per_s: f64, half_width_per_s: Option<f64>) -> String {
    let (scale, unit) = match per_s.abs() {
        r if r >= 999_500.0 => (1e6, "M"),
        r if r >= 999.5 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let value = per_s / scale;
    let digits: usize = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    let half = match half_width_per_s.map(|h| h / scale) {
        None => return format!("{value:.digits$}{unit}"),
        Some(half) if half > 0.0 && half < 0.0005 => "<0.001".into(),
        Some(half) if half > 0.0 => {
            format!("{half:.*}", digits.max((-half.log10()).ceil().max(0.0) as usize).min(3))
        }
        Some(half) => format!("{half:.digits$}"),
    };
    format!("{value:.digits$}{unit}\u{a0}±\u{a0}{half}{unit}")
}

/// A share of 0 to 1 in percent, small ones with more digits.
fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p == 0.0 || p.abs() >= 10.0 => format!("{p:.0}\u{a0}%"),
        p if p.abs() >= 1.0 => format!("{p:.1}\u{a0}%"),
        p if p.abs() >= 0.001 => format!("{p:.3}\u{a0}%"),
        p => format!("{p:.1e}\u{a0}%"),
    }
}

/// Microseconds, unless it is below one.
fn time(ns: f64) -> String {
    let us = ns / 1e3;
    match us.abs() {
        a if a < 1.0 && ns.abs() < 10.0 => format!("{ns:.2}\u{a0}ns"),
        a if a < 1.0 => format!("{ns:.0}\u{a0}ns"),
        a if a < 10.0 => format!("{us:.2}\u{a0}µs"),
        a if a < 100.0 => format!("{us:.1}\u{a0}µs"),
        _ => format!("{us:.0}\u{a0}µs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_microseconds_unless_below_one() {
        assert_eq!(time(1184.79), "1.18\u{a0}µs");
        assert_eq!(time(39.6), "40\u{a0}ns");
        assert_eq!(time(-0.25), "-0.25\u{a0}ns");
        assert_eq!(time(123_456.0), "123\u{a0}µs");
    }
}
