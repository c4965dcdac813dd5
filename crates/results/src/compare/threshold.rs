//! Thresholds for changes, such as `tx.mean>5%`, and whether a comparison is beyond one.

use std::collections::BTreeSet;
use std::str::FromStr;

use itertools::Itertools as _;
use netfathom_model::print::listed;
use netfathom_model::units::parse_number;

use super::gate::{Gate, Gates, Passage, Tested};
use super::{Compared, Comparison, Outcome, Scale, UNDISTURBED, Withheld};
use crate::quantity::Unit;

/// A change that must not be.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    text: String,
    name: String,
    above: bool,
    limit: f64,
    kind: UnitKind,
}

/// What was written with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnitKind {
    /// It is a part of A, 0.05 for 5 %; with the others a difference.
    Percent,
    Plain,
    Time,
    Points,
}

/// Why a text is no threshold, or one for nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThresholdError {
    #[error(
        "--fail-if '{text}': {why}; write QUANTITY>CHANGE or QUANTITY<-CHANGE, such as 'tx.mean>5%', 'rate<-3%' or \
         'tx.p99>200ns'"
    )]
    Form { text: String, why: String },
    #[error("--fail-if '{text}': there is no quantity `{name}` to compare{near}")]
    Unknown {
        text: String,
        name: String,
        /// Names that are like it, or all.
        near: String,
    },
    /// That is no mistake in the text.
    #[error(
        "--fail-if '{text}': only {side} has {name}: runs of the other are VOID, or have none of it; of drops, \
         `drops` has all reasons"
    )]
    OneSided { text: String, name: String, side: &'static str },
    #[error("--fail-if '{text}': {name} is counted in {unit}; write {example}, or a part such as 5%")]
    Unit { text: String, name: String, unit: &'static str, example: &'static str },
    #[error(
        "--fail-if '{text}': {name} has values that are zero or negative, which have no percentage; write a \
         difference such as {example}"
    )]
    NoRatio { text: String, name: String, example: &'static str },
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, ThresholdError> {
        let wrong = |why: &str| ThresholdError::Form { text: text.into(), why: why.into() };
        let place = text.find(['<', '>']).ok_or_else(|| wrong("there is neither > nor < in it"))?;
        let (name, above) = (text[..place].trim(), text[place..].starts_with('>'));
        if name.is_empty() {
            return Err(wrong("there is no quantity before the sign"));
        }
        let change = text[place + 1..].trim();
        if change.starts_with('=') {
            return Err(wrong("there is only > and <, since no change is exactly anything"));
        }
        let (limit, kind) = limit(change).ok_or_else(|| {
            wrong(if change.is_empty() {
                "there is no change behind the sign"
            } else {
                "the change is no number"
            })
        })?;
        if !limit.is_finite() {
            return Err(wrong("the change is no finite number"));
        }
        if kind == UnitKind::Percent && limit <= -1.0 {
            return Err(wrong("nothing can fall by all of it"));
        }
        if above && limit < 0.0 || !above && limit > 0.0 {
            return Err(wrong("it would hold where nothing has changed"));
        }
        Ok(Self { text: text.into(), name: name.into(), above, limit, kind })
    }
}

/// `5%`, `-200ns`, `0.5pp`, `1k`.
fn limit(text: &str) -> Option<(f64, UnitKind)> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| *n >= 0.0).map(|n| sign * n);
    if let Some(percent) = digits.strip_suffix('%') {
        return Some((number(percent)? / 100.0, UnitKind::Percent));
    }
    let times = [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6)];
    let suffixed = times.into_iter().map(|(unit, ns)| (unit, ns, UnitKind::Time));
    for (unit, factor, kind) in suffixed.chain([("pp", 0.01, UnitKind::Points), ("s", 1e9, UnitKind::Time)]) {
        if let Some(value) = digits.strip_suffix(unit).and_then(number) {
            return Some((value * factor, kind));
        }
    }
    let value = number(digits).or_else(|| parse_number(digits).ok().map(|n| sign * n))?;
    Some((value, UnitKind::Plain))
}

