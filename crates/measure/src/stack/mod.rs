//! `netfathom stack`: how long the operating system takes with each message on its way out
//! and in, stage by stage, as the rate rises.
//!
//! [`run`] is the map: build the rig, run the trials in their order, say what came of them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_model::environment::Environment;
use netfathom_model::path::Tap;
use netfathom_model::plan::StackPlan;
use netfathom_model::record::{StackResult, Trial, TrialKind};
use netfathom_model::sample::Sample;
use netfathom_model::verdict::{Finding, Verdict};
use netfathom_sys::clock::monotonic_ns;

use crate::environment;

mod accounting;
mod choice;
mod cost;
mod error;
mod judge;
mod order;
mod reader;
mod report;
mod rig;
pub mod sampling;
mod seen;
mod sender;
mod summary;
pub mod tap;
mod trial;
pub mod window;

pub use choice::probe_bpf;
pub use error::{RunError, StackError};
pub use sender::Live;

use choice::{choose_cpus, choose_taps, thread_places};
use rig::Rig;
use sampling::Sampling;

/// Length of the burst that finds the flat-out rate, and of the warm-up.
const BURST_NS: u64 = 200_000_000;
/// No machine sends more in one burst.
const BURST_MESSAGES: u64 = 10_000_000;

/// What a run has produced so far.
#[derive(Clone, Debug)]
pub struct Progressed {
    /// Where it was taken.
    pub environment: Environment,
    /// Trials and what follows from them.
    pub result: StackResult,
    /// How far it can be trusted.
    pub verdict: Verdict,
    /// What was noticed.
    pub findings: Vec<Finding>,
    /// The raw stream.
    pub samples: Vec<Sample>,
}

/// Somebody who wants to know how a run goes on.
pub trait Observer {
    /// A trial begins; `live` moves while it runs.
    fn begins(&mut self, kind: TrialKind, number: usize, of: usize, live: &Arc<Live>);
    /// This is all there is so far: before the first trial, and after each.
    ///
    /// # Errors
    /// Whatever keeps the observer from going on ends the run.
    fn keep(&mut self, so_far: &Progressed) -> io::Result<()>;
}

/// Measures. Ends early, keeping the finished trials, once `stop` is set.
///
/// # Errors
/// If a trial cannot be run or the observer fails. What had been observed stays.
pub fn run(
    plan: &StackPlan,
    observer: &mut impl Observer,
    stop: &AtomicBool,
) -> Result<Progressed, RunError> {
    let taps = choose_taps(plan)?;
    let cpus = choose_cpus(plan)?;
    let rig = Rig::build(plan)?;
    let mut progressed = Progressed {
        environment: environment::read(thread_places(cpus), rig.devices()),
        result: StackResult {
            plan: plan.clone(),
            tap: taps.main,
            left_out: taps.left_out.clone(),
            trials: Vec::new(),
            summaries: Vec::new(),
            self_cost: None,
            witnesses: Vec::new(),
        },
        verdict: Verdict::default(),
        findings: Vec::new(),
        samples: Vec::new(),
    };
    let bench = Bench { plan, rig: &rig, cpus, stop, started_ns: monotonic_ns() };
    conclude(&mut progressed);
    observer.keep(&progressed)?;
    bench.flat_out(0, None)?;
    let order = order::interleaved(plan.trials, plan.controls, taps.other.map_or(0, |_| plan.witnesses));
    for (index, &kind) in order.iter().enumerate() {
        if stop.load(Relaxed) {
            break;
        }
        let live = Arc::new(Live::default());
        observer.begins(kind, index + 1, order.len(), &live);
        let (trial, samples) = bench.trial(index as u32, kind, taps.of(kind), &live)?;
        if stop.load(Relaxed) {
            break;
        }
        progressed.result.trials.push(trial);
        progressed.samples.extend(samples);
        conclude(&mut progressed);
        observer.keep(&progressed)?;
    }
    conclude(&mut progressed);
    Ok(progressed)
}

/// Draws every conclusion from the trials that are there.
fn conclude(p: &mut Progressed) {
    let StackResult { plan, trials, summaries, self_cost, witnesses, .. } = &mut p.result;
    *summaries = plan.directions.iter().filter_map(|&d| summary::of(d, trials)).collect();
    *self_cost = cost::of_tap(trials);
    *witnesses = cost::witnesses(trials, &plan.directions);
    p.verdict = judge::run(trials, plan.trials, witnesses);
    p.findings = report::findings(&p.result);
}

/// What all trials of a run share.
struct Bench<'a> {
    plan: &'a StackPlan,
    rig: &'a Rig,
    cpus: (usize, usize),
    stop: &'a AtomicBool,
    started_ns: u64,
}

impl Bench<'_> {
    fn trial(
        &self,
        index: u32,
        kind: TrialKind,
        tap: Option<Tap>,
        live: &Arc<Live>,
    ) -> Result<(Trial, Vec<Sample>), StackError> {
        let started_after_ns = monotonic_ns() - self.started_ns;
        let profile = &self.plan.profile;
        let most = if kind == TrialKind::Measured { self.plan.samples.div_ceil(self.plan.trials) } else { 0 };
        let sampling = Sampling::new(index, profile.messages(), most as usize, self.plan.seed);
        let stages = kind == TrialKind::Measured;
        let task = self.task(2 * index + 1, tap, stages, sampling, live);
        let mut outcome = task.run(profile.duration_ns(), profile.schedule())?;
        let samples = std::mem::take(&mut outcome.samples);
        let flat_out_per_s = match kind {
            // A burst that fails takes nothing from the trial before it.
            TrialKind::Measured | TrialKind::Control => self.flat_out(2 * index + 2, tap).ok(),
            TrialKind::Witness => None,
        };
        let trial = report::Facts { index, kind, tap, started_after_ns, flat_out_per_s, outcome: &outcome }
            .trial(self.plan, &self.rig.devices());
        Ok((trial, report::completed(samples, profile, outcome.windows.start_ns)))
    }

    /// Sends without pauses for a moment; the rate that it reached.
    fn flat_out(&self, number: u32, tap: Option<Tap>) -> Result<f64, StackError> {
        let live = Live::default();
        let task = self.task(number, tap, true, Sampling::new(0, 0, 0, 0), &live);
        let sent = task.run(BURST_NS, FlatOut { start_ns: None, left: BURST_MESSAGES })?.sent;
        Ok(sent.accepted as f64 * 1e9 / sent.span_ns.max(1) as f64)
    }

    fn task<'a>(
        &'a self,
        number: u32,
        tap: Option<Tap>,
        stages: bool,
        sampling: Sampling,
        live: &'a Live,
    ) -> trial::Task<'a> {
        // Strays of an earlier trial carry another number.
        let flow = (self.plan.seed as u32).wrapping_mul(0x9e37_79b9).wrapping_add(number);
        trial::Task {
            plan: self.plan,
            rig: self.rig,
            tap,
            stages,
            flow,
            sampling,
            cpus: self.cpus,
            stop: self.stop,
            live,
        }
    }
}

/// Departures that are always due, until the burst is over.
struct FlatOut {
    start_ns: Option<u64>,
    left: u64,
}

impl Iterator for FlatOut {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let now = monotonic_ns();
        let start = *self.start_ns.get_or_insert(now);
        self.left = self.left.saturating_sub(1);
        (self.left > 0 && now - start < BURST_NS + 50_000_000).then_some(0)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for FlatOut {}
