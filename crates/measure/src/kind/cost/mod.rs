//! `netfathom cost`: what a program takes from the rest of the machine.
//!
//! The method is that of Qian & Wang 2006: a benchmark with observation points is run without and with the program,
//! and the times between its marks are compared. [`run`] is the map: `conditions` says in what it is run, `workload`
//! has the benchmarks, `program` the program under test, `load` what that has to do, `order` the turns, `trial`
//! makes one, `summary` says what all of them say, and `judge` what that is worth. `sequences` does the
//! arithmetic alone, of times that were taken elsewhere.

mod benchmark;
mod blocks;
pub mod burn;
mod conditions;
pub mod error;
#[cfg(test)]
mod fixture;
pub mod guard;
mod judge;
pub mod light;
mod load;
mod machine;
mod observation;
mod order;
mod own_calls;
mod program;
mod sequence;
mod sequences;
mod summary;
mod trial;
mod workload;
pub mod workplace;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use netfathom_model::plan::{CostPlan, Subject};
use netfathom_model::random::SplitMix64;
use netfathom_model::record::{
    Comparison, Condition, CostBenchmark, CostResult, CostTrial, CostWaits, CpuWaits, Effect,
};
use netfathom_model::units::format_duration;
use netfathom_sys::netns::Namespace;
use netfathom_sys::process;

use crate::ground::environment;
use crate::ground::error::{GroundError, RunError};
use crate::ground::lab::LabError;
use crate::ground::observer::{Live, Observer, Progressed, Step};
use error::{CostError, step};
use load::BackgroundLoad;
use machine::Machine;
use program::{Context, Pause};
use trial::{Coordinates, Stage};
use workload::Workload;

pub use program::StateBefore;
pub use sequences::SequencesError;
pub use workload::is_installed;

/// As many failures one after the other, and there is no use in going on.
const MOST_FAILURES: usize = 4;

/// Measures. Ends early, keeping the finished trials, once `stop` is set.
pub fn run(
    plan: &CostPlan,
    observer: &mut impl Observer<CostResult>,
    stop: &AtomicBool,
) -> Result<Progressed<CostResult>, RunError> {
    // What a benchmark leaves that was killed goes once all of them are gone.
    let _left = guard::Left::of(plan);
    // Who leaves its parent is still to be found and ended.
    process::adopt_orphans(true).map_err(step("adopt orphans"))?;
    let settle = Pause { length: Duration::from_nanos(plan.settle_ns), stop };
    let mut context = Context::of(plan);
    let load = BackgroundLoad::of(plan, &context, settle)?;
    context.namespace = host_of_program(&load)?;
    let mut making =
        |name: String| observer.begins(Step { name, number: 0, of: 0 }, &Arc::new(Live::default()));
    let mut workloads = workload::make(plan, &context, &mut making, stop)?;
    let environment = environment::read(Vec::new(), load.devices(), load.lab());
    let program = program::switch_of(plan, &context, settle)?;
    let mut rig = Rig {
        plan,
        observer,
        stage: Stage { load, program, settle },
        progressed: Progressed::new(environment, empty(plan)),
        unknown: Machine::absent(),
        trials: 0,
        began: Instant::now(),
    };
    let measured = rig.measure(&mut workloads);
    // A process that was stopped goes on, whatever happened.
    let restored = rig.stage.program.restore();
    if measured.is_err() && rig.trials > 0 {
        rig.keep()?;
    }
    rig.conclude();
    measured?;
    restored?;
    Ok(rig.progressed)
}

/// Base sequences that were taken elsewhere: the arithmetic alone.
pub fn offline(paths: &[&Path]) -> Result<Progressed<CostResult>, SequencesError> {
    let result = sequences::read(paths)?;
    let mut progressed = Progressed::new(environment::read(Vec::new(), Vec::new(), None), result);
    judge::conclude(&mut progressed);
    Ok(progressed)
}

/// Packets are sent to a host of their own: the program has to be there to see them.
fn host_of_program(load: &BackgroundLoad) -> Result<Option<Arc<Namespace>>, CostError> {
    let Some(lab) = load.lab() else { return Ok(None) };
    let namespace = lab
        .reader
        .run(Namespace::current)
        .and_then(|current| current)
        .map_err(LabError::Namespace)
        .map_err(GroundError::from)?;
    Ok(Some(Arc::new(namespace)))
}

