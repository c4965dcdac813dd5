//! What both pictures say of a measurement that is a part of another: how far its trials can
//! be trusted. Such a part has no verdict of its own in the record.

use netfathom_model::record::{Distorts, Estimate, Measurement};
use netfathom_model::verdict::{Level, Verdict};

/// Whether a tap distorts what it measures, even where it loses nothing.
pub(crate) fn distorts(share: Option<Estimate>) -> bool {
    share.map(Distorts::of) == Some(Distorts::Yes)
}

/// How far the trials of a measurement can be trusted.
pub(crate) struct Standing {
    /// The worst of them.
    pub level: Level,
    /// Such as `2 of 10 trials DEGRADED`; empty where all are VALID.
    pub text: String,
    /// Why, each reason once.
    pub reasons: Vec<String>,
}

/// The standing of a measurement; `None` where it has no trials that were judged.
pub(crate) fn standing(measurement: &Measurement) -> Option<Standing> {
    let verdicts = verdicts(measurement);
    let level = verdicts.iter().map(|v| v.level).max()?;
    let count = |level| verdicts.iter().filter(|v| v.level == level).count();
    let parts: Vec<String> = [Level::Void, Level::Degraded]
        .into_iter()
        .filter(|&l| count(l) > 0)
        .map(|l| format!("{} of {} {} {}", count(l), verdicts.len(), what(measurement), l.name()))
        .collect();
    let mut reasons: Vec<String> = Vec::new();
    for reason in verdicts.iter().flat_map(|v| &v.reasons) {
        if !reasons.contains(&reason.text) {
            reasons.push(reason.text.clone());
        }
    }
    Some(Standing { level, text: parts.join(", "), reasons })
}

fn verdicts(measurement: &Measurement) -> Vec<&Verdict> {
    match measurement {
        Measurement::Stack(r) => r.trials.iter().map(|t| &t.verdict).collect(),
        Measurement::Load(r) => r.trials.iter().map(|t| &t.verdict).collect(),
        Measurement::Capacity(r) => r.rows.iter().map(|t| &t.verdict).collect(),
        Measurement::Reverse(r) => r.variants.iter().flat_map(|v| &v.trials).map(|t| &t.verdict).collect(),
        Measurement::Join(_)
        | Measurement::Reproduce(_)
        | Measurement::Transfer(_)
        | Measurement::Sweep(_)
        | Measurement::Message(_)
        | Measurement::Cost(_) => Vec::new(),
    }
}

/// What is judged of a measurement.
fn what(measurement: &Measurement) -> &'static str {
    if matches!(measurement, Measurement::Capacity(_)) { "rows" } else { "trials" }
}
