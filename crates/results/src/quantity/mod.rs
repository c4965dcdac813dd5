//! What a run says, quantity by quantity, in one form for every measurement: what comparisons, lists and exports are
//! made of.

mod capacity;
mod cost;
mod curve;
mod fleet;
mod histogram;
mod join;
mod load;
mod message;
mod reproduce;
mod reverse;
mod stack;
mod sweep;
mod transfer;
mod watch;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use curve::{Curve, Point, curves};
pub use histogram::{Histogram, Pooled, histograms, pooled};
use netfathom_model::record::{Distribution, Measurement, SlowMessage};
use netfathom_model::verdict::{Level, Verdict};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::Value;
pub(crate) use stack::{Sampled, trial_prefix};
use strum::{EnumString, IntoStaticStr};
pub(crate) use watch::Beside;

/// One thing that a run says about what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Quantity {
    /// Its name, the same in every run of its kind, such as `tx.mean` or `tx.socket.mean`: lower-case words with dots.
    pub name: String,
    /// What it is, in words, such as `stack time out, mean`.
    pub title: String,
    #[serde(serialize_with = "short")]
    #[schemars(with = "String")]
    pub unit: Unit,
    pub better: Better,
    /// Whether it is one of the few that the measurement is made for.
    pub main: bool,
    /// A value a trial, in the order in which they were made; of a measurement without trials one.
    pub trials: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, EnumString, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Unit {
    #[strum(serialize = "ns")]
    Nanoseconds,
    /// Things in a second: messages, calls, transactions.
    #[strum(serialize = "per_s")]
    PerSecond,
    #[strum(serialize = "bytes_per_s")]
    BytesPerSecond,
    /// A part of a whole, 0 to 1.
    Share,
    /// How many times one thing is of another.
    Ratio,
    Count,
}

impl Unit {
    /// As tables have it.
    pub fn short(self) -> &'static str {
        self.into()
    }
}

fn short<S: Serializer>(unit: &Unit, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(unit.short())
}

type OfTimes = (&'static str, fn(&Distribution) -> f64);
const OF_TIMES: [OfTimes; 4] = [
    ("mean", |d| d.mean_ns),
    ("p50", |d| d.p50_ns as f64),
    ("p99", |d| d.p99_ns as f64),
    ("p999", |d| d.p999_ns as f64),
];
/// Those that a measurement is made for.
const MAIN: &[&str] = &["mean", "p99"];

/// The summary of times that were measured: `prefix.mean` to `prefix.p999`, a value for each distribution that is not
/// empty.
fn of_times<'a>(
    prefix: &str,
    title: &str,
    main: &[&str],
    times: impl IntoIterator<Item = &'a Distribution, IntoIter: Clone>,
) -> [Quantity; 4] {
    let times = times.into_iter().filter(|times| times.n > 0);
    OF_TIMES.map(|(what, value)| {
        let (name, title) = (format!("{prefix}.{what}"), format!("{title}, {what}"));
        Quantity::time(name, title, times.clone().map(value)).main(main.contains(&what))
    })
}

/// Which way of a quantity is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Times, losses, costs.
    Less,
    More,
}

/// What a result says in figures, in one form for every measurement.
pub(crate) trait Figures {
    fn quantities(&self) -> Vec<Quantity>;
    /// How far a quantity can be trusted, by the reasons of a verdict.
    fn level(&self, verdict: &Verdict, _name: &str) -> Level {
        verdict.level
    }
    /// What netfathom chose where the plan left it open, by name.
    fn choices(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }
    /// The part of the plan that may be any in runs that are compared, for it is what is asked about.
    fn asked(&self) -> Option<&'static str> {
        None
    }
    fn histograms(&self) -> Vec<Histogram<'_>> {
        Vec::new()
    }
    /// The main distributions, over all trials.
    fn pooled(&self) -> Vec<Pooled> {
        let of_run = self.histograms().into_iter().filter(|set| set.trial.is_none());
        of_run.map(|set| Pooled::new(set.name, set.times)).collect()
    }
    /// What a run that goes on has counted so far.
    fn counters(&self) -> Vec<Counter> {
        Vec::new()
    }
    /// What a run that goes on has at the moment.
    fn gauges(&self) -> Vec<Gauge> {
        Vec::new()
    }
    /// What a run that goes on is of, as the arguments that name it.
    fn target(&self) -> Option<String> {
        None
    }
    /// What was seen over the time of a trial.
    fn curves(&self) -> Vec<Curve> {
        Vec::new()
    }
    /// Of a measurement that may keep the times of single messages beside its record.
    fn sampled(&self) -> Option<Sampled<'_>> {
        None
    }
    /// The single messages in a record, of a measurement that may keep them; or why it kept none.
    fn slow(&self) -> Option<Result<&[SlowMessage], &'static str>> {
        None
    }
}

