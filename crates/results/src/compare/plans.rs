//! Whether two runs did the same work, by their plans.

use netfathom_model::record::Measurement;

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
        Design::Apart => {
            differences.iter().filter(|d| !is_asked(d)).filter_map(|d| obstacle(of_a, d)).collect()
        }
        Design::Pairs => pairs.iter().skip(1).flat_map(|pair| within_sides((a, b), *pair)).collect(),
    };
    for difference in differences.iter_mut().filter(|d| is_asked(d) && d.what.ends_with(COMMAND)) {
        difference.what = COMMAND[1..].into();
    }
    PlanDifferences { differences, obstacles }
}

/// Of what is asked about the last part says enough.
const COMMAND: &str = ".command";

/// A later pair must have done what the first one did.
fn within_sides(first: (&Run, &Run), pair: (&Run, &Run)) -> Vec<String> {
    let other = |first: &Run, run: &Run| {
        let (was, is) = (&first.record.measurement, &run.record.measurement);
        let differs = between(&flat(&plan(was)), &flat(&plan(is)));
        let why = differs.iter().find_map(|d| obstacle(was, d))?;
        Some(format!("{} did not do what {} did: {why}", run.name, first.name))
    };
    [other(first.0, pair.0), other(first.1, pair.1)].into_iter().flatten().collect()
}

fn obstacle(measurement: &Measurement, difference: &Difference) -> Option<String> {
    // Within an experiment the plan of a part stands below its name.
    let parts: Vec<&str> = difference.what.split('.').collect();
    let key = match parts.as_slice() {
        ["runs", _, key, ..] => key,
        [key, ..] => key,
        [] => return None,
    };
    if FREE.contains(key) || measurement.entry().free.contains(key) {
        return None;
    }
    let is_fitted = *key == "profile" && plan(measurement)["fits"] == true;
    let remedy = if is_fitted {
        "give both the same --profile: without one each run fits it to the host"
    } else {
        "measure both alike"
    };
    let why = WHY.iter().find(|(name, _)| name == key).map_or("they did not do the same work", |w| w.1);
    Some(format!(
        "{} differs ({} and {}): {why}: {remedy}",
        difference.what,
        shortened(&difference.a, LONGEST),
        shortened(&difference.b, LONGEST)
    ))
}