/// What a comparison says of thresholds.
///
/// # Errors
/// If there is no such quantity, or it is counted in something else.
pub fn gates(comparison: &Comparison, thresholds: &[Threshold]) -> Result<Gates, ThresholdError> {
    if comparison.is_refused() {
        thresholds.iter().try_for_each(|threshold| threshold.check_known(comparison))?;
        let gates = thresholds.iter().map(|threshold| threshold.untested(None)).collect();
        return Ok(Gates { gates, together: 0 });
    }
    let tested: Vec<Result<Tested<'_>, String>> =
        thresholds.iter().map(|threshold| threshold.tested(comparison)).collect::<Result<_, _>>()?;
    let with_a_spread = tested.iter().flatten().filter(|tested| tested.has_spread());
    let together = with_a_spread.map(Tested::name).collect::<BTreeSet<_>>().len();
    let gates = thresholds.iter().zip(tested).map(|(threshold, tested)| match tested {
        Ok(tested) => tested.gate(threshold.of(tested.name()).untested(None), together),
        Err(why) => threshold.untested(Some(why)),
    });
    Ok(Gates { gates: gates.collect(), together })
}

impl Threshold {
    fn untested(&self, why: Option<String>) -> Gate {
        let (threshold, quantity) = (self.text.clone(), self.name.clone());
        let passage = Passage::NotTested;
        Gate { threshold, quantity, passage, change: None, interval: None, pairs_needed: None, why }
    }

