//! `netfathom reproduce`: the experiments of the papers, each as one command.
//!
//! An experiment is a row of a catalog: the measurements that it is made of, and the report on
//! them beside the original. [`run`] is the map: measure part after part, then report on
//! all parts together.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use netfathom_model::path::Tap;
use netfathom_model::plan::{PlanError, ReproducePlan, TapChoice};
use netfathom_model::print::listed;
use netfathom_model::record::{Measurement, ReproduceResult, ReproducedRun};
use netfathom_model::verdict::{Level, Verdict};

use netfathom_measure::ground::error::RunError;
use netfathom_measure::ground::observer::{Observer, Progressed};

mod beside;
mod borodin;
mod claim;
mod ground;
mod part;
mod proof;
mod qian;
mod reference;
mod rounds;
mod snader;
mod whole;
mod zccl;

use ground::{Ground, Size};
use part::{Part, PartObserver};
use whole::Whole;

/// The experiment that proves the ruler of `netfathom cost`.
pub const PROOF: &str = "cost-proof";

/// The experiments, a line a source: a new one is a folder and its line.
static SOURCES: [&[Experiment]; 5] = [
    &borodin::EXPERIMENTS,
    &snader::EXPERIMENTS,
    &zccl::EXPERIMENTS,
    &qian::EXPERIMENTS,
    &proof::EXPERIMENTS,
];

pub struct Experiment {
    /// Its name on the command line, such as `borodin-tx`.
    pub name: &'static str,
    pub title: &'static str,
    pub source: &'static str,
    pub shows: &'static str,
    /// About how long the short form takes.
    pub quick: Duration,
    /// About how long it takes in the source's size.
    pub full: Duration,
    /// Whether it cannot do without root; otherwise root has the lab, others loopback.
    pub needs_root: bool,
    /// The taps that can be asked for by name.
    pub taps: &'static [Tap],
    /// The measurements that it is made of; none once the user wants an end.
    parts: fn(&mut Ground<'_>) -> Result<Vec<Part>, RunError>,
    /// The report on the parts that are there; also called before the first, and in the middle of one.
    tell: fn(&ReproducePlan, &[ReproducedRun]) -> Report,
}

#[derive(Debug, Default)]
struct Report {
    differences: Vec<String>,
    tables: Vec<netfathom_model::record::BesideTable>,
    figures: Vec<netfathom_model::record::Figure>,
    claims: Vec<netfathom_model::record::Claim>,
    /// How far that can be trusted, beyond what its parts say of themselves.
    verdict: netfathom_model::verdict::Verdict,
}

/// Every experiment there is, in order.
pub fn catalogue() -> impl Iterator<Item = &'static Experiment> {
    SOURCES.iter().copied().flatten()
}

pub fn find(name: &str) -> Option<&'static Experiment> {
    catalogue().find(|experiment| experiment.name == name)
}

impl Experiment {
    pub fn expected(&self, quick: bool) -> Duration {
        if quick { self.quick } else { self.full }
    }

    /// What it cannot do without.
    pub fn needs(&self) -> &'static str {
        if self.needs_root { "root" } else { "nothing" }
    }

    /// What runs on the other host, for an experiment that can be made with one.
    pub fn counterpart(&self) -> Option<&'static str> {
        match self.name {
            "borodin-tx" => Some("netfathom load sink"),
            "borodin-reverse" => Some("netfathom reverse serve"),
            "zccl-1" | "zccl-3" | "zccl-4" => Some("netfathom message serve"),
            _ => None,
        }
    }

    fn goes_to(&self, hosts: Option<&[SocketAddr]>) -> Result<(), PlanError> {
        let refused = |why: &str| Err(PlanError(format!("--to: {} {why}", self.name)));
        match hosts.map(<[_]>::len) {
            None | Some(0) => Ok(()),
            Some(_) if self.counterpart().is_none() => {
                let with: Vec<_> =
                    catalogue().filter(|e| e.counterpart().is_some()).map(|e| e.name).collect();
                refused(&format!(
                    "has both ends on one machine; with another host choose from {}",
                    listed(with)
                ))
            }
            Some(2..) if self.name != "borodin-reverse" => refused("takes one other host"),
            Some(_) => Ok(()),
        }
    }

    /// Checks that the plan asks for nothing that this experiment has no use for.
    pub fn accepts(&self, plan: &ReproducePlan) -> Result<(), PlanError> {
        qian::accepts(self.name, plan.projects.as_deref())?;
        self.goes_to(plan.to.as_deref())?;
        let TapChoice::Only(tap) = plan.tap else { return Ok(()) };
        if self.taps.contains(&tap) {
            return Ok(());
        }
        Err(PlanError(format!(
            "--tap {}: {} is not measured with it; choose from auto, {}",
            tap.name(),
            self.name,
            listed(self.taps.iter().map(|t| t.name()))
        )))
    }
}

/// Measures. Ends early, keeping what is finished, once `stop` is set.
pub fn run(
    experiment: &Experiment,
    plan: &ReproducePlan,
    observer: &mut impl Observer<ReproduceResult>,
    stop: &AtomicBool,
) -> Result<Progressed<ReproduceResult>, RunError> {
    run_sized(experiment, plan, Size::WHOLE, observer, stop)
}

/// Like [`run`], with a size: tests use one that is small enough to repeat.
fn run_sized(
    experiment: &Experiment,
    plan: &ReproducePlan,
    size: Size,
    observer: &mut impl Observer<ReproduceResult>,
    stop: &AtomicBool,
) -> Result<Progressed<ReproduceResult>, RunError> {
    let mut ground = Ground::new(plan, size, observer, stop);
    let parts = (experiment.parts)(&mut ground)?;
    let mut whole = Whole::new(experiment, plan, ground.into_findings());
    let mut of = parts.len();
    for part in &parts {
        if stop.load(Relaxed) {
            break;
        }
        if (part.unless)(whole.runs()) {
            of -= 1;
            continue;
        }
        let number = whole.runs().len() + 1;
        let mut of_part = PartObserver { whole: &whole, outer: observer, part, number, of };
        let progressed = decided(part, plan, &mut of_part, stop)?;
        whole.add(part, progressed);
    }
    Ok(whole.progressed(of))
}

/// A run that is VOID decides nothing: in the full form the load is halved until it is not, or twice.
const HALVED: u32 = 2;

fn decided(
    part: &Part,
    plan: &ReproducePlan,
    observer: &mut PartObserver<'_>,
    stop: &AtomicBool,
) -> Result<Progressed<Measurement>, RunError> {
    let mut progressed = part.work.run(observer, stop)?;
    let mut lighter = part.work.lighter();
    for halved in 1..=HALVED {
        let ends = plan.quick || stop.load(Relaxed) || !is_void(&progressed.verdict);
        let Some(work) = lighter.filter(|_| !ends) else { break };
        let why = progressed.verdict.reasons;
        progressed = work.run(observer, stop)?;
        progressed.findings.push(whole::halved(halved, &why));
        lighter = work.lighter();
    }
    Ok(progressed)
}

/// Whether it decides nothing. The tables rest on every part, the load too; the level is that of the answered times alone.
fn is_void(verdict: &Verdict) -> bool {
    verdict.clone().of_everything().level == Level::Void
}

#[cfg(test)]
mod tests;
