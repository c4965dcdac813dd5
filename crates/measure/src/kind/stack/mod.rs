//! `netfathom stack`: how long the operating system takes to send and to receive each message, stage by stage, as the rate
//! rises.
//!
//! [`run`] is the map: build the rig, run the trials in their order, and draw conclusions (`conclude`) after each.
//!
//! `choice` has what the plan leaves open, `fit` the rates. `order` has the turns; `bench` sets up each trial, `trial` makes
//! it of two `ends` and a tap, `programs` keeps what was loaded. `report` makes the record of a trial and the findings,
//! `summary` the tables, `cost` the overhead of the tap and the cross-check, from `alternation` too.
//!
//! The verdict: `judge` has the rules of trials and of the run, `direction` those of one direction, `precision` those of wide
//! intervals, and when a run ends.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_bpf::delay::{Delay, DelayError};
use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::{InsertedDelay, Place, StackPlan, TapChoice, Until};
use netfathom_model::record::StackResult;
use netfathom_sys::clock::monotonic_ns;

use crate::ground::environment;
use crate::ground::error::{Failure, GroundError, RunError};
use crate::ground::lab::{Lab, LabError, Role};
use crate::ground::observer::{Observer, Progressed};
use crate::ground::rig::Rig;
use crate::load::allow;
use crate::load::error::FlightError;
use crate::tap::pcap;

mod alternation;
mod bench;
mod choice;
mod cost;
mod direction;
mod ends;
mod fit;
mod judge;
mod listening;
mod order;
mod precision;
mod programs;
mod report;
mod summary;
mod trial;

use bench::{Bench, Turn};
use choice::{choose_cpus, choose_taps};
use listening::Listening;
use order::Order;
use programs::Programs;

/// Measures. Ends early, keeping the finished trials, once `stop` is set.
pub fn run(
    plan: &StackPlan,
    observer: &mut impl Observer<StackResult>,
    stop: &AtomicBool,
) -> Result<Progressed<StackResult>, RunError> {
    if let Place::To(to) = plan.place {
        allow::permit(to.ip(), &plan.allow, false).map_err(FlightError::from)?;
    }
    let taps = choose_taps(plan)?;
    let cpus = choose_cpus(plan)?;
    let rig = Rig::build(plan.place, plan.family)?;
    if plan.tap == TapChoice::All || taps.main == Tap::Pcap {
        pcap::devices(plan, &rig)?;
    }
    let _delay = rig.lab().zip(plan.inserted_delay).map(|(lab, d)| insert_delay(lab, d)).transpose()?;
    let listening = match plan.place {
        Place::Listen(address) => Some(Listening::at(address)?),
        _ => None,
    };
    let result = StackResult {
        plan: plan.clone(),
        tap: taps.main,
        left_out: taps.left_out.clone(),
        trials: Vec::new(),
        summaries: Vec::new(),
        self_cost: None,
        cross_checks: Vec::new(),
        taps: Vec::new(),
        precision: None,
    };
    let environment = environment::read(choice::places(plan.place, &cpus), rig.devices(), rig.lab());
    let mut progressed = Progressed::new(environment, result);
    let listening = listening.as_ref();
    let directory = observer.directory().cloned();
    let started_ns = monotonic_ns();
    let programs = Programs::default();
    let bench = Bench { plan, rig: &rig, cpus: &cpus, listening, stop, started_ns, programs, directory };
    conclude(&mut progressed, &bench);
    observer.keep(&progressed)?;
    bench.warm_up()?;
    if plan.fits
        && let Some((profile, left_out)) = fit::fit(&bench, taps.main, observer)?
    {
        progressed.result.plan.profile = profile;
        progressed.result.left_out.push(left_out);
    }
    let plan = &progressed.result.plan.clone();
    let bench = Bench { plan, ..bench };
    measure(&bench, taps.order(plan), &mut progressed, observer)?;
    Ok(progressed)
}

impl Failure for DelayError {}

/// Puts a known delay on the device that its direction passes, to prove the stages.
fn insert_delay(lab: &Lab, delay: InsertedDelay) -> Result<Delay, RunError> {
    let role = match delay.direction {
        Direction::Tx => Role::Sender,
        Direction::Rx => Role::Reader,
    };
    let index = lab.link(role).index;
    let attached = lab.host(role).run(|| Delay::attach(index, delay.direction, delay.delay_ns));
    Ok(attached.map_err(LabError::from).map_err(GroundError::from)??)
}

/// The trials, until there are as many as planned or their intervals are as narrow.
fn measure(
    bench: &Bench<'_>,
    order: Order,
    progressed: &mut Progressed<StackResult>,
    observer: &mut impl Observer<StackResult>,
) -> Result<(), RunError> {
    let round = order.round();
    let (of, most) = if bench.plan.until.is_some() { (0, usize::MAX) } else { (round, round) };
    for (index, (kind, tap)) in order.take(most).enumerate() {
        if bench.stop.load(Relaxed) {
            break;
        }
        let widest = progressed.result.precision.as_ref().and_then(|precision| precision.widest()?.half);
        // In the time of later rounds there are more trials.
        let bursts = index < round;
        let turn = Turn { index, of, kind, tap, bursts, widest };
        let Some((trial, samples)) = bench.trial(&turn, observer)? else { break };
        progressed.result.trials.push(trial);
        progressed.samples.extend(samples);
        conclude(progressed, bench);
        let ended = precision::ended(&progressed.result, round);
        if let Some(precision) = &mut progressed.result.precision {
            precision.ended = ended;
        }
        observer.keep(progressed)?;
        if ended.is_some() {
            return Ok(());
        }
    }
    conclude(progressed, bench);
    Ok(())
}

/// Draws every conclusion from the trials that are there.
fn conclude(p: &mut Progressed<StackResult>, bench: &Bench<'_>) {
    let listening = bench.listening;
    let StackResult { plan, tap, trials, summaries, self_cost, cross_checks, taps, .. } = &mut p.result;
    // Only the sender knows how many it is.
    plan.workers = listening.and_then(Listening::lanes).unwrap_or(plan.workers);
    let interval = Until::interval(plan.until);
    *summaries = plan.directions.iter().filter_map(|&d| summary::summarize(d, trials, interval)).collect();
    *self_cost = cost::of_tap(trials, *tap);
    *cross_checks = cost::cross_checks(trials, &plan.directions);
    *taps = cost::beside_each_other(trials);
    p.result.precision = precision::reached(&p.result, bench.elapsed_ns());
    p.verdict = judge::run(&p.result);
    for summary in &mut p.result.summaries {
        summary.level = p.verdict.of(summary.direction.into());
    }
    let both_here = matches!(p.result.plan.place, Place::Lab | Place::Loopback);
    let shared_cpu = report::shared_cpu(&p.environment.threads).filter(|_| both_here);
    let listened = listening.and_then(Listening::finding);
    p.findings = shared_cpu.into_iter().chain(report::findings(&p.result)).chain(listened).collect();
}
