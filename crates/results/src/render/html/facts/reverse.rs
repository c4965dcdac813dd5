//! What follows from a record of `netfathom reverse`.

use std::collections::BTreeMap;

use netfathom_model::plan::ReversePlan;
use netfathom_model::record::ReverseResult;
use netfathom_model::units::{format_duration, format_rate};
use serde::Serialize;

use super::{PlanWords, StageWords, stage_words};

#[derive(Serialize)]
pub struct ReverseFacts {
    /// What each stage is.
    stages: BTreeMap<&'static str, StageWords>,
    plan: PlanWords,
}

impl ReverseFacts {
    pub fn of(reverse: &ReverseResult) -> Self {
        Self { stages: stage_words(), plan: plan_words(&reverse.plan) }
    }
}

fn plan_words(plan: &ReversePlan) -> PlanWords {
    let variants: Vec<&str> = plan.variants.iter().map(|v| v.name()).collect();
    let cpus = plan.cpus.map_or("chosen by netfathom".into(), |(s, f)| format!("sender {s}, far end {f}"));
    let (from, to) = (format_rate(plan.inbound_from_per_s), format_rate(plan.inbound_peak_per_s));
    vec![
        ("variants", variants.join(", ")),
        ("trials of each", plan.trials.to_string()),
        ("a trial", format_duration(plan.duration_ns)),
        ("inbound load", format!("{from}..{to} a second")),
        ("stack times", if plan.tapped { "taken" } else { "not taken" }.into()),
        ("size", format!("{} bytes of UDP payload", plan.size_bytes)),
        ("processors", cpus),
        ("seed", plan.seed.to_string()),
    ]
}
