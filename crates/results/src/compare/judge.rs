//! What the values of a quantity say: the change, its interval, and whether it is beyond chance.

use std::collections::{BTreeMap, BTreeSet};

use netfathom_model::print::counted;
use netfathom_model::verdict::Level;
use netfathom_stats::{self as stats, Contrast};

use super::trust::LEAST_PAIRS;
use super::{Change, Compared, Comparison, Design, Outcome, Run, Scale, trust};
use crate::quantity::{Better, Quantity};

/// The level of a decision: of all that are decided together, one false alarm in a hundred comparisons of equal runs.
pub(crate) const LEVEL: f64 = 0.99;
/// The level of the interval that must lie short of a threshold.
pub(super) const STRICT: f64 = 0.95;
/// Power at the minimum detectable effect.
pub(super) const FOUND: f64 = 0.8;

/// What a run says, in the order of its record.
struct Side {
    all: Vec<Quantity>,
    /// By name: a record from elsewhere may have hundreds of thousands.
    places: BTreeMap<String, usize>,
}

impl Side {
    fn new(all: Vec<Quantity>) -> Self {
        let places = all.iter().enumerate().map(|(place, quantity)| (quantity.name.clone(), place)).collect();
        Self { all, places }
    }

    fn find(&self, name: &str) -> Option<&Quantity> {
        self.places.get(name).map(|&place| &self.all[place])
    }
}

/// What both runs of a pair say.
type Sides = (Side, Side);

/// Fills in all quantities that both sides have. The main ones are decided together, and so are the others; thresholds
/// have no part in it.
pub(super) fn fill(comparison: &mut Comparison, pairs: &[(&Run, &Run)], rounds: &[usize]) {
    let of = |run| Side::new(trust::quantities(run, comparison.forced));
    comparison.withheld = trust::withheld(pairs, comparison.forced);
    let mut sides: Vec<Sides> = pairs.iter().map(|(a, b)| (of(a), of(b))).collect();
    agree_on_main(&mut sides);
    let of_a = of_any(sides.iter().map(|(a, _)| &a.all));
    let of_b = of_any(sides.iter().map(|(_, b)| &b.all));
    let least = LEAST_PAIRS.min(sides.len());
    let counts = |name: &str| counting(&sides, name).len() >= least;
    let in_all = |name: &str| sides.iter().all(|(a, b)| a.find(name).is_some() && b.find(name).is_some());
    let only = |of: &[&Quantity]| -> Vec<String> {
        of.iter().map(|q| q.name.clone()).filter(|name| !in_all(name) && !counts(name)).collect()
    };
    (comparison.only_a, comparison.only_b) = (only(&of_a), only(&of_b));
    let shared: Vec<&Quantity> = of_a.into_iter().filter(|quantity| counts(&quantity.name)).collect();
    let weighed: Vec<Weighed> =
        shared.iter().map(|quantity| weigh(comparison.design, quantity, &sides, rounds)).collect();
    let main: Vec<bool> = shared.iter().map(|quantity| quantity.main).collect();
    let corrected = corrected(&weighed, &main);
    let levels = [false, true].map(|of| {
        // Of what has no likelihood nothing is decided.
        let family = main.iter().zip(&corrected).filter(|(main, _)| **main == of);
        Levels::of(&family.filter_map(|(_, chance)| *chance).collect::<Vec<_>>())
    });
    for (((quantity, weighed), own), chance) in shared.iter().zip(weighed).zip(&main).zip(&corrected) {
        let counted = counting(&sides, &quantity.name).into_iter().map(|(place, ..)| pairs[place]);
        let level = trust::level(counted, &quantity.name);
        comparison.quantities.push(concluded(quantity, level, weighed, *chance, levels[usize::from(*own)]));
    }
}

/// Of what is decided together.
#[derive(Clone, Copy)]
struct Levels {
    /// Where an interval excludes no change exactly if the corrected likelihood is below 1 - [`LEVEL`]: the more are
    /// significant, the lower (Benjamini & Yekutieli 2005, for the correction of Benjamini & Hochberg).
    decided: f64,
    /// Where nothing else is significant: decided together with others, a change is found less easily.
    hardest: f64,
}

impl Levels {
    fn of(chances: &[f64]) -> Self {
        let significant = chances.iter().filter(|&&chance| chance < 1.0 - LEVEL).count();
        let of = |part: usize| 1.0 - (1.0 - LEVEL) * part.max(1) as f64 / chances.len().max(1) as f64;
        Self { decided: of(significant), hardest: of(1) }
    }
}

