//! How far runs can be compared: verdicts, unfinished runs, runs without a trial.

use std::collections::BTreeMap;

use netfathom_model::grouping::by_key;
use netfathom_model::print::listed_first;
use netfathom_model::record::State;
use netfathom_model::verdict::{Level, Part, Reason};

use super::{Design, Run, Withheld};
use crate::quantity::{self, Quantity};

/// What a run says; of what it does not vouch for without a value, unless that is forced.
pub(super) fn quantities(run: &Run, force: bool) -> Vec<Quantity> {
    let mut all = quantity::of(&run.record.measurement);
    let is_void = |q: &&mut Quantity| !force && vouched(run, &q.name) == Level::Void;
    all.iter_mut().filter(is_void).for_each(|q| q.trials.clear());
    all
}

fn vouches(run: &Run) -> bool {
    quantities(run, false).iter().any(|q| !q.trials.is_empty())
}

/// How far runs vouch for a quantity: the worst of the pairs that count.
pub(super) fn level<'a>(counted: impl Iterator<Item = (&'a Run, &'a Run)>, name: &str) -> Level {
    counted.map(|(a, b)| vouched(a, name).max(vouched(b, name))).max().unwrap_or_default()
}

fn vouched(run: &Run, name: &str) -> Level {
    quantity::level(&run.record.measurement, &run.record.verdict, name)
}

/// What some runs do not vouch for.
pub(super) fn withheld(pairs: &[(&Run, &Run)], force: bool) -> BTreeMap<String, Withheld> {
    let mut withheld: BTreeMap<String, Withheld> = BTreeMap::new();
    for run in pairs.iter().flat_map(|&(a, b)| [a, b]).filter(|_| !force) {
        for quantity in quantity::of(&run.record.measurement) {
            if vouched(run, &quantity.name) == Level::Void {
                let of = withheld.entry(quantity.name).or_default();
                of.void += 1;
                of.main |= quantity.main;
            }
        }
    }
    withheld
}

/// The pairs that count, and remarks on the others.
#[derive(Default)]
pub(super) struct Trusted<'a> {
    pub pairs: Vec<(&'a Run, &'a Run)>,
    /// Which they are, from 1.
    pub rounds: Vec<usize>,
    pub obstacles: Vec<String>,
    pub cautions: Vec<String>,
}

/// Names of quantities in a remark.
const MOST_NAMED: usize = 3;

/// Fewer pairs have no interval.
pub(super) const LEAST_PAIRS: usize = 2;

pub(super) fn trusted<'a>(design: Design, pairs: &[(&'a Run, &'a Run)], force: bool) -> Trusted<'a> {
    let mut trusted = Trusted::default();
    let mut unusable_pairs: Vec<String> = Vec::new();
    for (round, &(a, b)) in (1..).zip(pairs) {
        let sides = named(design, round, (a, b));
        let wrong: Vec<String> = sides.iter().filter_map(|(name, run)| unusable(name, run)).collect();
        if design == Design::Apart || force || wrong.is_empty() {
            trusted.pairs.push((a, b));
            trusted.rounds.push(round);
        }
        match design {
            Design::Apart => trusted.obstacles.extend(wrong),
            Design::Pairs => unusable_pairs.extend(wrong.into_iter().next()),
        }
    }
    let (remarks, what) = if force {
        (&mut trusted.obstacles, "should be left out")
    } else {
        (&mut trusted.cautions, "are left out")
    };
    remarks.extend(unusable_pairs.first().map(|first| {
        format!("{} of {} pairs {what}; the first of them: {first}", unusable_pairs.len(), pairs.len())
    }));
    if design == Design::Pairs && trusted.pairs.len() < LEAST_PAIRS {
        let (left, all) = (trusted.pairs.len(), pairs.len());
        let remedy = if left == all { "take more rounds" } else { "remove what makes the others VOID" };
        trusted
            .obstacles
            .push(format!("{left} of {all} pairs can be compared, and two are the minimum: {remedy}"));
    }
    if force {
        let runs = (1..).zip(pairs).flat_map(|(round, &pair)| named(design, round, pair));
        trusted.obstacles.extend(runs.filter_map(|(name, run)| {
            let void = in_part(run, Level::Void)?;
            Some(format!("{name} has its {} VOID: {}", void.scope(), void.text))
        }));
    }
    let counted = trusted.rounds.iter().zip(&trusted.pairs);
    let remarks = cautions(counted.flat_map(|(&round, &pair)| named(design, round, pair)), force);
    trusted.cautions.extend(remarks);
    trusted.cautions.extend(pairs.iter().filter_map(|&(a, b)| copied(a, b)));
    if design == Design::Apart {
        trusted.cautions.push(
            "the runs were taken one after the other: what the machine did differently meanwhile is part of the \
             change, and trials of one run share it; `netfathom compare --run` interleaves both"
                .into(),
        );
    }
    trusted
}

