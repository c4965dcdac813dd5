//! What `netfathom cost` found: what a program takes from others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CpuWaits, Estimate};
use crate::plan::{CostLevel, CostPlan, Interception};

mod comparison;
mod resource;

pub use comparison::{Comparison, Effect, Outcome, SpanCost, Taken};
pub use resource::{Amount, Resource};

/// What `netfathom cost` found.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct CostResult {
    /// What was asked for; `None` where times were taken elsewhere.
    pub plan: Option<CostPlan>,
    /// What was under test, as it was typed; the file's name where times were taken elsewhere.
    pub subject: String,
    /// The conditions that have trials. The first is the baseline.
    pub conditions: Vec<Condition>,
    /// The benchmarks, each with its trials.
    pub benchmarks: Vec<CostBenchmark>,
    /// Over the benchmarks together; empty where there is but one.
    pub overall: Vec<Overall>,
    /// What the program itself used, a condition each in which it was there.
    pub program: Vec<ProgramUse>,
}

/// In what a benchmark was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Condition {
    /// Its name in tables.
    pub name: String,
    /// Whether the program under test was there.
    pub program: bool,
    /// The load, where there was one.
    pub level: Option<CostLevel>,
    /// What observed the benchmark's system calls, where that is what is compared.
    pub way: Option<Interception>,
    /// Whether observation points were set.
    pub armed: bool,
}

/// One benchmark: what it is, its trials, and what they say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostBenchmark {
    /// Its name in tables.
    pub name: String,
    /// What it does, and what it found, such as the state of the page cache. One sentence.
    pub about: String,
    /// How its marks were taken.
    pub means: String,
    /// The names of its marks in order, the start first. Spans lie between neighbors, if they have no names.
    pub marks: Vec<String>,
    /// The names of its spans, where they have any.
    pub spans: Vec<String>,
    /// Which resource each span is about, in words; empty where spans are about nothing in particular.
    pub resources: Vec<String>,
    /// The trials, in the order in which they ran.
    pub trials: Vec<CostTrial>,
    /// What they say of each condition beside another.
    pub comparisons: Vec<Comparison>,
    /// Its own system calls, those that take most time first; only where they were asked for.
    pub calls: Vec<OwnCall>,
    /// Who had the CPUs that its threads waited for, in one more run, which counts for nothing else; `None` without a
    /// program under test, or where kernel programs do not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<CostWaits>,
    /// What could not be measured, and why.
    pub absent: Vec<String>,
}

/// Waits of a benchmark for CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostWaits {
    /// In which condition.
    pub condition: usize,
    /// Of all its threads.
    pub waits: CpuWaits,
}

/// One run of a benchmark.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostTrial {
    /// Its place among all trials, from 0.
    pub index: u32,
    /// The block it was in, from 0: conditions of a block are compared with each other.
    pub block: u32,
    /// Its place among the conditions.
    pub condition: usize,
    /// From mark to mark, in nanoseconds; empty if the trial failed.
    pub spans_ns: Vec<f64>,
    /// From the first mark to the last, in nanoseconds.
    pub total_ns: f64,
    /// What the benchmark used and waited for, as far as it is known.
    pub amounts: Vec<Amount>,
    /// What the program used meanwhile, where it was there.
    pub program: Option<ProgramTrial>,
    /// Why the trial does not count, where it does not.
    pub failed: Option<String>,
    /// Its own system calls, where they were asked for.
    pub calls: Vec<CallTotal>,
    /// The part of its level that the load reached, where it is one of packets.
    pub load_reached: Option<f64>,
}

/// All calls of one system call in one trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallTotal {
    /// Its name.
    pub name: String,
    /// How often it was made.
    pub calls: u64,
    /// How long all of them took, from entry to return, waiting included.
    pub total_ns: u64,
}

/// What the program under test did in one trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramTrial {
    /// How long it was there.
    pub wall_ns: u64,
    /// Time on CPUs, of all its processes; `None` where it is not known.
    pub cpu_ns: Option<u64>,
    /// Most memory of any of its processes.
    pub peak_rss_bytes: Option<u64>,
    /// Share of the benchmark's time in which it was there, 0 to 1.
    pub present: f64,
    /// How often it was started.
    pub starts: u32,
    /// Bytes it wrote to its standard output and error.
    pub output_bytes: Option<u64>,
    /// Part of its packets that it says at its end it lost, 0 to 1; `None` where it does not say so as tcpdump does.
    pub lost: Option<f64>,
    /// Whether it had to be killed.
    pub killed: bool,
}

/// What the program itself used.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramUse {
    /// In which condition.
    pub condition: usize,
    /// CPUs, 1 for all the time of one.
    pub processors: Option<f64>,
    /// Most memory of any of its processes.
    pub peak_rss_bytes: Option<u64>,
}

/// One system call of the benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OwnCall {
    /// Its name.
    pub name: String,
    /// A condition each, in their order; `None` where it was not made.
    pub times: Vec<Option<OwnTime>>,
    /// What a run lasts longer by it, a comparison each.
    pub adds: Vec<Option<Estimate>>,
}

/// What a system call took in one condition, a trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OwnTime {
    /// How often it was made.
    pub calls: f64,
    /// How long all of them took.
    pub total_ns: f64,
}

/// Over all benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overall {
    /// What it is about.
    pub effect: Effect,
    /// Which condition,
    pub condition: usize,
    /// beside which.
    pub against: usize,
    /// Geometric mean of the ratios, with its interval.
    pub ratio: Estimate,
    /// Mean of the PCosts (Qian & Wang 2006), with its interval.
    pub pcost: Estimate,
}

impl CostBenchmark {
    /// The comparisons for an effect.
    pub fn of_effect(&self, effect: Effect) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().filter(move |comparison| comparison.effect == effect)
    }
}

impl CostResult {
    /// The comparisons that answer what was asked: of the program where there is one, of the load or the observers
    /// otherwise.
    pub fn headline(&self) -> Effect {
        let has = |effect| self.benchmarks.iter().any(|b| b.of_effect(effect).next().is_some());
        [Effect::Program, Effect::Load, Effect::Observation]
            .into_iter()
            .find(|&e| has(e))
            .unwrap_or(Effect::Program)
    }
}
