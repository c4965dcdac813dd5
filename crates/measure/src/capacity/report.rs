//! From searches to what the record says of them.

use netfathom_model::engine::Engine;
use netfathom_model::print::Scale;
use netfathom_model::record::{Bounded, CapacityRow, Search};
use netfathom_model::verdict::Finding;
use netfathom_stats::between_trials;

use crate::judge::percent;

/// A loss that is worth a word.
const WORTH_A_WORD: f64 = 0.01;

/// A row's name, as it is written in progress, in reasons and among what was left out.
#[must_use]
pub fn name(engine: Engine, workers: u32) -> String {
    let s = if workers == 1 { "" } else { "s" };
    format!("{}, {workers} worker{s}", engine.name())
}

/// Mean and interval; `None` of no value at all.
#[must_use]
pub fn bounded(values_per_s: &[f64]) -> Option<Bounded> {
    let n = values_per_s.len();
    (n > 0).then(|| Bounded {
        mean_per_s: values_per_s.iter().sum::<f64>() / n as f64,
        half_width_per_s: between_trials(values_per_s).map(|e| e.half_width),
        n: n as u32,
    })
}

/// Over the searches that have it.
#[must_use]
pub fn mean_of(searches: &[Search], of: impl Fn(&Search) -> Option<f64>) -> Option<Bounded> {
    bounded(&searches.iter().filter_map(of).collect::<Vec<_>>())
}

/// What the numbers of a row show, explained; `lost` is the part of the bursts that did not
/// arrive, and `processors` is what its workers have among them.
#[must_use]
pub fn findings(row: &CapacityRow, lost: Option<f64>, processors: usize) -> Vec<Finding> {
    let name = name(row.engine, row.workers);
    let rate = |b: Bounded| Scale::Multiple.text(b.mean_per_s);
    let mut findings = Vec::new();
    if let Some((flat_out, lost)) = row.flat_out_per_s.zip(lost).filter(|(_, lost)| *lost > WORTH_A_WORD) {
        let arrived = Scale::Multiple.text(flat_out.mean_per_s * (1.0 - lost));
        findings.push(Finding {
            seen: format!("{name}: flat out {} a second leave, but only {arrived} arrive", rate(flat_out)),
            cause: "the receiver is slower than the sender; where both are on one machine they also take processors from each other, so this is what the pair can do".into(),
            evidence: format!("{} of the messages of its bursts were lost", percent(lost)),
            remedy: "go by the rate that was kept up, or send to another host with --to".into(),
        });
    }
    if let Some((sustained, capacity)) = row.sustained_per_s.zip(row.capacity_per_s)
        && capacity.mean_per_s < sustained.mean_per_s / 2.0
    {
        findings.push(Finding {
            seen: format!(
                "{name}: {} a second are kept up, but only {} leave in time",
                rate(sustained),
                rate(capacity)
            ),
            cause:
                "the sender is interrupted and catches up afterwards: the rate is right, its spacing is not"
                    .into(),
            evidence:
                "above that the p99 lag is more than 10 % of a slot, or more than 1 % of the slots are missed"
                    .into(),
            remedy: "free the sender's processor, or choose another one with --cpu".into(),
        });
    }
    if processors < row.workers as usize {
        findings.push(Finding {
            seen: format!("{name}: they share processors with each other"),
            cause: "this machine has fewer processors than there are workers and a receiver".into(),
            evidence: format!("{} workers ran on {processors} of its processors", row.workers),
            remedy: "use fewer workers: those that share a processor take turns, and are late for it".into(),
        });
    }
    findings
}