/// A count that only grows while a run goes on.
#[derive(Clone, Debug)]
pub struct Counter {
    /// The same for those that differ in their labels, lower-case words with underscores.
    pub name: &'static str,
    pub title: &'static str,
    /// [`Unit::Count`] or [`Unit::Nanoseconds`].
    pub unit: Unit,
    pub labels: Vec<(&'static str, String)>,
    pub value: u64,
}

/// A count that may also fall.
#[derive(Clone, Copy, Debug)]
pub struct Gauge {
    /// Lower-case words with underscores.
    pub name: &'static str,
    pub title: &'static str,
    pub value: u64,
}

/// The one place that knows of each measurement: an expression with its result, whichever it is.
macro_rules! with_result {
    ($measurement:expr, $result:ident => $value:expr) => {
        match $measurement {
            Measurement::Stack($result) => $value,
            Measurement::Load($result) => $value,
            Measurement::Capacity($result) => $value,
            Measurement::Reverse($result) => $value,
            Measurement::Join($result) => $value,
            Measurement::Reproduce($result) => $value,
            Measurement::Transfer($result) => $value,
            Measurement::Sweep($result) => $value,
            Measurement::Message($result) => $value,
            Measurement::Cost($result) => $value,
            Measurement::Watch($result) => $value,
            Measurement::Fleet($result) => $value,
        }
    };
}
pub(crate) use with_result;

pub(crate) fn figures(measurement: &Measurement) -> &dyn Figures {
    with_result!(measurement, result => &**result)
}

/// What was asked for, with what netfathom chose where that was left open.
pub(crate) fn plan(measurement: &Measurement) -> Value {
    let plan = with_result!(measurement, result => serde_json::to_value(&result.plan));
    let mut plan = plan.unwrap_or_default();
    figures(measurement).choices().into_iter().for_each(|(name, value)| plan[name] = value);
    plan
}

/// All that a measurement says, the main quantities first, no name twice. Trials that are there for the ruler's own cost are left out.
pub fn of(measurement: &Measurement) -> Vec<Quantity> {
    let mut all = figures(measurement).quantities();
    all.retain(|quantity| !quantity.trials.is_empty() && quantity.trials.iter().all(|v| v.is_finite()));
    make_names_unique(all.iter_mut().map(|quantity| (None, &mut quantity.name)));
    all.sort_by_key(|quantity| !quantity.main);
    all
}

/// How far a quantity of a record can be trusted.
pub fn level(measurement: &Measurement, verdict: &Verdict, name: &str) -> Level {
    if verdict.reasons.is_empty() { verdict.level } else { figures(measurement).level(verdict, name) }
}

/// Makes a quantity of its name, its title and its trials.
type Make = fn(String, String, Vec<f64>) -> Quantity;

impl Quantity {
    fn new(
        (name, title): (impl Into<String>, impl Into<String>),
        (unit, better): (Unit, Better),
        trials: impl IntoIterator<Item = f64>,
    ) -> Self {
        let trials = trials.into_iter().collect();
        Self { name: name.into(), title: title.into(), unit, better, main: false, trials }
    }

    /// Nanoseconds that something takes.
    fn time(
        name: impl Into<String>,
        title: impl Into<String>,
        trials: impl IntoIterator<Item = f64>,
    ) -> Self {
        Self::new((name, title), (Unit::Nanoseconds, Better::Less), trials)
    }

    /// A count per second.
    fn rate(
        name: impl Into<String>,
        title: impl Into<String>,
        trials: impl IntoIterator<Item = f64>,
    ) -> Self {
        Self::new((name, title), (Unit::PerSecond, Better::More), trials)
    }

    /// A part of a whole that is lost or wasted.
    fn share(
        name: impl Into<String>,
        title: impl Into<String>,
        trials: impl IntoIterator<Item = f64>,
    ) -> Self {
        Self::new((name, title), (Unit::Share, Better::Less), trials)
    }

    fn main(self, main: bool) -> Self {
        Self { main, ..self }
    }
}

/// A part of a name: lower-case letters, digits, `_` and `-`; what else stands in a text becomes one `-`.
pub(crate) fn word(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { '-' };
    let mut word = String::new();
    for c in text.chars().map(plain) {
        if c != '-' || !(word.is_empty() || word.ends_with('-')) {
            word.push(c);
        }
    }
    let word = word.trim_end_matches('-');
    if word.is_empty() { "unnamed".into() } else { word.into() }
}

/// Gives names that stand twice in one trial a number: the second `x` becomes `x-2`. Names from outside, such as those of
/// benchmarks, may fall together once they are words.
fn make_names_unique<'a>(all: impl Iterator<Item = (Option<u32>, &'a mut String)>) {
    let (mut seen, mut numbers) = (BTreeSet::new(), BTreeMap::new());
    for (trial, wanted) in all {
        let mut name = wanted.clone();
        let number = numbers.entry((trial, name.clone())).or_insert(1_u64);
        while !seen.insert((trial, name.clone())) {
            *number += 1;
            name = format!("{wanted}-{number}");
        }
        *wanted = name;
    }
}
