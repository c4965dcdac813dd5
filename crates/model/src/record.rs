//! Everything one measurement produced. Renderers, comparisons and exports see only this.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::verdict::{Finding, Verdict};

mod capacity;
mod catalogue;
mod contention;
mod cost;
mod distribution;
mod explanation;
mod fleet;
mod holders;
mod join;
mod load;
mod message;
mod precision;
mod reproduce;
mod reverse;
mod stack;
mod sweep;
mod transfer;
mod waits;
mod watch;

pub use capacity::{Bounded, CapacityResult, CapacityRow, Inferred, Probe, Search};
pub use catalogue::{CATALOGUE, Entry, Export, Measured, Measurement, name_of_kind};
pub use contention::{Contention, Held, Holder, LoadThread};
pub use cost::{
    Amount, CallTotal, Comparison, Condition, CostBenchmark, CostResult, CostTrial, CostWaits, Effect,
    Outcome, Overall, OwnCall, OwnTime, ProgramTrial, ProgramUse, Resource, SpanCost, Taken,
};
pub use distribution::{Distribution, Estimate, Series};
pub use explanation::{CallTimes, Cause, Explanation, TransferSample};
pub use fleet::{
    FleetClock, FleetFigure, FleetHost, FleetPair, FleetReceived, FleetResult, FleetStart, FleetStep,
    HostEffect, Side,
};
pub use holders::Holders;
pub use join::{CaptureFile, ClockOffset, JoinResult, JoinedSpan, KindCount, LogFile, LogKinds, PacketKind};
pub use load::{Echo, LadderStep, LagWindows, LoadResult, LoadSummary, LoadTrial, LoadTrialKind, Worker};
pub use message::{
    AbsentCell, CallCount, Counted, EndCost, MessageCell, MessageRate, MessageResult, MessageTrial,
    ProcessorPair, Remedied, RemedyRow, ServerHost, Shares, Stall, TcpCounts,
};
pub use precision::{Ended, Precision, Value, Width};
pub use reproduce::{
    BesideRow, BesideTable, Cell, Claim, Figure, FigureKind, FigurePoint, FigureSeries, Holds, Origin,
    ReproduceResult, ReproducedRun,
};
pub use reverse::{
    BetweenHosts, Phase, PhaseTimes, ProcessorShares, ReverseResult, ReverseSummary, ReverseTrial,
    StageChange, StageMean, VariantResult,
};
pub use stack::{
    Added, Agreement, Captured, CrossCheck, DISTORTION, Distorts, Indicator, LeftOut, Load, PathSummary,
    PathTimes, PeakTimes, Refused, SelfCost, StackResult, StageOutcome, StageSummary, StageSummaryTimes,
    StageTimes, TapRow, Trial, TrialKind, Undisturbed, UndisturbedTimes,
};
pub use sweep::{SweepPoint, SweepRate, SweepResult, SweepTrial};
pub use transfer::{
    Checksum, Packet, Packets, Served, Spread, TcpState, TransferCost, TransferEnd, TransferMethod,
    TransferResult, TransferStream, UdpCounts, ZeroCopied,
};
pub use waits::CpuWaits;
pub use watch::{
    CpuStay, SlowMessage, SocketWay, WatchAccount, WatchDrop, WatchFound, WatchProcesses, WatchPrograms,
    WatchResult, WatchSampling, WatchSend, WatchSendAccount, WatchSent, WatchSlow, WatchSocket, WatchSpread,
    WatchStage, WatchTimes, WatchUnread, WatchUser, WatchedProcess, WatchedStage, WatchedSum, end_named,
};

/// The version this build writes. It rises when a field changes its meaning or goes;
/// a new field that old readers may ignore does not raise it.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything one measurement produced.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// [`SCHEMA_VERSION`] of the build that wrote it.
    pub schema_version: u32,
    /// `<UTC time>-<measurement>-<short id>`, the name of its directory.
    pub id: String,
    /// The build that wrote it, such as `netfathom 0.1.0`.
    pub tool: String,
    /// When it started, RFC 3339 in UTC.
    pub started_utc: String,
    /// Whether it is whole.
    pub state: State,
    /// How far it can be trusted.
    pub verdict: Verdict,
    /// The command that made it, as a shell takes it.
    pub command: String,
    /// The commands that were run before and after it to change something, as `netfathom compare` has them run.
    pub around: Option<Around>,
    /// What it says, in one sentence; `None` before anything is measured.
    pub answer: Option<String>,
    /// Where it was taken.
    pub environment: Environment,
    /// What was measured: the plan and its result.
    pub measurement: Measurement,
    /// What was noticed, explained.
    pub findings: Vec<Finding>,
}

/// Commands around a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Around {
    /// Run before it, for the shell.
    pub before: Option<String>,
    /// Run after it to undo that.
    pub after: Option<String>,
}

/// Whether a record is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Written while trials were still to come; what a killed run leaves.
    Partial,
    /// Ended early by the user; the finished trials are kept.
    Interrupted,
    /// All trials are there.
    Complete,
}