/// A process by its name, while it is there: `redis-server (pid 3121)`.
fn called(subject: &Subject) -> String {
    let Subject::Process { pid } = subject else { return subject.in_words() };
    process::name(*pid).map_or_else(|| subject.in_words(), |name| format!("{name} (pid {pid})"))
}

fn empty(plan: &CostPlan) -> CostResult {
    CostResult {
        plan: Some(plan.clone()),
        subject: called(&plan.subject),
        conditions: conditions::planned(plan),
        ..CostResult::default()
    }
}

struct Rig<'a, O> {
    plan: &'a CostPlan,
    observer: &'a mut O,
    stage: Stage<'a>,
    progressed: Progressed<CostResult>,
    /// What is unknown about this machine.
    unknown: Vec<String>,
    trials: u32,
    began: Instant,
}

impl<O: Observer<CostResult>> Rig<'_, O> {
    fn measure(&mut self, workloads: &mut [Box<dyn Workload>]) -> Result<(), RunError> {
        self.keep()?;
        self.began = Instant::now();
        let mut a_block = Duration::ZERO;
        for workload in workloads.iter_mut() {
            self.begins(format!("first run of {}", workload.name()));
            let took = workload.learn(self.stage.settle.stop)?;
            a_block += took * order::runs(&self.there(workload.as_ref()));
            let described = self.described(workload.as_ref());
            self.progressed.result.benchmarks.push(described);
        }
        self.estimate(a_block);
        self.rehearse()?;
        let mut random = SplitMix64::new(self.plan.seed);
        let mut wanted = self.plan.least_blocks;
        for block in 0..self.plan.most_blocks {
            if block == self.plan.least_blocks {
                wanted = self.wanted();
            }
            if block >= self.plan.least_blocks && (block >= wanted || self.is_over()) || self.stops() {
                break;
            }
            for (at, workload) in workloads.iter_mut().enumerate() {
                self.block(workload.as_mut(), at, block, &mut random)?;
            }
        }
        for (at, workload) in workloads.iter_mut().enumerate() {
            self.one_more(workload.as_mut(), at)?;
        }
        Ok(())
    }

    /// Shows how long the least blocks take, where that is longer than asked for.
    fn estimate(&mut self, a_block: Duration) {
        let CostPlan { least_blocks, most_ns, .. } = *self.plan;
        let least = a_block * least_blocks;
        if least > Duration::from_nanos(most_ns) && !self.stops() {
            let time = format_duration(most_ns);
            self.observer.takes(least, &format!("--min-blocks {least_blocks} goes before --time {time}"));
        }
    }

    /// The conditions that it makes sense to run a benchmark in.
    fn there(&self, workload: &dyn Workload) -> Vec<usize> {
        let conditions = &self.progressed.result.conditions;
        let makes_sense =
            |condition: &Condition| condition.armed || condition.way.is_some() || workload.has_points();
        (0..conditions.len()).filter(|&c| c == 0 || makes_sense(&conditions[c])).collect()
    }

    /// One more run beside the program, which no comparison has: to see who has the CPUs takes a program at every switch.
    fn one_more(&mut self, workload: &mut dyn Workload, at: usize) -> Result<(), RunError> {
        let conditions = &self.progressed.result.conditions;
        let last = conditions.iter().rposition(|condition| condition.program);
        let Some(condition) = last.filter(|_| !self.stops()) else { return Ok(()) };
        self.begins(format!("one more run of {}: who has the CPUs", workload.name()));
        let waits = self.waits(workload, condition);
        let benchmark = &mut self.progressed.result.benchmarks[at];
        match waits {
            Ok(waits) => benchmark.waits = waits.map(|waits| CostWaits { condition, waits }),
            // What was measured stands without it.
            Err(why) => benchmark.absent.push(format!("who had the CPUs that it waited for: {why}")),
        }
        self.keep()
    }

    /// `None` where nothing sees it, or the run came to nothing.
    fn waits(
        &mut self,
        workload: &mut dyn Workload,
        condition: usize,
    ) -> Result<Option<CpuWaits>, CostError> {
        if !workload.follow_waits(true)? {
            return Ok(None);
        }
        let place = Coordinates { index: self.trials, block: 0, condition };
        let trial = self.stage.trial(workload, &self.progressed.result.conditions[condition], place);
        workload.follow_waits(false)?;
        match trial? {
            Some(CostTrial { failed: Some(why), .. }) => Err(CostError::Benchmark(why)),
            Some(_) => workload.waits(),
            None => Ok(None),
        }
    }

    /// A program that does not come is to be known before anything is measured.
    fn rehearse(&mut self) -> Result<(), RunError> {
        let first = self.progressed.result.conditions.iter().find(|condition| condition.program).cloned();
        let Some(condition) = first.filter(|_| !self.stops()) else { return Ok(()) };
        self.begins(format!("first start of {}", self.progressed.result.subject));
        self.stage.program.on(condition.level.as_ref())?;
        self.stage.program.off((0, 0))?;
        Ok(())
    }

    /// Every condition of one benchmark, there and back.
    fn block(
        &mut self,
        workload: &mut dyn Workload,
        at: usize,
        block: u32,
        random: &mut SplitMix64,
    ) -> Result<(), RunError> {
        let conditions = self.progressed.result.conditions.clone();
        let order = order::block(&self.there(workload), random);
        for (turn, &condition) in order.iter().enumerate() {
            if self.stops() {
                return Ok(());
            }
            let of = order.len();
            self.begins(format!(
                "block {}, {}/{of}: {}, {}",
                block + 1,
                turn + 1,
                workload.name(),
                conditions[condition].name
            ));
            let place = Coordinates { index: self.trials, block, condition };
            let trial = self.stage.trial(workload, &conditions[condition], place)?;
            let Some(trial) = trial else { return Ok(()) };
            self.trials += 1;
            let CostBenchmark { about, absent, .. } = self.described(workload);
            let benchmark = &mut self.progressed.result.benchmarks[at];
            benchmark.trials.push(trial);
            (benchmark.about, benchmark.absent) = (about, absent);
        }
        self.keep()
    }

    /// With what is unknown about this machine.
    fn described(&self, workload: &dyn Workload) -> CostBenchmark {
        let mut benchmark = workload.described();
        benchmark.absent.extend(self.unknown.iter().cloned());
        benchmark
    }

    fn begins(&mut self, name: String) {
        self.observer.begins(Step { name, number: self.trials as usize, of: 0 }, &Arc::new(Live::default()));
    }

    /// Whether it has taken as long as it may.
    fn is_over(&self) -> bool {
        self.began.elapsed() >= Duration::from_nanos(self.plan.most_ns)
    }

    /// The user wants an end, or there is no use in going on: not all of the least blocks can be had in any time.
    fn stops(&self) -> bool {
        let most = if self.is_over() { 1 } else { MOST_FAILURES };
        let fails = |b: &CostBenchmark| {
            b.trials.len() >= most && b.trials.iter().rev().take(most).all(|t| t.failed.is_some())
        };
        self.stage.settle.stop.load(Relaxed) || self.progressed.result.benchmarks.iter().any(fails)
    }

    /// How many blocks it takes until the slowdown is known as precisely as was asked for, from what the least of them
    /// say (Stein 1945). It is decided once: who looks after each block and stops at a narrow interval finds too many
    /// narrow ones that are wrong.
    fn wanted(&self) -> u32 {
        let result = &self.progressed.result;
        let headline = result.headline();
        let least = self.plan.least_blocks;
        // Its own calls are known to no precision that was asked for.
        if headline == Effect::Observation && self.plan.own {
            return least;
        }
        let of = |comparison: &Comparison| {
            f64::from(comparison.blocks) * (summary::relative_width(comparison) / self.plan.precision).powi(2)
        };
        let all = result.benchmarks.iter().flat_map(|benchmark| benchmark.of_effect(headline)).map(of);
        (all.fold(0.0, f64::max).ceil() as u32).max(least)
    }

    fn keep(&mut self) -> Result<(), RunError> {
        self.conclude();
        Ok(self.observer.keep(&self.progressed)?)
    }

    fn conclude(&mut self) {
        summary::renew(&mut self.progressed.result);
        judge::conclude(&mut self.progressed);
    }
}
