//! What follows from a record of `netfathom capacity`.

use netfathom_model::plan::CapacityPlan;
use netfathom_model::record::CapacityResult;
use netfathom_model::units::format_duration;
use serde::Serialize;

use super::{PlanWords, processors};
use crate::render::html::answer::place;

#[derive(Serialize)]
pub struct CapacityFacts {
    plan: PlanWords,
}

impl CapacityFacts {
    pub fn of(capacity: &CapacityResult) -> Self {
        Self { plan: plan_words(&capacity.plan) }
    }
}

fn plan_words(plan: &CapacityPlan) -> PlanWords {
    let engines: Vec<&str> = plan.engines.iter().map(|e| e.name()).collect();
    let workers: Vec<String> = plan.workers.iter().map(u32::to_string).collect();
    vec![
        ("place", place(plan.place)),
        ("engines", engines.join(", ")),
        ("workers", workers.join(", ")),
        ("each rate held for", format_duration(plan.hold_ns)),
        ("searches", plan.trials.to_string()),
        ("size", format!("{} bytes of UDP payload", plan.size_bytes)),
        ("processors", processors(&plan.cpus)),
        ("seed", plan.seed.to_string()),
    ]
}