/// What is a main quantity of one run is one of the comparison.
fn agree_on_main(sides: &mut [Sides]) {
    let all = || sides.iter().flat_map(|(a, b)| a.all.iter().chain(&b.all));
    let main: BTreeSet<String> = all().filter(|q| q.main).map(|q| q.name.clone()).collect();
    for quantity in sides.iter_mut().flat_map(|(a, b)| a.all.iter_mut().chain(&mut b.all)) {
        quantity.main |= main.contains(&quantity.name);
    }
}

/// Each quantity that one of the runs has, the main ones first.
fn of_any<'a>(runs: impl Iterator<Item = &'a Vec<Quantity>>) -> Vec<&'a Quantity> {
    let mut names = BTreeSet::new();
    let mut all: Vec<&Quantity> = runs.flatten().filter(|quantity| names.insert(&quantity.name)).collect();
    all.sort_by_key(|quantity| !quantity.main);
    all
}

/// The values of a quantity and what they say alone.
struct Weighed {
    a: Vec<f64>,
    b: Vec<f64>,
    rounds: Option<Vec<usize>>,
    scale: Scale,
    /// On the logarithms, of ratios.
    contrast: Option<Contrast>,
    /// The change itself, on the same scale.
    value: f64,
    /// How many pairs count, where they are not all.
    fewer: Option<String>,
}

/// The values in those pairs where both runs vouch for a quantity, with the pairs' places.
fn counting(sides: &[Sides], name: &str) -> Vec<(usize, Vec<f64>, Vec<f64>)> {
    let values = |side: &Side| side.find(name).map_or(&[][..], |q| &q.trials).to_vec();
    let both = sides.iter().enumerate().map(|(place, (a, b))| (place, values(a), values(b)));
    both.filter(|(_, a, b)| !a.is_empty() && !b.is_empty()).collect()
}

/// How many pairs count, and how many runs of each side keep the others from it; `None` where all count.
fn fewer(sides: &[Sides], name: &str, count: usize) -> Option<String> {
    let is_void = |side: &Side| side.find(name).is_some_and(|q| q.trials.is_empty());
    let is_missing = |side: &Side| side.find(name).is_none();
    let runs = |is: &dyn Fn(&Side) -> bool, what: &str| {
        let a = sides.iter().filter(|(a, _)| is(a)).count();
        let b = sides.iter().filter(|(_, b)| is(b)).count();
        (a + b > 0).then(|| format!("{what} in {} of A and {b} of B", counted(a, "run")))
    };
    let why: Vec<String> =
        [runs(&is_void, "VOID"), runs(&is_missing, "missing")].into_iter().flatten().collect();
    let all = sides.len();
    (count < all).then(|| format!("{count} of {all} pairs: {}", why.join(", ")))
}

fn weigh(design: Design, quantity: &Quantity, sides: &[Sides], rounds: &[usize]) -> Weighed {
    let all = counting(sides, &quantity.name);
    let fewer = fewer(sides, &quantity.name, all.len());
    let positive = all.iter().all(|(_, a, b)| a.iter().chain(b).all(|&value| value > 0.0));
    let scale = if positive { Scale::Ratio } else { Scale::Difference };
    let rounds = (design == Design::Pairs).then(|| all.iter().map(|&(place, ..)| rounds[place]).collect());
    let (a, b): (Vec<f64>, Vec<f64>) = match design {
        Design::Apart => all.into_iter().next().map(|(_, a, b)| (a, b)).unwrap_or_default(),
        Design::Pairs => all.iter().map(|(_, a, b)| (scale.mean(a), scale.mean(b))).unzip(),
    };
    let contrast = contrast(design, scale, &a, &b);
    let value = scale.change(&a, &b);
    Weighed { a, b, rounds, scale, contrast, value, fewer }
}

/// The change of the values of A to those of B; on the logarithms, of ratios.
pub(super) fn contrast(design: Design, scale: Scale, a: &[f64], b: &[f64]) -> Option<Contrast> {
    match design {
        Design::Apart => Contrast::apart(&scale.put(a), &scale.put(b)),
        Design::Pairs => scale.paired(a, b),
    }
}

impl Scale {
    fn put(self, values: &[f64]) -> Vec<f64> {
        match self {
            Self::Ratio => values.iter().map(|value| value.ln()).collect(),
            Self::Difference => values.to_vec(),
        }
    }

    fn mean(self, values: &[f64]) -> f64 {
        match self {
            Self::Ratio => stats::mean(&self.put(values)).exp(),
            Self::Difference => stats::mean(values),
        }
    }

