//! The benchmarks, each ready to be run again and again.

mod amounts;
mod benchmark_program;
mod call_choice;
mod emitted_marks;
mod intercept;
mod make;
mod marking;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use netfathom_model::record::{Amount, CallTotal, Condition, CostBenchmark, CpuWaits};

pub use intercept::is_installed;
pub use make::make;

use super::error::CostError;

pub trait Workload {
    fn name(&self) -> &str;
    /// What it is, without its trials: with the state that its runs found so far, and its marks once it has run.
    fn described(&self) -> CostBenchmark;
    /// Whether observation points cost something that baselines can tell.
    fn has_points(&self) -> bool;
    /// Runs until it is known which marks there are. It returns how long a run takes, unless it was stopped.
    fn learn(&mut self, stop: &AtomicBool) -> Result<Duration, CostError>;
    /// Puts everything as it is to be found, before each run.
    fn prepare(&mut self) -> Result<(), CostError> {
        Ok(())
    }
    /// Follows who has the CPUs that its threads wait for, or ends it; `false` where nothing sees it.
    fn follow_waits(&mut self, _follow: bool) -> Result<bool, CostError> {
        Ok(false)
    }
    /// What they waited meanwhile.
    fn waits(&self) -> Result<Option<CpuWaits>, CostError> {
        Ok(None)
    }
    fn run(&mut self, condition: &Condition, stop: &AtomicBool) -> Result<BenchmarkRun, CostError>;
}

#[derive(Debug)]
pub struct BenchmarkRun {
    /// From mark to mark; or why there are none.
    pub spans_ns: Result<Vec<f64>, String>,
    /// From and to, CLOCK_MONOTONIC.
    pub during_ns: (u64, u64),
    pub amounts: Vec<Amount>,
    /// Its own system calls, where they were recorded.
    pub calls: Vec<CallTotal>,
    pub stopped: bool,
}
