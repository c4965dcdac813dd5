//! When a trial can be trusted: a table of rules, used for each trial and for the run.

use netfathom_model::accounting::Fate;
use netfathom_model::path::Tap;
use netfathom_model::record::{Agreement, Trial, TrialKind, Witness};
use netfathom_model::verdict::{Level, Verdict};

/// A rule: a number of a trial, and what it means beyond its limit.
struct Rule {
    level: Level,
    limit: f64,
    value: fn(&Trial) -> f64,
    text: fn(f64) -> String,
    /// Whether one bad trial is enough to say so of the whole run. What a busy machine does
    /// to a single trial is not; a hole in the accounting is.
    strict: bool,
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn percent(x: f64) -> String {
    format!("{:.2} %", 100.0 * x)
}

const RULES: [Rule; 14] = [
    Rule {
        level: Level::Void,
        limit: 0.0,
        value: |t| if t.load.sent == 0 { 1.0 } else { 0.0 },
        text: |_| "the operating system accepted no message".into(),
        strict: true,
    },
    Rule {
        level: Level::Void,
        limit: 0.0,
        value: |t| t.accounting.gap().unsigned_abs() as f64,
        text: |v| format!("the accounting does not close: {v:.0} messages have more than one fate or none"),
        strict: true,
    },
    Rule {
        level: Level::Void,
        limit: 0.0,
        value: |t| t.accounting.count(&Fate::Unexplained) as f64,
        text: |v| format!("{v:.0} messages vanished and nobody saw where"),
        strict: true,
    },
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
        level: Level::Void,
        limit: 0.01,
        value: |t| share(t.load.missed_slots + t.load.unsent, t.load.planned),
        text: |v| {
            format!(
                "the generator missed {} of its slots (1 % allowed): lower the rate, or free the sender's processor",
                percent(v)
            )
        },
        strict: false,
    },
    Rule {
        level: Level::Degraded,
        limit: 0.1,
        value: |t| t.load.lag_p99_of_interval,
        text: |v| {
            format!(
                "the generator was late: its p99 lag is {:.0} % of the wanted interval (10 % allowed), so the load was less even than planned",
                100.0 * v
            )
        },
        strict: false,
    },
    Rule {
        level: Level::Degraded,
        limit: 0.001,
        value: |t| share(t.load.refused.iter().map(|r| r.count).sum(), t.load.planned),
        text: |v| format!("the operating system refused {} of the messages", percent(v)),
        strict: false,
    },
    Rule {
        level: Level::Void,
        limit: 0.5,
        value: |t| 1.0 - share(t.accounting.count(&Fate::Delivered), t.load.sent.max(1)),
        text: |v| format!("{} of the messages were lost: lower the rate", percent(v)),
        strict: false,
    },
    Rule {
        level: Level::Degraded,
        limit: 0.001,
        value: |t| 1.0 - share(t.accounting.count(&Fate::Delivered), t.load.sent.max(1)),
        text: |v| {
            format!("{} of the messages were lost; incoming times are those of the others only", percent(v))
        },
        strict: false,
    },
    Rule {
        level: Level::Degraded,
        limit: 0.0,
        value: |t| t.accounting.counters.iter().filter(|c| !c.agrees()).count() as f64,
        text: |v| format!("{v:.0} of the system's counters disagree with our own count: see the accounting"),
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
];

/// How far one trial can be trusted.
#[must_use]
pub fn trial(trial: &Trial) -> Verdict {
    let mut verdict = Verdict::default();
    for rule in &RULES {
        let value = (rule.value)(trial);
        if value > rule.limit {
            verdict.lower(rule.level, (rule.text)(value));
        }
    }
    verdict
}

/// How far the run can be trusted: each rule that measured trials broke, with how many of
/// them did and the worst of it.
///
/// A rule that is not strict lowers the run by its full level if at least half of the trials
/// broke it, and to DEGRADED otherwise: one disturbed trial in ten widens the interval
/// already.
#[must_use]
pub fn run(trials: &[Trial], planned: u32, witnesses: &[Witness]) -> Verdict {
    let measured: Vec<&Trial> = trials.iter().filter(|t| t.kind == TrialKind::Measured).collect();
    let mut verdict = Verdict::default();
    if measured.is_empty() {
        verdict.lower(Level::Void, "no trial was finished");
        return verdict;
    }
    for rule in &RULES {
        let broken: Vec<f64> = measured.iter().map(|t| (rule.value)(t)).filter(|&v| v > rule.limit).collect();
        let Some(worst) = broken.iter().copied().reduce(f64::max) else { continue };
        let most = 2 * broken.len() >= measured.len();
        let level = if rule.strict || most { rule.level } else { rule.level.min(Level::Degraded) };
        let whose = match (broken.len(), measured.len()) {
            (1, 1) => String::new(),
            (n, all) => format!("in {n} of {all} trials, at worst: "),
        };
        verdict.lower(level, format!("{whose}{}", (rule.text)(worst)));
    }
    judge_others(&mut verdict, trials, witnesses);
    if measured.len() < planned as usize {
        let text = format!("only {} of {planned} trials were finished", measured.len());
        verdict.lower(Level::Degraded, text);
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
