//! When a trial of the load can be trusted, beyond what holds of every load.

use std::sync::LazyLock;

use netfathom_model::accounting::{Accounting, Fate};
use netfathom_model::engine::Engine;
use netfathom_model::record::{Load, LoadTrial, LoadTrialKind};
use netfathom_model::verdict::{Level, Verdict};

use crate::load::judge::{
    self, Judged, NO_FRAME_TAKEN, Rule, flag, lateness_rules, load_rules, messages_a_packet, no_number,
    percent, share, unsplit,
};

impl Judged for LoadTrial {
    fn load(&self) -> &Load {
        &self.load
    }

    fn accounting(&self) -> &Accounting {
        &self.accounting
    }

    fn arrivals_known(&self) -> bool {
        self.accounting.count(&Fate::Unknown) == 0
    }
}

static GSO_RULES: LazyLock<Vec<Rule<LoadTrial>>> =
    LazyLock::new(|| with(Rule::degraded(0.0, messages_a_buffer, unsplit, "{}")));

static XDP_RULES: LazyLock<Vec<Rule<LoadTrial>>> = LazyLock::new(|| {
    let value = |t: &LoadTrial| flag(t.load.sent == 0 && !t.load.refused.is_empty());
    with(Rule::void(0.0, value, no_number, NO_FRAME_TAKEN))
});

static OTHER_RULES: LazyLock<Vec<Rule<LoadTrial>>> =
    LazyLock::new(|| own_rules().into_iter().chain(every_load()).collect());

/// The rules of one engine: what is its own comes first.
fn with(own: Rule<LoadTrial>) -> Vec<Rule<LoadTrial>> {
    [own].into_iter().chain(own_rules()).chain(every_load()).collect()
}

fn every_load() -> impl Iterator<Item = Rule<LoadTrial>> {
    load_rules().into_iter().chain(lateness_rules())
}

fn own_rules() -> [Rule<LoadTrial>; 2] {
    [
        Rule::degraded(
            0.0,
            |t| flag(!t.arrivals_known()),
            no_number,
            "what arrived is unknown (--one-way): these are the messages sent",
        ),
        Rule::degraded(
            0.001,
            unanswered,
            percent,
            "{} of the delivered messages got no answer: times are of the rest; lower the rate",
        ),
    ]
}

/// Messages per packet of a trial with unsplit buffers; 0 otherwise. A device that was not queried
/// reveals itself if it counts half as many packets as messages.
fn messages_a_buffer(trial: &LoadTrial) -> f64 {
    let messages = messages_a_packet(&trial.accounting);
    if trial.unsplit || messages > 2.0 { messages.max(1.0) } else { 0.0 }
}

fn unanswered(trial: &LoadTrial) -> f64 {
    let delivered = trial.accounting.count(&Fate::Delivered);
    trial.echo.as_ref().map_or(0.0, |e| share(delivered.saturating_sub(e.answered), delivered))
}

pub fn trial(trial: &LoadTrial, engine: Engine) -> Verdict {
    judge::trial(rules(engine), trial)
}

/// How far the run can be trusted: its loaded trials, and what rests on the idle ones.
pub fn run(trials: &[LoadTrial], engine: Engine, planned: u32) -> Verdict {
    let of = |kind| -> Vec<&LoadTrial> { trials.iter().filter(|t| t.kind == kind).collect() };
    let mut verdict = judge::run(rules(engine), &of(LoadTrialKind::Loaded), planned);
    let idle = of(LoadTrialKind::Idle);
    let void = idle.iter().filter(|t| t.verdict.level == Level::Void).count();
    if void > 0 {
        let text =
            format!("{void} of {} idle trials are VOID: the times of the idle echo are doubtful", idle.len());
        verdict.lower(Level::Degraded, text);
    }
    verdict
}

/// Other engines put single packets on the device, whatever its driver counts.
fn rules(engine: Engine) -> &'static [Rule<LoadTrial>] {
    match engine {
        Engine::Gso => &GSO_RULES,
        Engine::Xdp => &XDP_RULES,
        _ => &OTHER_RULES,
    }
}
