//! When a trial of the load can be trusted, beyond what holds of every load.

use std::sync::LazyLock;

use netfathom_model::accounting::{Accounting, Fate};
use netfathom_model::engine::Engine;
use netfathom_model::record::{Load, LoadTrial, LoadTrialKind};
use netfathom_model::verdict::{Level, Verdict};

use crate::accounting::DEVICE_OUT;
use crate::judge::{self, Judged, Rule, load_rules, percent, share};

impl Judged for LoadTrial {
    fn load(&self) -> &Load {
        &self.load
    }

    fn accounting(&self) -> &Accounting {
        &self.accounting
    }

    fn is_told(&self) -> bool {
        self.accounting.count(&Fate::Untold) == 0
    }
}

static RULES: LazyLock<Vec<Rule<LoadTrial>>> =
    LazyLock::new(|| own_rules().into_iter().chain(load_rules()).collect());

fn own_rules() -> [Rule<LoadTrial>; 3] {
    [
        Rule {
            level: Level::Degraded,
            limit: 2.0,
            value: messages_a_packet,
            text: |v| {
                format!(
                    "GSO super-packets: the device counted one packet for {v:.0} messages, so they left it unsplit and no wire has carried them singly; turn the offload off: ethtool -K DEVICE tx-udp-segmentation off"
                )
            },
            strict: true,
        },
        Rule {
            level: Level::Degraded,
            limit: 0.0,
            value: |t| if t.is_told() { 0.0 } else { 1.0 },
            text: |_| "nobody told what arrived: this is what left, no more (--one-way)".into(),
            strict: true,
        },
        Rule {
            level: Level::Degraded,
            limit: 0.001,
            value: unanswered,
            text: |v| {
                format!(
                    "{} of the messages that arrived were not answered; response and service are those of the others",
                    percent(v)
                )
            },
            strict: false,
        },
    ]
}

/// Messages that the device of the sender saw as one packet.
fn messages_a_packet(trial: &LoadTrial) -> f64 {
    let out = trial.accounting.counters.iter().find(|c| c.counter == DEVICE_OUT);
    out.map_or(0.0, |c| c.expected as f64 / c.observed.max(1) as f64)
}

fn unanswered(trial: &LoadTrial) -> f64 {
    let delivered = trial.accounting.count(&Fate::Delivered);
    trial.echo.as_ref().map_or(0.0, |e| share(delivered.saturating_sub(e.answered), delivered))
}

/// How far one trial of an engine can be trusted.
#[must_use]
pub fn trial(trial: &LoadTrial, engine: Engine) -> Verdict {
    judge::trial(rules(engine), trial)
}

/// How far the run can be trusted: its loaded trials, and what rests on the idle ones.
#[must_use]
pub fn run(trials: &[LoadTrial], engine: Engine, planned: u32) -> Verdict {
    let of = |kind| -> Vec<&LoadTrial> { trials.iter().filter(|t| t.kind == kind).collect() };
    let mut verdict = judge::run(rules(engine), &of(LoadTrialKind::Loaded), planned);
    let idle = of(LoadTrialKind::Idle);
    let void = idle.iter().filter(|t| t.verdict.level == Level::Void).count();
    if void > 0 {
        let text = format!(
            "{void} of {} idle trials are VOID: what is said of the echo at rest is doubtful",
            idle.len()
        );
        verdict.lower(Level::Degraded, text);
    }
    verdict
}

/// Other engines put single packets on the device, whatever its driver counts.
fn rules(engine: Engine) -> &'static [Rule<LoadTrial>] {
    if engine == Engine::Gso { &RULES } else { &RULES[1..] }
}
