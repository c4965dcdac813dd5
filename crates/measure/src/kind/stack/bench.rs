//! What all trials of a run share, and how each of them is set up where it is to run. No benchmark: that is
//! `benches/stack.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_model::path::Tap;
use netfathom_model::plan::{Place, StackPlan, TapChoice};
use netfathom_model::print::percent;
use netfathom_model::profile::Profile;
use netfathom_model::record::{StackResult, Trial, TrialKind};
use netfathom_model::sample::Sample;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::directory::Directory;

use super::ends::{Here, Inward, Load, Outward};
use super::listening::Listening;
use super::programs::Programs;
use super::report;
use super::trial::{StackOutcome, StackTask};
use crate::ground::observer::{Live, Observer, Step};
use crate::ground::processors::Cpus;
use crate::ground::rig::Rig;
use crate::load::error::FlightError;
use crate::load::flight::Departures;
use crate::tap::error::TapError;
use crate::tap::pcap::Files;
use crate::tap::sampling::Sampling;

/// Length of the burst that finds the flat-out rate, and of the warm-up.
const BURST: Load<'static> =
    Load { duration_ns: 200_000_000, departures: Departures::FlatOut, contention: None };

pub struct Bench<'a> {
    pub plan: &'a StackPlan,
    pub rig: &'a Rig,
    /// Processors of the senders and of the reader.
    pub cpus: &'a Cpus,
    /// Where the sender of another host knocks, if it is one.
    pub listening: Option<&'a Listening>,
    pub stop: &'a AtomicBool,
    pub started_ns: u64,
    pub programs: Programs,
    /// Where captures lie; with the temporary files if nowhere else.
    pub directory: Option<Directory>,
}

pub struct Turn {
    /// Its place in the run, from 0.
    pub index: usize,
    /// Of how many; 0 where that depends on them.
    pub of: usize,
    pub kind: TrialKind,
    pub tap: Option<Tap>,
    /// Whether the rate without pauses is found as well.
    pub bursts: bool,
    /// How narrow the widest interval is so far, where that ends the run.
    pub widest: Option<f64>,
}

impl Turn {
    /// Witnesses are asked for the whole only.
    fn wants_stages(&self) -> bool {
        self.kind == TrialKind::Measured
    }

    fn step(&self) -> Step {
        let kind = match self.kind {
            TrialKind::Measured => "measured",
            TrialKind::Baseline => "baseline, no tap",
            TrialKind::CrossCheck => &format!("cross-check, {} tap", self.tap.map_or("no", Tap::name)),
            TrialKind::Alternating => "tap on and off",
        };
        let widest =
            self.widest.map_or_else(String::new, |half| format!("; widest interval ± {}", percent(half)));
        Step::trial(&format!("{kind}{widest}"), self.index + 1, self.of)
    }
}

