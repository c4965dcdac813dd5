//! How a rate is tried: the flights of one engine with a number of workers.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_model::engine::{Engine, Receive};
use netfathom_model::plan::{CapacityPlan, Place, Spin};
use netfathom_model::profile::Profile;
use netfathom_model::record::{Contention, Probe};

use super::judge::Faults;
use crate::ground::error::GroundError;
use crate::ground::observer::Live;
use crate::ground::processors::{Cpus, named, spread};
use crate::ground::rig::Rig;
use crate::load::control::draw_flow;
use crate::load::error::FlightError;
use crate::load::flight::Departures;
use crate::load::judge::{MOST_LAG, MOST_MISSED, share};
use crate::load::shot::{Shot, ShotOutcome};
use crate::load::{contention, remote};

/// Length of a burst without pauses.
const BURST_NS: u64 = 200_000_000;
/// Long enough to find routes, warm caches and learn whether the engine works here.
const WARM_UP_NS: u64 = 50_000_000;
/// What of the plan may be lost, or unsent, in a sustained rate.
const MOST_MISSING: f64 = 0.001;
/// A last message this little late does not make a rate unsustained, however short the plan.
const GRACE_NS: f64 = 1e6;

/// Combinations of an engine and a number of workers.
pub type Rows = Vec<(Engine, u32)>;

#[derive(Clone, Copy)]
pub struct Bench<'a> {
    pub plan: &'a CapacityPlan,
    pub rig: &'a Rig,
    pub stop: &'a AtomicBool,
}

impl<'a> Bench<'a> {
    pub fn lane(self, engine: Engine, workers: u32) -> Result<EngineFlights<'a>, FlightError> {
        let cpus = places(self.plan, workers)?;
        Ok(EngineFlights {
            bench: self,
            engine,
            cpus,
            receive: None,
            bursts_per_s: Vec::new(),
            burst_sent: 0,
            burst_delivered: None,
            contention: Vec::new(),
            observer: None,
            faults: Faults::default(),
        })
    }
}

pub fn places(plan: &CapacityPlan, workers: u32) -> Result<Cpus, GroundError> {
    let workers = workers as usize;
    named(&plan.cpus, workers).map_or_else(|| spread(workers), Ok)
}

/// The flights of one engine with one number of workers, and their combined results.
pub struct EngineFlights<'a> {
    bench: Bench<'a>,
    engine: Engine,
    cpus: Cpus,
    /// How the far end took them, once that is known.
    pub receive: Option<Receive>,
    pub bursts_per_s: Vec<f64>,
    burst_sent: u64,
    /// `None` if no far end reported.
    burst_delivered: Option<u64>,
    /// Who had the processors in the searches with the receiver that polls.
    pub contention: Vec<Contention>,
    /// What observes that, between two probes: it need not be loaded for each.
    observer: Option<contention::Contention>,
    pub faults: Faults,
}

