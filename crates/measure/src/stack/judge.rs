//! When a trial of the stack can be trusted, beyond what holds of every load.

use std::sync::LazyLock;

use netfathom_model::accounting::Accounting;
use netfathom_model::path::Tap;
use netfathom_model::record::{Agreement, Load, Trial, TrialKind, Witness};
use netfathom_model::verdict::{Level, Verdict};

use crate::judge::{self, Judged, Rule, load_rules, percent, share};

impl Judged for Trial {
    fn load(&self) -> &Load {
        &self.load
    }

    fn accounting(&self) -> &Accounting {
        &self.accounting
    }
}

static RULES: LazyLock<Vec<Rule<Trial>>> =
    LazyLock::new(|| load_rules().into_iter().chain(tap_rules()).collect());

fn tap_rules() -> [Rule<Trial>; 5] {
    [
        Rule {
            level: Level::Void,
            limit: 0.01,
            value: |t| share(t.accounting.unjoined_tx + t.accounting.unjoined_rx, t.load.sent),
            text: |v| format!("the tap could not time {} of the messages: lower the rate", percent(v)),
            strict: false,
        },
        Rule {
            level: Level::Degraded,
            limit: 0.0,
            value: |t| share(t.accounting.unjoined_tx + t.accounting.unjoined_rx, t.load.sent),
            text: |v| format!("the tap could not time {} of the messages", percent(v)),
            strict: true,
        },
        Rule {
            level: Level::Degraded,
            limit: 0.01,
            value: |t| share(t.accounting.unstaged_rx, t.load.sent),
            text: |v| format!("the tap could not cut {} of the incoming times into stages", percent(v)),
            strict: false,
        },
        Rule {
            level: Level::Void,
            limit: 0.0,
            value: |t| {
                let refused: u64 = t.load.refused.iter().map(|r| r.count).sum();
                if t.tap == Some(Tap::Timestamping) { refused as f64 } else { 0.0 }
            },
            text: |v| {
                format!(
                    "{v:.0} messages were refused, and the stamps of later ones may belong to others: use the bpf tap"
                )
            },
            strict: true,
        },
        Rule {
            level: Level::Degraded,
            limit: 1000.0,
            value: |t| t.clock_moved_ns.unwrap_or(0).unsigned_abs() as f64,
            text: |v| {
                format!("the wall clock moved by {v:.0} ns against the monotonic one while stamps were taken")
            },
            strict: false,
        },
    ]
}

/// How far one trial can be trusted.
#[must_use]
pub fn trial(trial: &Trial) -> Verdict {
    judge::trial(&RULES, trial)
}

/// How far the run can be trusted: its measured trials, and what others say of them.
#[must_use]
pub fn run(trials: &[Trial], planned: u32, witnesses: &[Witness]) -> Verdict {
    let measured: Vec<&Trial> = trials.iter().filter(|t| t.kind == TrialKind::Measured).collect();
    let mut verdict = judge::run(&RULES, &measured, planned);
    if !measured.is_empty() {
        judge_others(&mut verdict, trials, witnesses);
    }
    verdict
}

/// What controls and witnesses say does not make a result VOID, but it must be told.
fn judge_others(verdict: &mut Verdict, trials: &[Trial], witnesses: &[Witness]) {
    for (kind, name) in [(TrialKind::Control, "control"), (TrialKind::Witness, "witness")] {
        let void = |t: &&Trial| t.kind == kind && t.verdict.level == Level::Void;
        let (bad, all) =
            (trials.iter().filter(void).count(), trials.iter().filter(|t| t.kind == kind).count());
        if bad > 0 {
            let text = format!("{bad} of {all} {name} trials are VOID: what rests on them is doubtful");
            verdict.lower(Level::Degraded, text);
        }
    }
    for w in witnesses.iter().filter(|w| w.agreement == Agreement::Disagree) {
        let text = format!(
            "the {} tap disagrees on {} by {:.0} ns: see the second witness",
            w.tap.name(),
            w.direction.name(),
            w.difference_ns.abs()
        );
        verdict.lower(Level::Degraded, text);
    }
}
