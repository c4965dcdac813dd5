//! What was asked for.

use serde::Serialize;
use serde_json::Value;

/// A plan, with what that came to where it was left to netfathom.
pub(super) fn plan_with(plan: &impl Serialize, found: &[(&str, Value)]) -> Value {
    let mut plan = serde_json::to_value(plan).unwrap_or_default();
    found.iter().for_each(|(name, value)| plan[*name] = value.clone());
    plan
}