    /// From the mean of A to that of B.
    pub(super) fn change(self, a: &[f64], b: &[f64]) -> f64 {
        stats::mean(&self.put(b)) - stats::mean(&self.put(a))
    }

    fn paired(self, a: &[f64], b: &[f64]) -> Option<Contrast> {
        let (a, b) = (self.put(a), self.put(b));
        Contrast::paired(&a.iter().zip(&b).map(|(a, b)| b - a).collect::<Vec<_>>())
    }

    /// Back from the logarithm, of ratios.
    pub(super) fn back(self, value: f64) -> f64 {
        match self {
            Self::Ratio => value.exp(),
            Self::Difference => value,
        }
    }
}

impl Weighed {
    /// Its likelihood by chance, as if it were alone.
    fn chance(&self) -> Option<f64> {
        self.contrast.and_then(|contrast| contrast.chance())
    }
}

/// The likelihood by chance of each, corrected within its family: the main ones, or the others.
fn corrected(weighed: &[Weighed], main: &[bool]) -> Vec<Option<f64>> {
    let mut all = vec![None; weighed.len()];
    for family in [true, false] {
        let (places, chances): (Vec<usize>, Vec<f64>) = (0..weighed.len())
            .filter(|&place| main[place] == family)
            .filter_map(|place| Some((place, weighed[place].chance()?)))
            .unzip();
        places.iter().zip(stats::corrected(&chances)).for_each(|(&place, chance)| all[place] = Some(chance));
    }
    all
}

fn concluded(
    quantity: &Quantity,
    level: Level,
    weighed: Weighed,
    chance: Option<f64>,
    levels: Levels,
) -> Compared {
    let Weighed { a, b, rounds, scale, contrast, value, fewer } = weighed;
    let same = a.iter().chain(&b).all(|v| v.total_cmp(&a[0]).is_eq());
    let outcome = outcome(quantity.better, value, chance, same);
    let has_spread = contrast.is_some_and(|contrast| contrast.error > 0.0);
    let smallest = contrast.filter(|_| has_spread).map(|contrast| match scale {
        Scale::Ratio => contrast.smallest(levels.hardest, FOUND).exp() - 1.0,
        Scale::Difference => contrast.smallest(levels.hardest, FOUND),
    });
    let interval = |level: f64| {
        let ends = contrast.filter(|_| has_spread || same).map(|contrast| contrast.interval(level));
        ends.map(|(low, high)| (scale.back(low), scale.back(high)))
    };
    Compared {
        name: quantity.name.clone(),
        title: quantity.title.clone(),
        unit: quantity.unit,
        better: quantity.better,
        main: quantity.main,
        level,
        a_mean: scale.mean(&a),
        b_mean: scale.mean(&b),
        change: Change {
            scale,
            value: scale.back(value),
            decided: interval(levels.decided),
            interval: interval(STRICT),
        },
        chance,
        smallest: smallest.filter(|smallest| smallest.is_finite()),
        outcome,
        note: note(&a, &b, scale, outcome, contrast, fewer.as_deref()),
        a,
        b,
        rounds,
    }
}

fn outcome(better: Better, value: f64, chance: Option<f64>, same: bool) -> Outcome {
    if same {
        return Outcome::Same;
    }
    if chance.is_none_or(|chance| chance >= 1.0 - LEVEL) {
        return Outcome::CannotTell;
    }
    match better {
        Better::Less if value < 0.0 => Outcome::Better,
        Better::More if value > 0.0 => Outcome::Better,
        Better::Less | Better::More => Outcome::Worse,
    }
}

fn note(
    a: &[f64],
    b: &[f64],
    scale: Scale,
    outcome: Outcome,
    contrast: Option<Contrast>,
    fewer: Option<&str>,
) -> Option<String> {
    let no_ratio = "values are zero or negative, so there is a difference and no ratio";
    let why = match (a.len(), b.len()) {
        _ if outcome == Outcome::Same => None,
        (1, 1) => Some("one trial each has no interval"),
        (1, _) => Some("one trial of A has no interval"),
        (_, 1) => Some("one trial of B has no interval"),
        _ if contrast.is_some_and(|contrast| contrast.error <= 0.0) => {
            Some("the values of a side do not differ among themselves, so chance cannot be estimated")
        }
        _ => None,
    };
    let ratio = (scale == Scale::Difference && outcome != Outcome::Same).then_some(no_ratio);
    let all: Vec<&str> = fewer.into_iter().chain(why).chain(ratio).collect();
    (!all.is_empty()).then(|| all.join("; "))
}
