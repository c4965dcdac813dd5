//! What `netfathom capacity` produced.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Contention, Estimate, Indicator, LeftOut};
use crate::engine::{Engine, Receive};
use crate::path::Tap;
use crate::plan::CapacityPlan;
use crate::verdict::{Level, Verdict};

/// The plan and everything that came of it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CapacityResult {
    /// What was asked for.
    pub plan: CapacityPlan,
    /// Engines that do not work here.
    pub left_out: Vec<LeftOut>,
    /// One an engine and number of workers.
    pub rows: Vec<CapacityRow>,
    /// What the paper infers from the stack time; `None` where it could not be taken.
    pub inferred: Option<Inferred>,
}

impl CapacityResult {
    /// What was inferred, unless its verdict is VOID.
    pub fn trusted_inference(&self) -> Option<&Inferred> {
        self.inferred.as_ref().filter(|i| i.verdict.level != Level::Void)
    }
}

/// What one engine with a number of workers can do.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CapacityRow {
    /// How messages were sent.
    pub engine: Engine,
    /// How they were received; `None` if not recorded.
    pub receive: Option<Receive>,
    /// Senders.
    pub workers: u32,
    /// Without a schedule: messages a second that left in bursts, whatever became of them.
    pub flat_out_per_s: Option<Bounded>,
    /// The capacity: VALID lag and under 0.1 % lost. `None` where no rate of the search was.
    pub capacity_per_s: Option<Bounded>,
    /// The highest sustained rate: under 0.1 % lost and within 0.1 % of the plan,
    /// however unevenly the messages left.
    pub sustained_per_s: Option<Bounded>,
    /// The highest sustained rate with an ordinary receiver: one recv(2) a message, asleep until one
    /// comes. That of `sustained_per_s` asks for a while before it sleeps. `None` where it was not searched.
    pub blocking_per_s: Option<Bounded>,
    /// Sustained over inferred; `None` where nothing was inferred for it.
    pub of_inferred: Option<Estimate>,
    /// The searches behind it.
    pub searches: Vec<Search>,
    /// The search with the ordinary receiver, for the sustained rate alone.
    pub blocking: Option<Search>,
    /// Who had the CPUs that senders and receiver needed, in `searches`; nothing where the kernel does not show it.
    pub contention: Vec<Contention>,
    /// How far it can be trusted.
    pub verdict: Verdict,
}

/// A mean over searches or bursts with its spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bounded {
    /// Mean, messages a second.
    pub mean_per_s: f64,
    /// Half its 95 % interval: Student's t between them, and the step of the search, between which and the
    /// highest rate that held the truth lies. `None` below three.
    pub half_width_per_s: Option<f64>,
    /// How many are behind it.
    pub n: u32,
}

/// One search: rates that were held, in the order in which they were tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Search {
    /// Every rate that was tried.
    pub probes: Vec<Probe>,
    /// The highest that was in time; `None` if none was.
    pub capacity_per_s: Option<f64>,
    /// The highest sustained; `None` if none was.
    pub sustained_per_s: Option<f64>,
}

/// One rate, held.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// As planned.
    pub wanted_per_s: f64,
    /// As it was sent.
    pub reached_per_s: f64,
    /// Share of the sent messages that did not arrive; `None` if unknown.
    pub lost: Option<f64>,
    /// Share of all messages that were sent after a whole send slot of the engine had passed.
    pub missed: f64,
    /// Lag in units of a slot, 99th percentile.
    pub lag_p99_of_slot: f64,
    /// Lag, 99th percentile.
    pub lag_p99_ns: i64,
    /// How often the receiver's thread slept, per message that arrived; `None` where it is not a thread of
    /// this host.
    pub sleeps: Option<f64>,
    /// Whether the rate was sustained: the messages arrived.
    pub sustained: bool,
    /// Whether they left in time as well.
    pub in_time: bool,
}

/// The paper's theoretical load capability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Inferred {
    /// How link-layer times were taken.
    pub tap: Tap,
    /// Stack time out at the highest rate.
    pub peak: Indicator,
    /// The rate at which that was, as really reached.
    pub at_per_s: f64,
    /// 1 / mean time at peak (Borodin 2014).
    pub theoretical_per_s: f64,
    /// How far the stack times behind it can be trusted.
    pub verdict: Verdict,
}
