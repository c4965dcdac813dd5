//! What `netfathom load send` produced.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Distribution, LeftOut, Load};
use crate::accounting::Accounting;
use crate::engine::{Engine, Receive};
use crate::plan::LoadPlan;
use crate::verdict::Verdict;

/// The plan and everything that came of it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LoadResult {
    /// What was asked for.
    pub plan: LoadPlan,
    /// The engine that sent.
    pub engine: Engine,
    /// How the far end received; `None` if not recorded.
    pub receive: Option<Receive>,
    /// How the engine was found; empty where it was asked for by name.
    pub ladder: Vec<LadderStep>,
    /// Engines that do not work here.
    pub left_out: Vec<LeftOut>,
    /// Every trial, in the order in which they ran.
    pub trials: Vec<LoadTrial>,
    /// Over the loaded trials; `None` before the first.
    pub summary: Option<LoadSummary>,
}

/// One step of the ladder of engines: tried, and taken or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LadderStep {
    /// The engine.
    pub engine: Engine,
    /// What a short burst without pauses reached; `None` where it could not be tried.
    pub flat_out_per_s: Option<f64>,
    /// At the wanted rate: lag in units of what a batch takes, 99th percentile.
    pub lag_p99_of_slot: Option<f64>,
    /// Whether it was taken.
    pub taken: bool,
    /// Why, or why not.
    pub why: String,
}

/// What a load trial is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadTrialKind {
    /// The plan's own load.
    Loaded,
    /// So little that nothing waits for anything: what an echo takes at rest.
    Idle,
}

named! { LoadTrialKind: Loaded = "loaded", Idle = "idle" }

/// One run of the load.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LoadTrial {
    /// Its place in the run, from 0.
    pub index: u32,
    /// What it is for.
    pub kind: LoadTrialKind,
    /// Start, from the start of the run.
    pub started_after_ns: u64,
    /// What the generator did, all workers together.
    pub load: Load,
    /// Messages a second that left, over the time from the start of the plan to the last departure.
    pub reached_per_s: f64,
    /// Each worker's part.
    pub workers: Vec<Worker>,
    /// Time between neighboring departures of one worker: as achieved.
    pub intervals: Distribution,
    /// The same as the plan wants it.
    pub wanted_intervals: Distribution,
    /// Lag, window by window.
    pub lag_windows: LagWindows,
    /// Where every message ended, and what others counted.
    pub accounting: Accounting,
    /// Whether buffers of several messages left the device in one piece, though it says that it splits them.
    pub unsplit: bool,
    /// What the answers took; only with `--echo`.
    pub echo: Option<Echo>,
    /// How far this trial can be trusted.
    pub verdict: Verdict,
}

/// What one sender did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Worker {
    /// Its CPU.
    pub cpu: usize,
    /// Messages that the operating system accepted.
    pub sent: u64,
    /// 99th percentile of its lag.
    pub lag_p99_ns: i64,
    /// What its thread took of its CPU.
    pub cpu_ns: u64,
}

/// Histograms of lag over the trial: one a second, or as many seconds as keep them at 120.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LagWindows {
    /// Length of a window.
    pub window_ns: u64,
    /// Window by window, by actual departure.
    pub windows: Vec<Distribution>,
}

/// What the answers to the messages of one trial took.
///
/// Response is what a user who wanted the message at its intended time waits for; service
/// is what a tester sees who starts the clock when the message really leaves, and so omits
/// what the load itself makes wait (coordinated omission). They differ by the lag.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Echo {
    /// Messages that were answered.
    pub answered: u64,
    /// From the intended departure to the answer.
    pub response: Distribution,
    /// From the actual departure to the answer.
    pub service: Distribution,
}

/// All loaded trials together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadSummary {
    /// Trials behind it.
    pub trials: u32,
    /// Messages a second that left, mean of the trials.
    pub reached_per_s: f64,
    /// Half its 95 % interval between trials, Student's t; `None` of a single trial.
    pub between_trials_per_s: Option<f64>,
    /// Share of the planned messages that were sent, 0 to 1.
    pub of_plan: f64,
    /// Share of the sent messages that did not arrive; `None` if unknown.
    pub lost: Option<f64>,
    /// Lag of all trials.
    pub lag: Distribution,
    /// Echo at rest, all idle trials merged.
    pub echo_idle: Option<Echo>,
    /// Echo under the load, all loaded trials merged.
    pub echo_loaded: Option<Echo>,
}