    /// The quantity beside the limit, or why it is not compared.
    fn tested<'a>(&self, comparison: &'a Comparison) -> Result<Result<Tested<'a>, String>, ThresholdError> {
        match self.find(comparison)? {
            Ok(quantity) => {
                let (limit, scale) = self.on_scale(quantity)?;
                Ok(Ok(Tested::new(comparison.design, quantity, scale, limit, self.above)))
            }
            Err(why) => Ok(Err(why)),
        }
    }

    /// Checks that runs that cannot be compared may have it; without any quantity they may have each.
    fn check_known(&self, comparison: &Comparison) -> Result<(), ThresholdError> {
        let known = &comparison.known;
        let of_all = |name: &str| format!(".{name}").replace(UNDISTURBED, ".");
        let wanted = of_all(&self.name);
        if known.is_empty() || known.keys().any(|name| of_all(name) == wanted) {
            return Ok(());
        }
        let main = known.iter().filter(|(_, main)| **main).map(|(name, _)| name);
        match self.of(&wanted[1..]).only_end(main)? {
            None => Err(self.unknown(comparison)),
            Some(_) => Ok(()),
        }
    }

    /// The quantity, or why it is not compared.
    fn find<'a>(&self, comparison: &'a Comparison) -> Result<Result<&'a Compared, String>, ThresholdError> {
        if let Some(named) = comparison.quantities.iter().find(|quantity| quantity.name == self.name) {
            return Ok(Ok(named));
        }
        match comparison.withheld.get(&self.name) {
            Some(Withheld { void, .. }) => Ok(Err(format!(
                "{void} of {} runs are VOID as far as {} is concerned{}",
                comparison.a.len() + comparison.b.len(),
                self.name,
                self.undisturbed(comparison)
                    .map_or_else(String::new, |name| format!("; {name} can be decided"))
            ))),
            None if comparison.is_in_too_few(&self.name) => {
                Ok(Err("fewer than two rounds have both of its values: more --rounds".into()))
            }
            None => self.by_end(comparison),
        }
    }

    /// The same for the only quantity with such an end of its name, of the main ones and of those that are left out.
    fn by_end<'a>(&self, comparison: &'a Comparison) -> Result<Result<&'a Compared, String>, ThresholdError> {
        let main = comparison.quantities.iter().filter(|quantity| quantity.main).map(|q| &q.name);
        let withheld = comparison.withheld.iter().filter(|(_, of)| of.main).map(|(name, _)| name);
        match self.only_end(main.chain(withheld))? {
            None => Err(self.unknown(comparison)),
            Some(name) => self.of(name).find(comparison),
        }
    }

    /// The one of these names that ends with it, if any does.
    fn only_end<'a>(
        &self,
        names: impl Iterator<Item = &'a String>,
    ) -> Result<Option<&'a String>, ThresholdError> {
        let end = format!(".{}", self.name);
        let all: BTreeSet<&String> = names.filter(|name| name.ends_with(&end)).collect();
        // Where some runs have undisturbed messages and some have not, all messages are meant.
        let is_of_some =
            |name: &String| name.contains(UNDISTURBED) && all.contains(&name.replace(UNDISTURBED, "."));
        let all: BTreeSet<&String> = all.iter().copied().filter(|name| !is_of_some(name)).collect();
        let mut names = all.iter().copied();
        match (names.next(), names.next()) {
            (only, None) => Ok(only),
            _ => Err(ThresholdError::Unknown {
                text: self.text.clone(),
                name: self.name.clone(),
                near: format!("; these end with it: {}", listed(all)),
            }),
        }
    }

    fn of(&self, name: &str) -> Self {
        Self { name: name.into(), ..self.clone() }
    }

    /// The same quantity over undisturbed messages, where that was compared.
    fn undisturbed<'a>(&self, comparison: &'a Comparison) -> Option<&'a str> {
        let (way, what) = self.name.rsplit_once('.')?;
        let name = format!("{way}.undisturbed.{what}");
        comparison.quantities.iter().map(|quantity| quantity.name.as_str()).find(|known| *known == name)
    }

    /// The limit on the scale that it is written in: for a part the logarithm of a ratio.
    fn on_scale(&self, quantity: &Compared) -> Result<(f64, Scale), ThresholdError> {
        let (unit, example) = written(quantity.unit);
        let (text, name) = (self.text.clone(), quantity.name.clone());
        match (self.kind, quantity.unit) {
            (UnitKind::Percent, _) if quantity.change.scale == Scale::Ratio => {
                Ok((self.limit.ln_1p(), Scale::Ratio))
            }
            // Nothing changed, whatever a part of it would be.
            (UnitKind::Percent, _) if quantity.outcome == Outcome::Same => Ok((0.0, Scale::Difference)),
            (UnitKind::Percent, _) => Err(ThresholdError::NoRatio { text, name, example }),
            (UnitKind::Time, Unit::Nanoseconds) | (UnitKind::Points, Unit::Share) => {
                Ok((self.limit, Scale::Difference))
            }
            (UnitKind::Plain, of) if of != Unit::Nanoseconds => Ok((self.limit, Scale::Difference)),
            _ => Err(ThresholdError::Unit { text, name, unit, example }),
        }
    }

    fn unknown(&self, comparison: &Comparison) -> ThresholdError {
        let of = |name: &str| likeness(&self.name, name);
        let compared = comparison.quantities.iter().map(|quantity| &quantity.name);
        let names = compared.chain(comparison.known.keys()).map(String::as_str);
        let names: Vec<&str> = names.sorted_by(|a, b| of(b).total_cmp(&of(a))).take(4).collect();
        let elsewhere = [("A", &comparison.only_a), ("B", &comparison.only_b)];
        let (text, name) = (self.text.clone(), self.name.clone());
        if let Some((side, _)) = elsewhere.into_iter().find(|(_, names)| names.contains(&self.name)) {
            return ThresholdError::OneSided { text, name, side };
        }
        let near = match names.as_slice() {
            [] => ", nor any other".into(),
            names => format!("; did you mean {}? (--json has all names)", names.join(", ")),
        };
        ThresholdError::Unknown { text, name, near }
    }
}

/// 1 for the same, 0 for nothing in common; what holds the other is near.
fn likeness(wanted: &str, name: &str) -> f64 {
    let part = if name.contains(wanted) { 0.5 } else { 0.0 };
    part + strsim::jaro_winkler(wanted, name)
}

/// A unit in words, and how a difference is written in it.
fn written(unit: Unit) -> (&'static str, &'static str) {
    match unit {
        Unit::Nanoseconds => ("time", "200ns, 1.5us or 2ms"),
        Unit::PerSecond => ("things a second", "500 or 10k"),
        Unit::BytesPerSecond => ("bytes a second", "1000 or 10M"),
        Unit::Share => ("parts of a whole", "0.001, or 0.1pp for points of percent"),
        Unit::Ratio => ("times", "0.1"),
        Unit::Count => ("pieces", "5"),
    }
}
