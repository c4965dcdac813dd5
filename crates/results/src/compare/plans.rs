//! Whether two runs did the same work, by their plans.

use netfathom_model::print::{counted, listed};
use netfathom_model::profile::Profile;
use serde_json::Value;

use super::differences::{Difference, between, flat, merged};
use super::{Design, Run};
use crate::page::shortened;
use crate::quantity::{figures, plan};

/// What fits into a sentence, in letters.
const LONGEST: usize = 40;

/// What differs, and what of that makes a comparison meaningless.
#[derive(Default)]
pub(super) struct PlanDifferences {
    pub differences: Vec<Difference>,
    pub obstacles: Vec<String>,
}

/// What does not change what a trial is, of any measurement: how many there are, chance, where threads run.
const FREE: [&str; 13] = [
    "seed",
    "port",
    "trials",
    "controls",
    "witnesses",
    "until",
    "samples",
    "allow",
    "log",
    "cpus",
    "cpu",
    "program_cpu",
    "pcap",
];

/// What a load is, in a plan.
const LOAD: [&str; 3] = ["profile", "size_bytes", "transport"];

/// Why something makes a comparison meaningless.
const WHY: [(&str, &str); 12] = [
    ("profile", "the load was another one"),
    ("size_bytes", "messages of another size take another time"),
    ("directions", "other ways through the stack were measured"),
    ("place", "the path between the ends is another one"),
    ("family", "another protocol was under the messages"),
    ("tap", "another ruler measures something else"),
    ("engine", "messages left by another way"),
    ("receive", "messages were taken in another way"),
    ("test", "the ends did something else"),
    ("carrier", "something else was under the messages"),
    ("role", "the other end was measured"),
    ("rate_per_s", "the load was another one"),
];

/// Of pairs what differs between the two is what they are compared for; but each side must be one thing.
pub(super) fn differences(design: Design, pairs: &[(&Run, &Run)]) -> PlanDifferences {
    let Some(&(a, b)) = pairs.first() else { return PlanDifferences::default() };
    let of_a = &a.record.measurement;
    if let Some(other) = pairs
        .iter()
        .flat_map(|pair| [pair.0, pair.1])
        .find(|run| run.record.measurement.name() != of_a.name())
    {
        let other_name = other.record.measurement.name();
        let obstacle = format!(
            "{} is a run of {}, {} one of {other_name}: different measurements have nothing in common; name two of one kind",
            a.name,
            of_a.name(),
            other.name
        );
        return PlanDifferences { differences: Vec::new(), obstacles: vec![obstacle] };
    }
    let of_pair = |pair: &(&Run, &Run)| {
        between(&flat(&plan(&pair.0.record.measurement)), &flat(&plan(&pair.1.record.measurement)))
    };
    let mut differences = merged(pairs.iter().map(of_pair));
    // The seed is another one in every run; whether rates were fitted, the profile shows.
    differences.retain(|d| !matches!(d.what.split('.').next_back(), Some("seed" | "fits")));
    let asked = |run: &Run| figures(&run.record.measurement).asked();
    let both = asked(a).filter(|part| asked(b) == Some(*part));
    let is_asked = |d: &Difference| both.is_some_and(|part| d.what.starts_with(part));
    let obstacles = match design {
        Design::Apart => obstacles(a, b, differences.iter().filter(|d| !is_asked(d))),
        Design::Pairs => {
            let later = (1..).zip(pairs).skip(1);
            later.flat_map(|(round, pair)| within_sides((a, b), *pair, round)).collect()
        }
    };
    for difference in differences.iter_mut().filter(|d| is_asked(d) && d.what.ends_with(COMMAND)) {
        difference.what = COMMAND[1..].into();
    }
    PlanDifferences { differences, obstacles }
}

/// Of what is asked about the last part says enough.
const COMMAND: &str = ".command";

/// A later pair must have done what the first one did.
fn within_sides(first: (&Run, &Run), pair: (&Run, &Run), round: usize) -> Vec<String> {
    let other = |side: &str, first: &Run, run: &Run| {
        let [was, is] = [first, run].map(|run| flat(&plan(&run.record.measurement)));
        let why = obstacles(first, run, &between(&was, &is)).join("; ");
        let other = format!("{side} of round {round} did not do what {side} of round 1 did: {why}");
        (!why.is_empty()).then_some(other)
    };
    [other("A", first.0, pair.0), other("B", first.1, pair.1)].into_iter().flatten().collect()
}

/// What makes a comparison of two plans meaningless; the last one says what to do.
fn obstacles<'a>(a: &Run, b: &Run, differences: impl IntoIterator<Item = &'a Difference>) -> Vec<String> {
    let of_a = &a.record.measurement;
    let matters = |d: &&Difference| !FREE.contains(&key(d)) && !of_a.entry().free.contains(&key(d));
    let (load, others): (Vec<&Difference>, Vec<&Difference>) =
        differences.into_iter().filter(matters).partition(|d| LOAD.contains(&option(d)));
    let loads = (!load.is_empty()).then(|| {
        let [a, b] = [a, b].map(|run| load_words(&plan(&run.record.measurement), &load));
        format!("the loads differ: {a} and {b}")
    });
    let mut all: Vec<String> = loads.into_iter().chain(others.into_iter().map(sentence)).collect();
    if let Some(last) = all.last_mut() {
        let is_fitted = load.iter().any(|d| option(d) == "profile") && plan(of_a)["fits"] == true;
        let profile = ", with the same --profile: without one each run fits it to the host";
        *last += ": measure both alike";
        *last += if is_fitted { profile } else { "" };
    }
    all
}

fn option(difference: &Difference) -> &str {
    difference.what.split('.').next().unwrap_or_default()
}

/// The option. Within an experiment the plan of a part stands below its name.
fn key(difference: &Difference) -> &str {
    let mut parts = difference.what.split('.');
    let key = match parts.next() {
        Some("runs") => parts.nth(1),
        first => first,
    };
    key.unwrap_or_default()
}

/// A load as it is typed, as far as the two differ.
fn load_words(plan: &Value, differing: &[&Difference]) -> String {
    let differs = |part: &&str| differing.iter().any(|d| option(d) == *part);
    listed(LOAD.into_iter().filter(differs).map(|part| {
        match &plan[part] {
            Value::String(word) => word.clone(),
            Value::Number(size) => counted(size.as_u64().unwrap_or_default(), "byte"),
            profile => serde_json::from_value::<Profile>(profile.clone())
                .map_or_else(|_| profile.to_string(), |profile| profile.to_string()),
        }
    }))
}

fn sentence(difference: &Difference) -> String {
    let why = WHY.iter().find(|(name, _)| *name == key(difference));
    format!(
        "{} differs ({} and {}): {}",
        difference.what,
        shortened(&difference.a, LONGEST),
        shortened(&difference.b, LONGEST),
        why.map_or("they did not do the same work", |why| why.1)
    )
}
