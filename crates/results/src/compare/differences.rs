//! What differs between two records besides what they measured.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use netfathom_model::environment::{Environment, Settings};
use netfathom_model::record::{Measurement, Record};
use serde::Serialize;
use serde_json::{Number, Value};

use super::known_settings;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What: the name of a setting, such as `net.ipv4.tcp_wmem`, where only one end of a lab has it with that end
    /// before it (`sender: net.ipv4.tcp_wmem`); or a place in the record, such as `kernel`.
    pub what: String,
    pub a: String,
    pub b: String,
    /// What it does, where it is known to matter for the measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<&'static str>,
    /// In which of the pairs it is so; `None` where in all, and of two runs alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<InPairs>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct InPairs {
    pub some: usize,
    pub all: usize,
}

impl Difference {
    pub(super) fn new(what: String, a: String, b: String) -> Self {
        Self { what, a, b, effect: None, pairs: None }
    }

    /// Such as `in 2 of 5 pairs`; `None` where it is so in all.
    pub fn in_pairs(&self) -> Option<String> {
        self.pairs.map(|InPairs { some, all }| format!("in {some} of {all} pairs"))
    }
}

/// What differs from run to run by its nature, and what is compared elsewhere.
const OF_ITS_NATURE: [&str; 3] = ["clock_read_ns", "realtime_ahead_ns", "settings"];
const NOT_RECORDED: &str = "not recorded";
/// Such as an option of a plan without a value.
const NOT_SET: &str = "not set";

/// What differs in any of the pairs, each once; what differs in most of them first.
pub(super) fn merged(pairs: impl ExactSizeIterator<Item = Vec<Difference>>) -> Vec<Difference> {
    let all = pairs.len();
    let mut counts: BTreeMap<(String, String, String), usize> = BTreeMap::new();
    for Difference { what, a, b, .. } in pairs.flatten() {
        *counts.entry((what, a, b)).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, some)| Reverse(*some));
    let difference = |((what, a, b), some)| {
        let pairs = (some < all).then_some(InPairs { some, all });
        Difference { pairs, ..Difference::new(what, a, b) }
    };
    counts.into_iter().map(difference).collect()
}

/// The build, the machine without its settings, and what was run before.
pub(super) fn of_records(a: &Record, b: &Record) -> Vec<Difference> {
    let around = |record: &Record| {
        let environment = Environment { settings: Settings::default(), ..record.environment.clone() };
        let mut all = flat(&serde_json::to_value(&environment).unwrap_or_default());
        OF_ITS_NATURE.iter().for_each(|name| drop(all.remove(*name)));
        all.insert("tool".into(), record.tool.clone());
        let before = record.around.as_ref().and_then(|around| around.before.clone());
        all.insert("before".into(), before.unwrap_or_else(|| "no command".into()));
        all
    };
    between(&around(a), &around(b))
}

/// Names the effect of what is known to matter for such a measurement, and puts that first;
/// offloads come last, by what they change.
pub(super) fn explained(mut all: Vec<Difference>, of: &Measurement) -> Vec<Difference> {
    for difference in &mut all {
        let name = match difference.what.split_once(": ") {
            // Where nothing was measured it has no effect.
            Some(("host", _)) => continue,
            Some((_, name)) => name,
            None => &difference.what,
        };
        difference.effect = known_settings::effect(name, of);
    }
    all.sort_by_key(|difference| (difference.effect.is_none(), known_settings::rank(&difference.what)));
    all
}

/// What is not the same in both.
pub(super) fn between(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> Vec<Difference> {
    // A part of what is not set in one is not set there, and what has parts in one is shown by these.
    let value = |of: &BTreeMap<String, String>, what: &str| {
        let above =
            || what.match_indices('.').any(|(at, _)| of.get(&what[..at]).is_some_and(|v| v == NOT_SET));
        let absent = || if above() { NOT_SET } else { NOT_RECORDED }.to_owned();
        of.get(what).cloned().unwrap_or_else(absent)
    };
    let all: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let has_parts = |what: &String| {
        let parts = format!("{what}.");
        all.range::<String, _>(&parts..).next().is_some_and(|first| first.starts_with(&parts))
    };
    all.iter()
        .filter(|what| !has_parts(what))
        .map(|what| Difference::new((*what).clone(), value(a, what), value(b, what)))
        .filter(|difference| difference.a != difference.b)
        .collect()
}

/// Every value by its place. Lists of things with roles or names are named by these; a list of words, such as a
/// command, is one value, written as a shell takes it.
pub(super) fn flat(value: &Value) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    flatten(String::new(), value, &mut all);
    all
}

fn flatten(place: String, value: &Value, all: &mut BTreeMap<String, String>) {
    let below = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, field)| flatten(below(name), field, all)),
        Value::Array(items) => match named(items) {
            Some(named) => named.into_iter().for_each(|(name, rest)| flatten(below(name), &rest, all)),
            None => drop(all.insert(place, words(items).unwrap_or_else(|| value.to_string()))),
        },
        Value::Null => drop(all.insert(place, NOT_SET.into())),
        Value::String(text) => drop(all.insert(place, text.clone())),
        Value::Number(number) => drop(all.insert(place, rounded(number).to_string())),
        other => drop(all.insert(place, other.to_string())),
    }
}

/// Without what arithmetic adds in the last digits, as in 0.9990000000000001.
fn rounded(number: &Number) -> Number {
    let fraction = number.as_f64().filter(|_| number.is_f64());
    let rounded = fraction.and_then(|value| format!("{value:.12e}").parse::<f64>().ok());
    rounded.and_then(Number::from_f64).unwrap_or_else(|| number.clone())
}

/// Fields by which things of a list are named.
const NAMES: [&str; 2] = ["role", "name"];

/// The things of a list by their names, without these; `None` where one has none, or two have the same.
fn named(items: &[Value]) -> Option<BTreeMap<&str, Value>> {
    let by = |key| {
        let named = items.iter().map(|item| Some((item.get(key)?.as_str()?, without(key, item))));
        named
            .collect::<Option<BTreeMap<_, _>>>()
            .filter(|named| !named.is_empty() && named.len() == items.len())
    };
    NAMES.into_iter().find_map(by)
}

fn without(key: &str, item: &Value) -> Value {
    let mut item = item.clone();
    if let Some(fields) = item.as_object_mut() {
        fields.remove(key);
    }
    item
}

fn words(items: &[Value]) -> Option<String> {
    let words: Vec<&str> = items.iter().map(Value::as_str).collect::<Option<_>>()?;
    shlex::try_join(words).ok().filter(|words| !words.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_arithmetic_adds_to_a_fraction_is_not_shown() {
        let shown = |number: Value| flat(&json!({ "of": number }))["of"].clone();
        assert_eq!(shown(json!(99.9 / 100.0)), "0.999");
        assert_eq!([json!(2.0), json!(3), json!(u64::MAX)].map(shown), ["2.0", "3", "18446744073709551615"]);
    }
}