/// The runs of a pair by their places: their paths are long, and stand beside these elsewhere.
fn named<'a>(design: Design, round: usize, (a, b): (&'a Run, &'a Run)) -> [(String, &'a Run); 2] {
    [("A", a), ("B", b)].map(|(side, run)| match design {
        Design::Apart => (side.to_owned(), run),
        Design::Pairs => (format!("{side} of round {round}"), run),
    })
}

/// Why a run is not to be compared in anything.
fn unusable(name: &str, run: &Run) -> Option<String> {
    let record = &run.record;
    if quantity::of(&record.measurement).is_empty() {
        return Some(format!("{name} has no finished trial: let it run to its end"));
    }
    let reason = record.verdict.reasons.iter().find(|reason| reason.level == Level::Void);
    let why = reason.map_or("no reason is recorded", |reason| reason.text.as_str());
    (!vouches(run)).then(|| format!("{name} is VOID: {why}"))
}

/// What lowers the trust in runs that are compared, each once, with how many it is true of.
fn cautions<'a>(runs: impl Iterator<Item = (String, &'a Run)>, force: bool) -> Vec<String> {
    let cautions = runs.flat_map(|(name, run)| lacks(run, force).map(move |text| (text, name.clone())));
    let who = |names: &[String]| match names {
        [one] => format!("{one} is"),
        [first, second] => format!("{first} and {second} are"),
        many => format!("{} runs are", many.len()),
    };
    by_key(cautions).into_iter().map(|(text, names)| format!("{} {text}", who(&names))).collect()
}

fn lacks(run: &Run, force: bool) -> impl Iterator<Item = String> {
    let state = match run.record.state {
        State::Complete => None,
        State::Partial => Some("not whole: its record is partial".to_owned()),
        State::Interrupted => Some("not whole: ended early, with fewer trials than planned".to_owned()),
    };
    let verdict = &run.record.verdict;
    let (level, more) = (verdict.level.name(), more(run));
    let but = if verdict.level == Level::Void { String::new() } else { format!("{level}, but ") };
    let trust = match (in_part(run, Level::Void), verdict.level) {
        // It is an obstacle then.
        (Some(_), _) if force => None,
        (Some(void), _) => {
            let (scope, affects) = (void.scope(), affects(run, Level::Void, "so the answer is without"));
            Some(format!("{but}VOID in {scope}, {affects}: {}{more}", void.text))
        }
        (None, Level::Degraded) => Some(format!("DEGRADED: {}", reasons(run))),
        (None, _) => in_part(run, Level::Degraded).map(|reason| {
            let affects = affects(run, Level::Degraded, "which lowers the trust in");
            format!("{level}, but DEGRADED in {}, {affects}", reason.scope())
        }),
    };
    state.into_iter().chain(trust)
}

/// Which main quantities are of this level, such as `so the answer is without rate`.
fn affects(run: &Run, level: Level, how: &str) -> String {
    let all = quantity::of(&run.record.measurement).into_iter();
    let names = all.filter(|q| q.main && vouched(run, &q.name) == level).map(|q| q.name);
    match listed_first(MOST_NAMED, names) {
        names if names.is_empty() => "which no main quantity depends on".into(),
        names => format!("{how} {names}"),
    }
}

/// Why a run vouches less for some of its quantities.
fn in_part(run: &Run, level: Level) -> Option<&Reason> {
    let vouches = vouches(run);
    run.record.verdict.shown().find(move |r| vouches && r.level == level && is_of_quantities(r))
}

/// Whether it is about what is compared, and not about the overhead or the cross-check.
fn is_of_quantities(reason: &Reason) -> bool {
    let is_other = |part: &Part| matches!(part, Part::Overhead | Part::CrossCheck);
    reason.about.is_empty() || !reason.about.iter().all(is_other)
}

fn reasons(run: &Run) -> String {
    let first = run.record.verdict.deciding().map_or("no reason is recorded", |r| r.text.as_str());
    format!("{first}{}", more(run))
}

fn more(run: &Run) -> String {
    match run.record.verdict.reasons.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    }
}

fn copied(a: &Run, b: &Run) -> Option<String> {
    (a.record.id == b.record.id).then(|| {
        format!(
            "{} and {} both say that they are {}: one is a copy that was changed",
            a.name, b.name, a.record.id
        )
    })
}
