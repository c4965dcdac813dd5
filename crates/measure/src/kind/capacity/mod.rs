//! `netfathom capacity`: the load that this machine can make, tested, and what the papers
//! infer of it from the time in the stack.
//!
//! [`run`] is the map: engine by engine, burst and search in turn, then the stack time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use itertools::Itertools as _;
use netfathom_model::engine::{Engine, Receive};
use netfathom_model::plan::{CapacityPlan, Place};
use netfathom_model::print;
use netfathom_model::record::{CapacityResult, CapacityRow, LeftOut, Search};
use netfathom_model::verdict::{Finding, Verdict};

use crate::ground::environment;
use crate::ground::error::RunError;
use crate::ground::observer::{Live, Observer, Progressed, Step};
use crate::ground::processors::thread_places;
use crate::ground::rig::Rig;
use crate::load::allow;
use crate::load::error::FlightError;

mod bench;
mod inference;
mod judge;
mod report;
mod search;

use bench::{Bench, Rows, places};

/// Measures. Ends early, keeping the finished rows, once `stop` is set.
pub fn run(
    plan: &CapacityPlan,
    observer: &mut impl Observer<CapacityResult>,
    stop: &AtomicBool,
) -> Result<Progressed<CapacityResult>, RunError> {
    if let Place::To(to) = plan.place {
        allow::permit(to.ip(), &plan.allow, false).map_err(FlightError::from)?;
    }
    let rig = Rig::build(plan.place, plan.family)?;
    let most = plan.workers.iter().copied().max().unwrap_or(1);
    let environment = environment::read(thread_places(&places(plan, most)?), rig.devices(), rig.lab());
    let result =
        CapacityResult { plan: plan.clone(), left_out: Vec::new(), rows: Vec::new(), inferred: None };
    let mut p = Progressed::new(environment, result);
    let bench = Bench { plan, rig: &rig, stop };
    let wanted = rows(plan);
    conclude(&mut p, &wanted);
    observer.keep(&p)?;
    for (index, &(engine, workers)) in wanted.iter().enumerate() {
        if stop.load(Relaxed) {
            break;
        }
        let before = index * plan.trials as usize;
        let task = RowSearch { engine, workers, before, of: wanted.len() * plan.trials as usize };
        match task.row(bench, observer) {
            Ok(Some((row, findings))) => {
                p.result.rows.push(row);
                p.findings.extend(findings);
            }
            Ok(None) => break,
            Err(e) if is_everybodys(engine, &e) => return Err(e.into()),
            Err(e) => p.result.left_out.push(left_out(engine, workers, &e)),
        }
        conclude(&mut p, &wanted);
        observer.keep(&p)?;
    }
    if !stop.load(Relaxed) {
        inference::infer(&mut p.result, observer, stop);
        observer.keep(&p)?;
    }
    conclude(&mut p, &wanted);
    Ok(p)
}

/// Each engine with each number of workers, once.
fn rows(plan: &CapacityPlan) -> Rows {
    plan.engines.iter().copied().cartesian_product(plan.workers.iter().copied()).unique().collect()
}

fn conclude(p: &mut Progressed<CapacityResult>, wanted: &Rows) {
    let given_up = |&&(engine, workers): &&(Engine, u32)| {
        p.result.left_out.iter().any(|l| l.what == report::name(engine, workers))
    };
    p.verdict = judge::run(&p.result.rows, wanted.len(), wanted.iter().filter(given_up).count());
}

/// Whether the other engines would meet the same.
fn is_everybodys(engine: Engine, error: &FlightError) -> bool {
    engine == Engine::Send || matches!(error, FlightError::PeerLost(_) | FlightError::Control(_))
}

fn left_out(engine: Engine, workers: u32, error: &FlightError) -> LeftOut {
    let remedy = match engine {
        Engine::AfXdp if workers > 1 => {
            "each worker needs a queue of its own: use one worker, or a device with as many queues (ethtool -l DEVICE)"
        }
        _ => "see what this machine has with `netfathom host`",
    };
    LeftOut { what: report::name(engine, workers), reason: error.to_string(), remedy: remedy.into() }
}

struct RowSearch {
    engine: Engine,
    workers: u32,
    /// Searches of the rows before it.
    before: usize,
    /// Searches of all rows.
    of: usize,
}

impl RowSearch {
    /// Bursts and searches in turn, so that both see the same weather. `None` if the user
    /// ended it before its first search did.
    fn row(
        &self,
        bench: Bench<'_>,
        observer: &mut impl Observer<CapacityResult>,
    ) -> Result<Option<(CapacityRow, Vec<Finding>)>, FlightError> {
        let trials = bench.plan.trials;
        let mut begin = |search: u32, doing: &str| {
            let live = Arc::new(Live::default());
            let name =
                format!("{}, search {search}/{trials}: {doing}", report::name(self.engine, self.workers));
            observer.begins(Step { name, number: self.before + search as usize, of: self.of }, &live);
            live
        };
        let mut lane = bench.lane(self.engine, self.workers)?;
        lane.warm_up(&begin(1, "warm-up"))?;
        let mut searches: Vec<Search> = Vec::new();
        for number in 1..=trials {
            let flat_out = lane.burst(&begin(number, "unpaced"))?;
            let matching = self.engine.matching_receive();
            let found = search::search(flat_out, |rate| {
                lane.probe(rate, matching, &begin(number, &print::rate(rate)))
            })?;
            let Some(found) = found else { break };
            searches.push(found);
        }
        if searches.is_empty() {
            return Ok(None);
        }
        let sustained_per_s = report::mean_of(&searches, |s| s.sustained_per_s, |p| p.sustained);
        let blocking = match sustained_per_s.filter(|_| lane.has_blocking_receiver()) {
            Some(top) => search::sustained(top.mean_per_s.round(), |rate| {
                let doing = format!("{}, sleeping receiver", print::rate(rate));
                lane.probe(rate, Receive::Recv, &begin(trials, &doing))
            })?,
            None => None,
        };
        let mut row = CapacityRow {
            engine: self.engine,
            receive: lane.receive,
            workers: self.workers,
            flat_out_per_s: report::bounded(&lane.bursts_per_s, 0.0),
            capacity_per_s: report::mean_of(&searches, |s| s.capacity_per_s, |p| p.in_time),
            sustained_per_s,
            blocking_per_s: report::mean_of(blocking.as_slice(), |s| s.sustained_per_s, |p| p.sustained),
            of_inferred: None,
            searches,
            blocking,
            contention: lane.contention.clone(),
            verdict: Verdict::default(),
        };
        row.verdict = judge::row(&row, trials, &lane.faults);
        let findings = report::findings(&row, lane.burst_lost(), lane.processors());
        Ok(Some((row, findings)))
    }
}