impl Bench<'_> {
    /// One trial, with its samples; `None` once the user wants an end.
    pub fn trial(
        &self,
        turn: &Turn,
        observer: &mut impl Observer<StackResult>,
    ) -> Result<Option<(Trial, Vec<Sample>)>, TapError> {
        let live = Arc::new(Live::default());
        let load = Load {
            duration_ns: self.plan.profile.duration_ns(),
            departures: Departures::Planned(&self.plan.profile, self.plan.seed),
            contention: None,
        };
        let files = Files::of_trial(self.directory.as_ref(), turn.index as u32, self.plan.pcap.keep);
        let task = StackTask {
            alternates: turn.kind == TrialKind::Alternating,
            ..self.task(turn.tap, turn.wants_stages(), self.sampling(turn), files, &live)
        };
        let flown = match self.listening {
            Some(listening) => self.inward(&task, listening, load, turn, observer, &live)?,
            None => {
                observer.begins(turn.step(), &live);
                let started_after_ns = self.elapsed_ns();
                let outcome = match self.plan.place {
                    Place::To(to) => task.run(Outward::greet(&task, to, load)?, load)?,
                    _ => task.run(Here::open(&task)?, load)?,
                };
                Some((started_after_ns, outcome))
            }
        };
        if self.stop.load(Relaxed) {
            return Ok(None);
        }
        Ok(flown.map(|(started_after_ns, outcome)| self.record(turn, started_after_ns, outcome)))
    }

    /// Waits for a sender, and for another one if the trial is lost with the first.
    fn inward(
        &self,
        task: &StackTask<'_>,
        listening: &Listening,
        load: Load<'_>,
        turn: &Turn,
        observer: &mut impl Observer<StackResult>,
        live: &Arc<Live>,
    ) -> Result<Option<(u64, StackOutcome)>, TapError> {
        let left = turn.of - turn.index;
        // Who sends a trial also sends the next.
        let mut is_new = turn.index == 0;
        loop {
            if is_new {
                observer.awaits(&listening.command(self.plan, left));
            }
            let name = format!("waiting for `load send`, --trials {left}");
            observer.begins(Step { name, number: turn.index + 1, of: turn.of }, live);
            let Some(incoming) = listening.next(self.plan, left, self.stop)? else { return Ok(None) };
            observer.begins(turn.step(), live);
            let started_after_ns = self.elapsed_ns();
            let inward = Inward::open(task, incoming, listening.port())?;
            match task.run(inward, load) {
                Err(TapError::Flight(FlightError::SenderLost(_))) if self.stop.load(Relaxed) => {
                    return Ok(None);
                }
                Err(TapError::Flight(FlightError::SenderLost(why))) => {
                    listening.throw_away(why);
                    is_new = true;
                }
                outcome => return Ok(Some((started_after_ns, outcome?))),
            }
        }
    }

    fn record(&self, turn: &Turn, started_after_ns: u64, mut outcome: StackOutcome) -> (Trial, Vec<Sample>) {
        let samples = std::mem::take(&mut outcome.tapped.samples);
        let flat_out_per_s = match turn.kind {
            // A burst that fails takes nothing from the trial before it.
            TrialKind::CrossCheck if self.plan.tap != TapChoice::All => None,
            TrialKind::Alternating => None,
            _ if !turn.bursts => None,
            _ => self.flat_out(turn),
        };
        let facts = report::Facts { turn, started_after_ns, flat_out_per_s, outcome: &outcome };
        let trial = facts.trial(self.plan, &self.rig.devices());
        (trial, report::completed(samples, self.plan, outcome.windows.start_ns))
    }

    /// Sends without pauses for a moment, so that the first trial finds what later ones find.
    pub fn warm_up(&self) -> Result<(), TapError> {
        if self.is_within() {
            self.aside(None, false, BURST)?;
        }
        Ok(())
    }

    /// The rate that a burst without pauses reaches; `None` if there was none.
    fn flat_out(&self, turn: &Turn) -> Option<f64> {
        if !self.is_within() {
            return None;
        }
        Some(self.aside(turn.tap, turn.wants_stages(), BURST).ok()?.sent.per_s())
    }

    /// A short load with the tap, which counts for nothing.
    pub fn attempt(&self, tap: Tap, profile: &Profile) -> Result<StackOutcome, TapError> {
        let departures = Departures::Planned(profile, self.plan.seed);
        let load = Load { duration_ns: profile.duration_ns(), departures, contention: None };
        self.aside(Some(tap), true, load)
    }

    /// A load beside the trials.
    fn aside(&self, tap: Option<Tap>, stages: bool, load: Load<'_>) -> Result<StackOutcome, TapError> {
        let live = Live::default();
        let files = Files::of_burst(self.directory.as_ref());
        let task = self.task(tap, stages, Sampling::none(), files, &live);
        let here = Here::open(&task)?;
        task.run(here, load)
    }

    /// Whether all traffic stays on this machine. A network with others on it is given no
    /// more than the load that the plan has for it.
    fn is_within(&self) -> bool {
        matches!(self.plan.place, Place::Lab | Place::Loopback)
    }

    pub fn elapsed_ns(&self) -> u64 {
        monotonic_ns() - self.started_ns
    }

    fn sampling(&self, turn: &Turn) -> Sampling {
        let measured = turn.kind == TrialKind::Measured;
        let most = if measured { self.plan.samples.div_ceil(self.plan.most_trials()) } else { 0 };
        Sampling::new(turn.index as u32, self.plan.profile.messages(), most as usize, self.plan.seed)
    }

    fn task<'a>(
        &'a self,
        tap: Option<Tap>,
        stages: bool,
        sampling: Sampling,
        files: Files,
        live: &'a Live,
    ) -> StackTask<'a> {
        let Self { plan, rig, cpus, stop, ref programs, .. } = *self;
        StackTask { plan, rig, tap, alternates: false, stages, sampling, cpus, stop, live, programs, files }
    }
}
