//! Conditions beside each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Resource;
use crate::record::Estimate;

/// What a comparison is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The program, at the same load with and without it.
    Program,
    /// The load alone, against nothing.
    Load,
    /// Program and load together, against nothing.
    Both,
    /// The observation points themselves.
    Observation,
}

named! { Effect:
    Program = "the program", Load = "the load alone", Both = "program and load",
    Observation = "the observation points"
}

/// What trials say of one condition beside another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// What it is about.
    pub effect: Effect,
    /// Which condition,
    pub condition: usize,
    /// beside which.
    pub against: usize,
    /// Blocks in which both were.
    pub blocks: u32,
    /// Time of the benchmark as a multiple, with its 95 % interval between blocks. Single runs have no interval: then
    /// the half width is 0.
    pub ratio: Estimate,
    /// Qian & Wang's PCost, 1 for 100 %, with its interval.
    pub pcost: Estimate,
    /// The result.
    pub outcome: Outcome,
    /// The minimum detectable slowdown at 80 % power; `None` of single runs.
    pub smallest: Option<f64>,
    /// From mark to mark.
    pub spans: Vec<SpanCost>,
    /// The known resources.
    pub taken: Vec<Taken>,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A significant cost.
    Cost,
    /// No significant change.
    NoCost,
    /// The benchmark was significantly faster.
    Faster,
    /// Inconclusive: the machine was too noisy, or there are too few runs.
    CannotTell,
}

named! { Outcome:
    Cost = "cost", NoCost = "no significant cost", Faster = "faster", CannotTell = "inconclusive"
}

/// One span in two conditions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpanCost {
    /// Its mean time in what is compared with.
    pub before_ns: f64,
    /// Its mean time in the condition.
    pub after_ns: f64,
    /// Its time as a multiple, with its interval; `None` where one of them takes no time.
    pub ratio: Option<Estimate>,
    /// The result for it alone.
    pub outcome: Outcome,
}

/// One resource in two conditions, a trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Taken {
    /// Of what.
    pub resource: Resource,
    /// Its mean in what is compared with.
    pub before: f64,
    /// Its mean in the condition.
    pub after: f64,
    /// The difference a trial, with its interval between blocks.
    pub difference: Estimate,
}
