//! `netfathom load send`: the generator alone, with a check of its own accuracy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_capture::log::Columns;
use netfathom_model::engine::Engine;
use netfathom_model::plan::{EngineChoice, LoadPlan, Place, ReceiveChoice, Transport};
use netfathom_model::profile::Profile;
use netfathom_model::record::{LoadResult, LoadTrial, LoadTrialKind};
use netfathom_sys::clock::monotonic_ns;

use crate::ground::environment;
use crate::ground::error::{GroundError, RunError};
use crate::ground::observer::{Live, Observer, Progressed, Step};
use crate::ground::processors::{Cpus, named, spread, spread_senders, thread_places};
use crate::ground::rig::Rig;
use crate::load::contention::Contention;
use crate::load::control::draw_flow;
use crate::load::error::FlightError;
use crate::load::flight::Departures;
use crate::load::message_log::MessageLog;
use crate::load::shot::{Shot, ShotOutcome};
use crate::load::{allow, remote};

mod judge;
mod ladder;
pub mod sink;
mod trial;

/// What an echo is asked at rest: so seldom that nothing waits for anything.
const IDLE_PER_S: f64 = 1000.0;
const IDLE_NS: u64 = 2_000_000_000;

/// Measures. Ends early, keeping the finished trials, once `stop` is set.
pub fn run(
    plan: &LoadPlan,
    observer: &mut impl Observer<LoadResult>,
    stop: &AtomicBool,
) -> Result<Progressed<LoadResult>, RunError> {
    if let Place::To(to) = plan.place {
        allow::permit(to.ip(), &plan.allow, plan.one_way).map_err(FlightError::from)?;
    }
    let rig = Rig::build(plan.place, plan.family)?;
    let cpus = choose_cpus(plan)?;
    let environment = environment::read(thread_places(&cpus), rig.devices(), rig.lab());
    let mut bench = LoadRun { plan, rig: &rig, cpus: &cpus, stop, start_ns: None, observer: None };
    let mut p = Progressed::new(environment, bench.choose(observer)?);
    conclude(&mut p);
    observer.keep(&p)?;
    let log = plan.log.as_deref().map(|path| MessageLog::create(path, Columns::SENT)).transpose()?;
    let started_ns = monotonic_ns();
    let order = order(plan);
    for (index, &kind) in order.iter().enumerate() {
        if stop.load(Relaxed) {
            break;
        }
        let live = Arc::new(Live::default());
        observer.begins(Step::trial(kind.name(), index + 1, order.len()), &live);
        let started_after_ns = monotonic_ns() - started_ns;
        let outcome = bench.trial(kind, index as u64, p.result.engine, log.as_ref(), &live)?;
        if stop.load(Relaxed) {
            break;
        }
        p.result.receive = outcome.ways.receive;
        p.result.trials.push(trial::recorded(plan, kind, index as u32, started_after_ns, &cpus, &outcome));
        conclude(&mut p);
        observer.keep(&p)?;
    }
    if let Some(log) = log {
        log.finish()?;
    }
    Ok(p)
}

/// One loaded trial as a part of another measurement: to a sink on another host, from `start_ns` of the one clock on.
/// It ends early once `stop` is set.
pub fn part(plan: &LoadPlan, start_ns: u64, stop: &AtomicBool) -> Result<Part, RunError> {
    let rig = Rig::build(plan.place, plan.family)?;
    let cpus = choose_cpus(plan)?;
    let mut bench = LoadRun { plan, rig: &rig, cpus: &cpus, stop, start_ns: Some(start_ns), observer: None };
    let (kind, live) = (LoadTrialKind::Loaded, Live::default());
    let engine = match plan.engine {
        EngineChoice::Only(engine) => engine,
        EngineChoice::Auto => Engine::Send,
    };
    let outcome = bench.trial(kind, 0, engine, None, &live)?;
    let trial = trial::recorded(plan, kind, 0, 0, &cpus, &outcome);
    Ok(Part { trial, first_ns: outcome.sent.first_ns, start_waited_ns: outcome.sent.start_waited_ns })
}

pub struct Part {
    pub trial: LoadTrial,
    /// When the first message departed, CLOCK_MONOTONIC; 0 if none did.
    pub first_ns: u64,
    /// For how long of the last 50 ms before it the thread waited for a processor.
    pub start_waited_ns: Option<u64>,
}

/// Each loaded trial, with an idle one before it where answers are timed.
fn order(plan: &LoadPlan) -> Vec<LoadTrialKind> {
    let kinds: &[LoadTrialKind] =
        if plan.echo { &[LoadTrialKind::Idle, LoadTrialKind::Loaded] } else { &[LoadTrialKind::Loaded] };
    kinds.repeat(plan.trials as usize)
}

