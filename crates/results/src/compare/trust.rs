//! How far runs can be compared: verdicts, unfinished runs, runs without a trial.

use std::collections::BTreeMap;

use netfathom_model::record::State;
use netfathom_model::verdict::Level;

use super::{Design, Run, Withheld};
use crate::quantity::{self, Quantity};

/// What a run says, as far as it vouches for it, or all of it.
pub(super) fn quantities(run: &Run, force: bool) -> Vec<Quantity> {
    let mut all = quantity::of(&run.record.measurement);
    all.retain(|q| force || vouched(run, &q.name) < Level::Void);
    all
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
pub(super) struct Trusted<'a> {
    pub pairs: Vec<(&'a Run, &'a Run)>,
    pub obstacles: Vec<String>,
    pub cautions: Vec<String>,
}

/// Fewer pairs have no interval.
const LEAST_PAIRS: usize = 2;

pub(super) fn trusted<'a>(design: Design, pairs: &[(&'a Run, &'a Run)], force: bool) -> Trusted<'a> {
    let mut trusted = Trusted { pairs: Vec::new(), obstacles: Vec::new(), cautions: Vec::new() };
    let mut left_out: Vec<String> = Vec::new();
    for &(a, b) in pairs {
        let wrong: Vec<String> = [a, b].into_iter().filter_map(|run| unusable(run, design)).collect();
        match design {
            Design::Apart => trusted.obstacles.extend(wrong),
            Design::Pairs if force => trusted.cautions.extend(wrong),
            Design::Pairs => {
                left_out.extend(wrong.first().cloned());
                if !wrong.is_empty() {
                    continue;
                }
            }
        }
        trusted.pairs.push((a, b));
    }
    trusted.cautions.extend(left_out.first().map(|first| {
        format!("{} of {} pairs are left out; the first of them: {first}", left_out.len(), pairs.len())
    }));
    if design == Design::Pairs && trusted.pairs.len() < LEAST_PAIRS {
        let (left, all) = (trusted.pairs.len(), pairs.len());
        let remedy =
            if left_out.is_empty() { "take more rounds" } else { "see to what makes the others VOID" };
        trusted
            .obstacles
            .push(format!("{left} of {all} pairs can be compared, and two are the minimum: {remedy}"));
    }
    trusted.cautions.extend(cautions(&trusted.pairs));
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

/// Why a run is not to be compared: one of many pairs is whole or left out, of a single one some quantities may do.
fn unusable(run: &Run, design: Design) -> Option<String> {
    let record = &run.record;
    if quantity::of(&record.measurement).is_empty() {
        return Some(format!("{} has no finished trial: let it run to its end", run.name));
    }
    let is_void = match design {
        Design::Pairs => record.verdict.level == Level::Void,
        Design::Apart => quantities(run, false).is_empty(),
    };
    let reason = record.verdict.reasons.iter().find(|reason| reason.level == Level::Void);
    let why = reason.map_or("no reason is recorded", |reason| reason.text.as_str());
    is_void.then(|| format!("{} is VOID: {why}", run.name))
}

/// What lowers the trust in runs that are compared, each once, with how many it is true of.
fn cautions(pairs: &[(&Run, &Run)]) -> Vec<String> {
    let mut cautions: Vec<(String, Vec<&str>)> = Vec::new();
    for run in pairs.iter().flat_map(|&(a, b)| [a, b]) {
        for text in lacks(run) {
            match cautions.iter_mut().find(|(known, _)| *known == text) {
                Some((_, names)) => names.push(&run.name),
                None => cautions.push((text, vec![&run.name])),
            }
        }
    }
    let who = |names: &[&str]| match names {
        [one] => format!("{one} is"),
        [first, second] => format!("{first} and {second} are"),
        many => format!("{} runs are", many.len()),
    };
    cautions.into_iter().map(|(text, names)| format!("{} {text}", who(&names))).collect()
}

fn lacks(run: &Run) -> impl Iterator<Item = String> {
    let state = match run.record.state {
        State::Complete => None,
        State::Partial => Some("not whole: trials were still to come, or it was killed".to_owned()),
        State::Interrupted => Some("not whole: ended early, with fewer trials than planned".to_owned()),
    };
    let partly = !quantities(run, false).is_empty();
    let verdict = &run.record.verdict;
    let void = verdict.shown().find(|r| partly && r.level == Level::Void);
    let trust = match (void, verdict.level) {
        (Some(void), level) => {
            let (scope, more) = (void.scope(), more(run));
            Some(format!("{}, its {scope} VOID and not compared: {}{more}", level.name(), void.text))
        }
        (None, Level::Degraded) => Some(format!("DEGRADED: {}", reasons(run))),
        (None, _) => None,
    };
    state.into_iter().chain(trust)
}

fn reasons(run: &Run) -> String {
    let all = &run.record.verdict.reasons;
    let first =
        all.iter().find(|r| r.level == Level::Degraded).map_or("no reason is recorded", |r| r.text.as_str());
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
