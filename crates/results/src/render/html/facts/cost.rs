//! What follows from a record of `netfathom cost`.

use netfathom_model::record::CostResult;
use serde::Serialize;

use super::PlanWords;
use crate::render::costed;

#[derive(Serialize)]
pub struct CostFacts {
    plan: PlanWords,
}

impl CostFacts {
    pub fn of(result: &CostResult) -> Self {
        Self { plan: result.plan.as_ref().map_or_else(PlanWords::new, costed::plan_words) }
    }
}