impl EngineFlights<'_> {
    pub fn warm_up(&mut self, live: &Live) -> Result<(), FlightError> {
        self.fly(WARM_UP_NS, Departures::FlatOut, self.engine.matching_receive(), None, live).map(drop)
    }

    /// A burst without pauses; the highest rate that any of them has reached so far: one
    /// that others disturbed is no reason to search lower.
    pub fn burst(&mut self, live: &Live) -> Result<f64, FlightError> {
        let outcome = self.fly(BURST_NS, Departures::FlatOut, self.engine.matching_receive(), None, live)?;
        // One that the user ended is no burst: the search after it ends as well.
        if !self.bench.stop.load(Relaxed) {
            self.bursts_per_s.push(outcome.sent.per_s());
            self.burst_sent += outcome.sent.accepted;
            if !outcome.read.unreported {
                *self.burst_delivered.get_or_insert(0) += outcome.read.delivered;
            }
        }
        Ok(self.bursts_per_s.iter().copied().fold(0.0, f64::max))
    }

    /// The share of all bursts that did not arrive; `None` if no far end reported.
    pub fn burst_lost(&self) -> Option<f64> {
        self.burst_delivered.map(|delivered| 1.0 - share(delivered, self.burst_sent))
    }

    pub fn processors(&self) -> usize {
        self.cpus.senders.iter().collect::<BTreeSet<_>>().len()
    }

    /// Holds a rate against that receiver; nothing if the user ended it.
    pub fn probe(
        &mut self,
        rate_per_s: f64,
        receive: Receive,
        live: &Live,
    ) -> Result<Option<Probe>, FlightError> {
        if self.bench.stop.load(Relaxed) {
            return Ok(None);
        }
        let profile = Profile::Constant { rate_per_s, duration_ns: self.bench.plan.hold_ns };
        let departures = Departures::Planned(&profile, 0);
        // A receiver that sleeps after each message would pay for its switches.
        let is_observed = receive == self.engine.matching_receive();
        let observed = is_observed.then(|| departures.observed(&mut self.observer)).flatten();
        let outcome = self.fly(profile.duration_ns(), departures, receive, observed.as_ref(), live)?;
        self.observer = observed.map(contention::Contention::rested).or(self.observer.take());
        let seen = outcome.sent.contention.iter().chain(&outcome.read.contention);
        self.contention = Contention::pooled(self.contention.iter().chain(seen));
        if self.bench.stop.load(Relaxed) {
            return Ok(None);
        }
        Ok(Some(probe(rate_per_s, profile.messages(), &outcome)))
    }

    /// Whether an ordinary receiver can be put in the place of the one that keeps up with the engine.
    pub fn has_blocking_receiver(&self) -> bool {
        self.engine.passes_stack() && !matches!(self.bench.plan.place, Place::To(_))
    }

    fn fly(
        &mut self,
        duration_ns: u64,
        departures: Departures<'_>,
        receive: Receive,
        contention: Option<&contention::Contention>,
        live: &Live,
    ) -> Result<ShotOutcome, FlightError> {
        let plan = self.bench.plan;
        let shot = Shot {
            rig: self.bench.rig,
            engine: self.engine,
            transport: plan.transport,
            receive,
            cpus: &self.cpus,
            size: plan.size_bytes,
            port: 0,
            spin: Spin::Auto,
            echo: false,
            flow: draw_flow()?,
            stop: self.bench.stop,
            live,
            log: None,
            contention,
        };
        let outcome = match plan.place {
            Place::To(to) => remote::fly(&shot, to, false, duration_ns, departures, None),
            _ => shot.fly(duration_ns, departures),
        }?;
        // One that the user ended leaves messages on their way.
        if !self.bench.stop.load(Relaxed) {
            self.faults.note(&outcome);
        }
        self.receive = self.receive.or(outcome.ways.receive);
        Ok(outcome)
    }
}

fn probe(wanted_per_s: f64, planned: u64, outcome: &ShotOutcome) -> Probe {
    let sent = &outcome.sent;
    let kept = Kept { left: sent.accepted, planned, end_ns: sent.end_ns() };
    let mut probe = Probe {
        wanted_per_s,
        reached_per_s: sent.reached_per_s(),
        lost: (!outcome.read.unreported).then(|| outcome.lost()),
        missed: share(sent.lateness.missed_slots + sent.unsent, planned),
        lag_p99_of_slot: sent.lateness.p99_of_slot(),
        lag_p99_ns: sent.lag.distribution.quantile(0.99).unwrap_or(0),
        sleeps: outcome.receiver_sleeps(),
        sustained: false,
        in_time: false,
    };
    probe.sustained = kept.is_sustained(wanted_per_s) && probe.lost.is_none_or(|lost| lost < MOST_MISSING);
    probe.in_time = probe.sustained && probe.lag_p99_of_slot <= MOST_LAG && probe.missed <= MOST_MISSED;
    probe
}

/// How much of a plan left, and until when.
struct Kept {
    left: u64,
    planned: u64,
    /// The last departure, from the start of the plan.
    end_ns: u64,
}

impl Kept {
    /// Whether at least 99.9 % of it left within its time.
    fn is_sustained(&self, wanted_per_s: f64) -> bool {
        let whole_ns = self.planned.saturating_sub(1) as f64 * 1e9 / wanted_per_s;
        let allowed_ns = whole_ns + (MOST_MISSING * whole_ns).max(GRACE_NS);
        share(self.left, self.planned) >= 1.0 - MOST_MISSING && self.end_ns as f64 <= allowed_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_up(left: u64, end_ns: u64) -> bool {
        // Ten seconds of a thousand a second: ten milliseconds are a thousandth.
        Kept { left, planned: 10_000, end_ns }.is_sustained(1000.0)
    }

    #[test]
    fn a_rate_is_sustained_when_the_plan_was_sent_in_its_time() {
        assert!(is_up(10_000, 9_999_000_000) && is_up(9_990, 9_999_000_000));
        assert!(!is_up(9_989, 9_999_000_000), "too few left");
        assert!(is_up(10_000, 10_008_000_000) && !is_up(10_000, 10_010_000_000));
    }

    #[test]
    fn a_short_plan_may_end_with_a_late_message() {
        let short = |end_ns| Kept { left: 100, planned: 100, end_ns }.is_sustained(1000.0);
        assert!(short(99_900_000) && !short(100_100_000));
    }
}
