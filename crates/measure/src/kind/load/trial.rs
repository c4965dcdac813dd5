//! From what came of a flight to what the record says of it.

use netfathom_model::accounting::Fate;
use netfathom_model::plan::LoadPlan;
use netfathom_model::profile::Profile;
use netfathom_model::record::{
    Distribution, Echo, LoadResult, LoadSummary, LoadTrial, LoadTrialKind, Worker,
};
use netfathom_model::verdict::Verdict;
use netfathom_stats as stats;

use super::{judge, of_trial};
use crate::ground::processors::Cpus;
use crate::load::answers::Answers;
use crate::load::judge::share;
use crate::load::report::{lag_windows, load, merged};
use crate::load::sent::Sent;
use crate::load::shot::ShotOutcome;
use crate::load::window::PART_GRAIN;

/// The record's view of a trial, with its verdict.
pub fn recorded(
    plan: &LoadPlan,
    kind: LoadTrialKind,
    index: u32,
    started_after_ns: u64,
    cpus: &Cpus,
    outcome: &ShotOutcome,
) -> LoadTrial {
    let (profile, seed) = of_trial(plan, kind, index.into());
    let mut trial = LoadTrial {
        index,
        kind,
        started_after_ns,
        load: load(&outcome.sent, &outcome.read, profile.messages()),
        reached_per_s: outcome.sent.reached_per_s(),
        workers: outcome.senders.iter().zip(&cpus.senders).map(worker).collect(),
        intervals: (&outcome.sent.intervals).into(),
        wanted_intervals: wanted_intervals(&profile, seed, plan.workers),
        lag_windows: lag_windows(&outcome.sent),
        accounting: outcome.accounting.clone(),
        unsplit: outcome.unsplit,
        echo: outcome.answers.as_ref().map(Answers::record),
        verdict: Verdict::default(),
    };
    trial.verdict = judge::trial(&trial, outcome.ways.engine);
    trial
}

fn worker((sent, &cpu): (&Sent, &usize)) -> Worker {
    let lag_p99_ns = sent.lag.distribution.quantile(0.99).unwrap_or(0);
    Worker { cpu, sent: sent.accepted, lag_p99_ns, cpu_ns: sent.cpu_ns }
}

/// Time between neighbouring departures of the first worker, as a profile wants it.
fn wanted_intervals(profile: &Profile, seed: u64, workers: u32) -> Distribution {
    let mut intervals = stats::Distribution::new(PART_GRAIN);
    let mut last = None;
    for due_ns in profile.schedule(seed).lane(0, workers.into()) {
        if let Some(last_ns) = last.replace(due_ns) {
            intervals.add((due_ns - last_ns) as i64);
        }
    }
    (&intervals).into()
}

/// What the loaded trials say together; `None` before the first.
pub fn summary(result: &LoadResult) -> Option<LoadSummary> {
    let of = |kind| result.trials.iter().filter(move |t| t.kind == kind);
    let loaded: Vec<&LoadTrial> = of(LoadTrialKind::Loaded).collect();
    let lag = merged(loaded.iter().map(|t| &t.load.lag))?;
    let rates: Vec<f64> = loaded.iter().map(|t| t.reached_per_s).collect();
    let total = |of: fn(&LoadTrial) -> u64| -> u64 { loaded.iter().map(|t| of(t)).sum() };
    let (planned, sent) = (total(|t| t.load.planned), total(|t| t.load.sent));
    let delivered = total(|t| t.accounting.count(&Fate::Delivered));
    let unknown = total(|t| t.accounting.count(&Fate::Unknown));
    Some(LoadSummary {
        trials: loaded.len() as u32,
        reached_per_s: stats::mean(&rates),
        between_trials_per_s: stats::between_trials(&rates).map(|e| e.half_width),
        of_plan: share(sent, planned),
        lost: (unknown == 0).then(|| 1.0 - share(delivered, sent)),
        lag: (&lag).into(),
        echo_idle: answers(of(LoadTrialKind::Idle)),
        echo_loaded: answers(of(LoadTrialKind::Loaded)),
    })
}

/// The answers of several trials together; `None` where none were asked for.
fn answers<'a>(trials: impl Iterator<Item = &'a LoadTrial>) -> Option<Echo> {
    let echoes: Vec<&Echo> = trials.filter_map(|t| t.echo.as_ref()).collect();
    Some(Echo {
        answered: echoes.iter().map(|e| e.answered).sum(),
        response: (&merged(echoes.iter().map(|e| &e.response))?).into(),
        service: (&merged(echoes.iter().map(|e| &e.service))?).into(),
    })
}