/// The profile of a trial, and the seed of its chance. An idle one asks no more than a tenth
/// of the plan's own.
pub fn of_trial(plan: &LoadPlan, kind: LoadTrialKind, index: u64) -> (Profile, u64) {
    let profile = match kind {
        LoadTrialKind::Loaded => plan.profile.clone(),
        LoadTrialKind::Idle => Profile::Constant {
            rate_per_s: IDLE_PER_S.min(plan.profile.peak_per_s() / 10.0).max(1.0),
            duration_ns: IDLE_NS,
        },
    };
    (profile, plan.seed.wrapping_add(index))
}

fn conclude(p: &mut Progressed<LoadResult>) {
    p.result.summary = trial::summary(&p.result);
    p.verdict = judge::run(&p.result.trials, p.result.engine, p.result.plan.trials);
}

fn choose_cpus(plan: &LoadPlan) -> Result<Cpus, GroundError> {
    let workers = plan.workers as usize;
    match named(&plan.cpus, workers) {
        Some(cpus) => Ok(cpus),
        None if matches!(plan.place, Place::To(_)) => spread_senders(workers),
        None => spread(workers),
    }
}

struct LoadRun<'a> {
    plan: &'a LoadPlan,
    rig: &'a Rig,
    cpus: &'a Cpus,
    stop: &'a AtomicBool,
    /// When a load to another host begins, on the one clock; `None` once both ends are ready.
    start_ns: Option<u64>,
    /// What sees who has the processors, between two trials.
    observer: Option<Contention>,
}

impl LoadRun<'_> {
    /// The engine that the plan names, or the one that the ladder leads to.
    fn choose(&mut self, observer: &mut impl Observer<LoadResult>) -> Result<LoadResult, FlightError> {
        let result = |engine| LoadResult {
            plan: self.plan.clone(),
            engine,
            receive: None,
            ladder: Vec::new(),
            left_out: Vec::new(),
            trials: Vec::new(),
            summary: None,
        };
        if let EngineChoice::Only(engine) = self.plan.engine {
            return Ok(result(engine));
        }
        let live = Arc::new(Live::default());
        observer.begins(Step { name: "which engine".into(), number: 0, of: 0 }, &live);
        let result = result(Engine::Send);
        let peak = self.plan.profile.peak_per_s();
        let bursts = !matches!(self.plan.place, Place::To(_));
        let (steps, stop) = (self.steps(), self.stop);
        let fly = |engine, duration_ns, departures: Departures<'_>| {
            self.fly(engine, duration_ns, departures, false, None, &live)
        };
        let (engine, ladder, left_out) = ladder::climb(&steps, peak, bursts, stop, fly)?;
        Ok(LoadResult { engine, ladder, left_out, ..result })
    }

    /// Answers are read from sockets, and lo has no wire that frames could be put on.
    fn steps(&self) -> Vec<Engine> {
        let sockets_only = self.plan.echo || self.plan.place == Place::Loopback;
        Engine::LADDER.into_iter().filter(|e| !sockets_only || e.passes_stack()).collect()
    }

    fn trial(
        &mut self,
        kind: LoadTrialKind,
        index: u64,
        engine: Engine,
        log: Option<&MessageLog>,
        live: &Live,
    ) -> Result<ShotOutcome, FlightError> {
        let (profile, seed) = of_trial(self.plan, kind, index);
        let departures = Departures::Planned(&profile, seed);
        let log = if kind == LoadTrialKind::Loaded { log } else { None };
        self.fly(engine, profile.duration_ns(), departures, self.plan.echo, log, live)
    }

    fn fly(
        &mut self,
        engine: Engine,
        duration_ns: u64,
        departures: Departures<'_>,
        echo: bool,
        log: Option<&MessageLog>,
        live: &Live,
    ) -> Result<ShotOutcome, FlightError> {
        // A part of a fleet reports no account of CPUs: loading kernel programs would only take its lead to the start.
        let contention = self.start_ns.is_none().then(|| departures.observed(&mut self.observer)).flatten();
        let shot = Shot {
            rig: self.rig,
            engine,
            transport: Transport::Udp,
            receive: receive(self.plan, engine),
            cpus: self.cpus,
            size: self.plan.size_bytes,
            port: self.plan.port,
            spin: self.plan.spin,
            echo,
            flow: draw_flow()?,
            stop: self.stop,
            live,
            log,
            contention: contention.as_ref(),
        };
        let outcome = match self.plan.place {
            Place::To(to) => {
                remote::fly(&shot, to, self.plan.one_way, duration_ns, departures, self.start_ns)
            }
            _ => shot.fly(duration_ns, departures),
        };
        self.observer = contention.map(Contention::rested).or(self.observer.take());
        outcome
    }
}

/// How the receiver takes messages, where it is ours: an echo answers from a socket.
fn receive(plan: &LoadPlan, engine: Engine) -> netfathom_model::engine::Receive {
    match plan.receive {
        ReceiveChoice::Only(receive) => receive,
        ReceiveChoice::Auto if plan.echo => netfathom_model::engine::Receive::Recvmmsg,
        ReceiveChoice::Auto => engine.matching_receive(),
    }
}
