//! How far runs can be compared: verdicts, unfinished runs, runs without a trial.

use netfathom_model::record::State;
use netfathom_model::verdict::Level;

use super::{Design, Run};
use crate::quantity;

/// The pairs that count, and what must be said of the others.
pub(super) struct Trusted<'a> {
    pub pairs: Vec<(&'a Run, &'a Run)>,
    pub obstacles: Vec<String>,
    pub cautions: Vec<String>,
}

/// Fewer pairs have no interval.
const LEAST_PAIRS: usize = 2;

pub(super) fn of<'a>(design: Design, pairs: &[(&'a Run, &'a Run)], force: bool) -> Trusted<'a> {
    let mut trusted = Trusted { pairs: Vec::new(), obstacles: Vec::new(), cautions: Vec::new() };
    for &(a, b) in pairs {
        let wrong: Vec<String> = [a, b].into_iter().filter_map(unusable).collect();
        match design {
            Design::Apart => trusted.obstacles.extend(wrong),
            Design::Pairs if !wrong.is_empty() && !force => {
                trusted.cautions.extend(wrong.into_iter().map(|why| format!("a pair is left out: {why}")));
                continue;
            }
            Design::Pairs => trusted.cautions.extend(wrong),
        }
        [a, b].into_iter().for_each(|run| trusted.cautions.extend(cautions(run)));
        trusted.pairs.push((a, b));
    }
    if design == Design::Pairs && trusted.pairs.len() < LEAST_PAIRS {
        let (left, all) = (trusted.pairs.len(), pairs.len());
        let text = format!(
            "{left} of {all} pairs can be compared, and chance is told from two on; take more rounds"
        );
        trusted.obstacles.push(text);
    }
    if let Some(&(a, b)) = pairs.first() {
        trusted.cautions.extend(copied(a, b));
    }
    if design == Design::Apart {
        trusted.cautions.push(
            "the runs were taken one after the other: what the machine did differently meanwhile is part of the \
             change, and trials of one run share it; `netfathom compare --run` takes both by turns"
                .into(),
        );
    }
    trusted
}

/// Why a run is not to be compared.
fn unusable(run: &Run) -> Option<String> {
    let record = &run.record;
    if quantity::of(&record.measurement).is_empty() {
        return Some(format!("{} has no finished trial: let it run to its end", run.name));
    }
    let reason = record.verdict.reasons.iter().find(|reason| reason.level == Level::Void);
    let why = reason.map_or("no reason is told", |reason| reason.text.as_str());
    (record.verdict.level == Level::Void).then(|| format!("{} is VOID: {why}", run.name))
}

fn cautions(run: &Run) -> impl Iterator<Item = String> {
    let state = match run.record.state {
        State::Complete => None,
        State::Partial => Some(format!("{} is not whole: it goes on, or was killed", run.name)),
        State::Interrupted => Some(format!("{} was ended early: it has fewer trials than planned", run.name)),
    };
    let level = (run.record.verdict.level == Level::Degraded)
        .then(|| format!("{} is DEGRADED: {}", run.name, reasons(run)));
    state.into_iter().chain(level)
}

fn reasons(run: &Run) -> String {
    let all = &run.record.verdict.reasons;
    let first =
        all.iter().find(|r| r.level == Level::Degraded).map_or("no reason is told", |r| r.text.as_str());
    let more = all.len().saturating_sub(1);
    if more == 0 { first.to_owned() } else { format!("{first} (and {more} more)") }
}

fn copied(a: &Run, b: &Run) -> Option<String> {
    (a.record.id == b.record.id).then(|| {
        format!(
            "{} and {} both say that they are {}: one is a copy that was changed",
            a.name, b.name, a.record.id
        )
    })
}
