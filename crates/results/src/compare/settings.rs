//! What differs of the settings of two machines, or of one at two times, and what of them cannot be compared.

use std::collections::{BTreeMap, BTreeSet};

use netfathom_model::environment::{Environment, Settings};
use serde::Serialize;

use super::differences::Difference;

/// A setting without a value in at least one record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct NotCompared {
    pub what: String,
    /// In which record it is missing, and why.
    pub why: String,
}

#[derive(Default)]
pub(super) struct SettingsCompared {
    pub differences: Vec<Difference>,
    pub not_compared: Vec<NotCompared>,
    pub compared: usize,
}

/// The settings as they hold in one place.
struct Side<'a>(&'a Environment);

pub(super) fn compared(a: &Environment, b: &Environment) -> SettingsCompared {
    let (of_a, of_b) = (&a.settings, &b.settings);
    let (a, b) = (Side(a), Side(b));
    let roles: BTreeSet<&String> = of_a.namespaces.keys().chain(of_b.namespaces.keys()).collect();
    let places: Vec<Option<&str>> =
        std::iter::once(None).chain(roles.iter().map(|role| Some(role.as_str()))).collect();
    let names: BTreeSet<&String> = [of_a, of_b]
        .into_iter()
        .flat_map(|settings| {
            settings.host.keys().chain(settings.namespaces.values().flat_map(BTreeMap::keys))
        })
        .collect();
    let mut found =
        SettingsCompared { not_compared: not_recorded(of_a, of_b), ..SettingsCompared::default() };
    for name in names {
        let values: Vec<_> =
            places.iter().map(|place| (a.value(*place, name), b.value(*place, name))).collect();
        if values.iter().any(|(a, b)| a.is_some() && b.is_some()) {
            found.compared += 1;
        }
        found.differences.extend(differing(name, &places, &values));
    }
    found
}

impl Side<'_> {
    /// The value in a namespace, or on the host; `None` where it was not looked for.
    fn value(&self, place: Option<&str>, name: &str) -> Option<String> {
        let of_place = place.and_then(|role| self.0.settings.namespaces.get(role));
        let look = |name: &str| {
            of_place.and_then(|own| own.get(name)).or_else(|| self.0.settings.host.get(name)).cloned()
        };
        if self.is_not_recorded(place, name) {
            return None;
        }
        look(name).or_else(|| self.of_default(name).and_then(|name| look(&name))).or_else(|| {
            // Of a device that was not used nothing was read; other kernels have other settings.
            (!is_of_device(name)).then(|| "none".to_owned())
        })
    }

    fn is_not_recorded(&self, place: Option<&str>, name: &str) -> bool {
        self.0.settings.not_recorded.keys().any(|key| match key.split_once(": ") {
            Some((role, key)) => place == Some(role) && name.starts_with(key),
            None => name.starts_with(key.as_str()),
        })
    }

    /// The name of what a device in use has where it has nothing else.
    fn of_default(&self, name: &str) -> Option<String> {
        let own = self.0.devices.iter().map(|device| format!(".{}.", device.name));
        let own = own.into_iter().find(|own| is_of_device(name) && name.contains(own))?;
        Some(name.replacen(&own, ".default.", 1))
    }
}

/// Whether it is a setting of one device, as the names in records are.
fn is_of_device(name: &str) -> bool {
    const GROUPS: [&str; 7] =
        [".feature.", ".ring.", ".coalesce.", ".channels.", ".queue.", ".driver.", ".irq."];
    const ENDS: [&str; 4] = [".tx_queue_len", ".threaded", ".gro_flush_timeout", ".napi_defer_hard_irqs"];
    if name.starts_with("net.") {
        let below = [".conf.", ".neigh."].into_iter().find_map(|folder| name.split_once(folder));
        return below.is_some_and(|(_, rest)| !rest.starts_with("all.") && !rest.starts_with("default."));
    }
    GROUPS.iter().any(|group| name.contains(group)) || ENDS.iter().any(|end| name.ends_with(end))
}

type Values = (Option<String>, Option<String>);

/// A difference by its bare name where all ends of the lab have it, or there is no lab; otherwise by where it is.
fn differing(name: &str, places: &[Option<&str>], values: &[Values]) -> Vec<Difference> {
    let differ = |(a, b): &Values| {
        let difference = Difference::new(name.to_owned(), a.clone()?, b.clone()?);
        (difference.a != difference.b).then_some(difference)
    };
    let all: Vec<Option<Difference>> = values.iter().map(differ).collect();
    match &all[..] {
        [host] => host.iter().cloned().collect(),
        [_, Some(first), rest @ ..] if rest.iter().all(|other| other.as_ref() == Some(first)) => {
            vec![first.clone()]
        }
        each => {
            let placed = |(place, difference): (&Option<&str>, &Option<Difference>)| {
                let what = format!("{}: {name}", place.unwrap_or("host"));
                Some(Difference { what, ..difference.clone()? })
            };
            places.iter().zip(each).filter_map(placed).collect()
        }
    }
}

fn not_recorded(a: &Settings, b: &Settings) -> Vec<NotCompared> {
    let mut all: BTreeMap<&String, Vec<(&str, &String)>> = BTreeMap::new();
    for (side, settings) in [("A", a), ("B", b)] {
        settings.not_recorded.iter().for_each(|(name, why)| all.entry(name).or_default().push((side, why)));
    }
    let lacking_one = |(name, lacking): (&String, Vec<(&str, &String)>)| {
        let sides: Vec<&str> = lacking.iter().map(|(side, _)| *side).collect();
        let why = lacking.first().map_or("", |(_, why)| why.as_str());
        let what = match name.trim_end_matches(": ") {
            "" => "settings".to_owned(),
            name => name.trim_end_matches('.').to_owned(),
        };
        NotCompared { what, why: format!("not recorded in {} ({why})", sides.join(" and ")) }
    };
    all.into_iter().map(lacking_one).collect()
}
