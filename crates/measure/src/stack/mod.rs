//! `netfathom stack`: how long the operating system takes with each message on its way out
//! and in, stage by stage, as the rate rises.
//!
//! [`run`] is the map: build the rig, run the trials in their order, say what came of them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_bpf::delay::DelayError;
use netfathom_bpf::stack::{LoadError, StackTap, Target};
use netfathom_model::environment::{Environment, ThreadPlace};
use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::{StackPlan, TapChoice};
use netfathom_model::record::{LeftOut, StackResult, Trial, TrialKind};
use netfathom_model::sample::Sample;
use netfathom_model::verdict::{Finding, Verdict};
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::counters::CountersError;
use netfathom_sys::cpu::{self, CpuError};

use crate::environment;
use crate::lab::LabError;

mod accounting;
mod cost;
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

pub use sender::Live;

use rig::Rig;
use sampling::Sampling;

/// Length of the burst that finds the flat-out rate, and of the warm-up.
const BURST_NS: u64 = 200_000_000;
/// No machine sends more in one burst.
const BURST_MESSAGES: u64 = 10_000_000;

/// Why a measurement could not be made.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// There can be no lab here.
    #[error("{0}; without root choose --loopback")]
    Lab(#[from] LabError),
    /// The kernel runs without IPv6.
    #[error("no IPv6 in the lab: the kernel runs without it; leave --ipv6 out")]
    NoIpv6,
    /// The reader's port is taken.
    #[error("cannot listen on {address}: {source}; choose another --port, or none to take a free one")]
    Bind {
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// A socket call failed.
    #[error("a socket failed: {0}{remedy}", remedy = socket_remedy(.0))]
    Socket(io::Error),
    /// The reader failed.
    #[error("the reader failed while receiving: {0}; the trial is lost")]
    Receive(io::Error),
    /// No message gets from one end to the other.
    #[error("no message gets from the sender to the reader: is a firewall in between? (nft list ruleset)")]
    NothingCrosses,
    /// The system's own counters could not be read.
    #[error("{0}")]
    Counters(CountersError),
    /// A thread could not be bound to its processor.
    #[error("{0}; choose others with --cpu SENDER,READER")]
    Cpu(#[from] CpuError),
    /// The machine has no thread left for us.
    #[error("cannot start the {name} thread: {source}; raise the limit of processes (ulimit -u)")]
    NoThread {
        /// Which.
        name: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// A thread of ours panicked.
    #[error("the {0} thread died: this is a bug in netfathom")]
    Thread(&'static str),
    /// The tap that was asked for does not work here.
    #[error("the bpf tap does not work here: {reason}; {remedy}")]
    NoBpf {
        /// Why.
        reason: String,
        /// What would help.
        remedy: String,
    },
    /// The delay that was to be found could not be inserted.
    #[error("{0}")]
    Delay(#[from] DelayError),
    /// The tap failed in the middle of a run.
    #[error("the bpf tap failed: {0}")]
    Bpf(#[from] LoadError),
}

/// Too many open files (errno(3)).
const EMFILE: i32 = 24;

/// What helps against the failures that users meet.
fn socket_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::AddrNotAvailable => {
            "; is the loopback device up? (ip link set lo up)"
        }
        _ if error.raw_os_error() == Some(EMFILE) => "; raise the limit of open files (ulimit -n)",
        _ => "",
    }
}

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

/// Why a run ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The measurement failed.
    #[error(transparent)]
    Measure(#[from] StackError),
    /// The observer could not keep what was measured.
    #[error(transparent)]
    Observer(#[from] io::Error),
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
    p.verdict = judge::run(trials, plan.trials);
    p.findings = report::findings(&p.result);
}

/// The taps of a run.
struct Taps {
    /// The run's own.
    main: Tap,
    /// The second witness, if it works here.
    other: Option<Tap>,
    /// What does not work.
    left_out: Vec<LeftOut>,
}

impl Taps {
    /// The tap of a trial: the run's own, none, or the other one.
    fn of(&self, kind: TrialKind) -> Option<Tap> {
        match kind {
            TrialKind::Measured => Some(self.main),
            TrialKind::Control => None,
            TrialKind::Witness => self.other,
        }
    }
}

/// Whether the bpf tap works here, found out by loading it.
///
/// # Errors
/// Why not, and what would help.
pub fn probe_bpf() -> Result<(), LeftOut> {
    let target = Target { flow: 0, reader_cookie: 0, window_shift: 30 };
    match StackTap::load(&[Direction::Tx, Direction::Rx], target) {
        Ok(_) => Ok(()),
        Err(e) => Err(LeftOut { what: "bpf tap".into(), reason: e.to_string(), remedy: bpf_remedy() }),
    }
}

fn bpf_remedy() -> String {
    use netfathom_sys::capability::{Capability, effective};
    let has = |c| effective().is_ok_and(|all| all.contains(&c));
    if !(has(Capability::SysAdmin) || has(Capability::Bpf) && has(Capability::Perfmon)) {
        return "run as root, or give the program CAP_BPF and CAP_PERFMON".into();
    }
    if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
        return "use a kernel built with CONFIG_DEBUG_INFO_BTF".into();
    }
    "see what this kernel has with `netfathom host`".into()
}

fn choose_taps(plan: &StackPlan) -> Result<Taps, StackError> {
    let timestamping = |other, left_out| Taps { main: Tap::Timestamping, other, left_out };
    match (plan.tap, probe_bpf()) {
        (TapChoice::Only(Tap::Timestamping), Ok(())) => Ok(timestamping(Some(Tap::Bpf), Vec::new())),
        (TapChoice::Only(Tap::Timestamping) | TapChoice::Auto, Err(left_out)) => {
            Ok(timestamping(None, vec![left_out]))
        }
        (_, Ok(())) => Ok(Taps { main: Tap::Bpf, other: Some(Tap::Timestamping), left_out: Vec::new() }),
        (TapChoice::Only(Tap::Bpf), Err(LeftOut { reason, remedy, .. })) => {
            Err(StackError::NoBpf { reason, remedy })
        }
    }
}

/// Sender and reader on the last two processors; the first one has most interrupts.
fn choose_cpus(plan: &StackPlan) -> Result<(usize, usize), StackError> {
    if let Some(cpus) = plan.cpus {
        return Ok(cpus);
    }
    let allowed = cpu::allowed()?;
    let last = allowed.last().copied().unwrap_or(0);
    Ok((last, allowed.iter().rev().nth(1).copied().unwrap_or(last)))
}

fn thread_places((sender, reader): (usize, usize)) -> Vec<ThreadPlace> {
    vec![
        ThreadPlace { role: "sender".into(), cpu: sender },
        ThreadPlace { role: "reader".into(), cpu: reader },
    ]
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
            TrialKind::Measured | TrialKind::Control => Some(self.flat_out(2 * index + 2, tap)?),
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
