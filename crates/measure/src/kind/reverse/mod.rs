//! `netfathom reverse`: what messages that come in take from those that go out.
//!
//! One thread sends as fast as it can; in the middle of the trial the far end sends towards
//! it, more and more, and then no more. Incoming packets are steered to the sender's own
//! processor, where those of a real device with one queue would be handled as well.
//!
//! [`run`] is the map: build the lab, run the trials in their order, say what came of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_bpf::stack::Hooks;
use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::{Place, ReversePlan, Transport, Variant};
use netfathom_model::record::{LeftOut, ReverseResult, ReverseTrial, VariantResult};
use netfathom_sys::steer;

use crate::ground::environment;
use crate::ground::error::{GroundError, RunError};
use crate::ground::lab::Role;
use crate::ground::observer::{Live, Observer, Progressed, Step};
use crate::ground::processors::{Cpus, spread, thread_places};
use crate::ground::rig::Rig;
use crate::load::allow;
use crate::load::contention::Contention;
use crate::load::control::draw_flow;
use crate::load::error::FlightError;
use crate::tap::probe;

mod edges;
mod error;
mod far_end;
mod findings;
mod hosts;
mod inbound;
mod judge;
mod phases;
mod protocol;
mod report;
pub mod serve;
mod sockets;
mod summary;
mod trial;

pub use error::ReverseError;
use hosts::Host;
use judge::Checks;
use trial::{Bench, Far};

/// Measures. Ends early, keeping the finished trials, once `stop` is set.
pub fn run(
    plan: &ReversePlan,
    observer: &mut impl Observer<ReverseResult>,
    stop: &AtomicBool,
) -> Result<Progressed<ReverseResult>, RunError> {
    let hosts = dial(plan, stop)?;
    let place = plan.to.as_ref().and_then(|hosts| hosts.first()).map_or(Place::Lab, |&to| Place::To(to));
    let rig = Rig::build(place, plan.family)?;
    let far = rig.lab().map_or(Far::Hosts(&hosts), Far::Lab);
    let cpus = choose_cpus(plan)?;
    let mut left_out = Vec::new();
    let tapped = plan.tapped
        && match probe::bpf(Hooks::Tracepoints, Transport::Udp, &[Direction::Tx]) {
            Ok(replaced) => {
                left_out.extend(replaced.iter().map(probe::without));
                true
            }
            Err(reason) => {
                left_out.push(reason);
                false
            }
        };
    // Devices that are not ours stay as they are.
    let steered =
        rig.lab().is_some() && steer(&rig, cpus.senders[0]).map_err(|reason| left_out.push(reason)).is_ok();
    let result = ReverseResult {
        plan: plan.clone(),
        tap: tapped.then_some(Tap::Bpf),
        left_out,
        steered,
        variants: plan.variants.iter().map(none_yet).collect(),
        hosts: plan.to.as_ref().map(|_| hosts.iter().map(Host::recorded).collect()),
    };
    let environment = environment::read(thread_places(&cpus), rig.devices(), rig.lab());
    let mut progressed = Progressed::new(environment, result);
    let bench = Bench { plan, rig: &rig, far, cpus: (cpus.senders[0], cpus.reader), tapped, steered, stop };
    let mut checks = Vec::new();
    conclude(&mut progressed, &checks);
    observer.keep(&progressed)?;
    let order = order(plan.variants.len(), plan.trials as usize);
    // A tap takes time of the sender at each message anyway.
    let mut contention = if tapped { Contention::begin() } else { Contention::of_switches() };
    for (number, &place) in order.iter().enumerate() {
        if stop.load(Relaxed) {
            break;
        }
        let live = Arc::new(Live::default());
        let name = plan.variants[place].name();
        observer.begins(Step::trial(name, number + 1, order.len()), &live);
        let of_variant = &mut progressed.result.variants[place];
        let index = of_variant.trials.len() as u32;
        contention = contention.and_then(Contention::again);
        let trial = bench.trial(of_variant.variant, index, contention.as_ref(), &live);
        // That a stopped one failed says nothing.
        if stop.load(Relaxed) {
            break;
        }
        let (trial, of_trial) = trial?;
        of_variant.trials.push(trial);
        checks.push(of_trial);
        conclude(&mut progressed, &checks);
        observer.keep(&progressed)?;
    }
    conclude(&mut progressed, &checks);
    Ok(progressed)
}

/// The other hosts, if there are any; those that were reached if the user stops it.
fn dial<'a>(plan: &ReversePlan, stop: &'a AtomicBool) -> Result<Vec<Host<'a>>, ReverseError> {
    let allowed = plan.allow.as_deref().unwrap_or_default();
    let mut hosts = Vec::new();
    for &to in plan.to.iter().flatten() {
        allow::permit(to.ip(), allowed, false)?;
        match Host::dial(to, stop) {
            Err(_) if stop.load(Relaxed) => break,
            host => hosts.push(host?),
        }
    }
    Ok(hosts)
}

fn none_yet(&variant: &Variant) -> VariantResult {
    VariantResult { variant, trials: Vec::new(), summary: None }
}

/// The variants by their places in the plan, a round a trial. Each round begins with another
/// one: then neither a machine that grows slower nor the neighbour before it meets one alone.
fn order(variants: usize, trials: usize) -> Vec<usize> {
    (0..trials).flat_map(|round| (0..variants).map(move |n| (round + n) % variants)).collect()
}

/// Draws every conclusion from the trials that are there.
fn conclude(p: &mut Progressed<ReverseResult>, checks: &[Checks]) {
    for variant in &mut p.result.variants {
        variant.summary = summary::summarize(&variant.trials);
    }
    let planned = p.result.plan.trials * p.result.plan.variants.len() as u32;
    p.verdict = judge::run(checks, planned);
    let half_width = |v: &VariantResult| Some((v.variant, v.summary.as_ref()?.drop_interval?.half_width));
    let half_widths: Vec<(Variant, f64)> = p.result.variants.iter().filter_map(half_width).collect();
    judge::precision(&mut p.verdict, &half_widths);
    p.findings = findings::findings(&p.result);
}

fn choose_cpus(plan: &ReversePlan) -> Result<Cpus, GroundError> {
    match plan.cpus {
        Some((sender, reader)) => Ok(Cpus { senders: vec![sender], reader }),
        None => spread(1),
    }
}

/// Lets packets that come in on this host be handled on the sender's processor. Without it a
/// veth has them handled on that of the far end, which no real device could do.
fn steer(rig: &Rig, cpu: usize) -> Result<(), LeftOut> {
    let device = rig.device_names().0.unwrap_or_default();
    let steered = rig.at(Role::Sender, || steer::to_processor(&device, Some(cpu)));
    let left_out = |reason: String| LeftOut {
        what: "incoming packets on the sender's CPU".into(),
        reason,
        remedy: "use a kernel built with CONFIG_RPS, and run as root".into(),
    };
    steered.map_err(|e| left_out(e.to_string()))?.map_err(|e| left_out(e.to_string()))
}

impl Bench<'_> {
    fn trial(
        self,
        variant: Variant,
        index: u32,
        contention: Option<&Contention>,
        live: &Live,
    ) -> Result<(ReverseTrial, Checks), ReverseError> {
        let flow = draw_flow().map_err(FlightError::from)?;
        let outcome = trial::ReverseTask { bench: self, variant, flow, live, contention }.run()?;
        Ok(report::ReverseFacts { index, bench: self, variant, outcome: &outcome }.trial())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_every_variant_and_begins_with_another() {
        let order = order(4, 5);
        assert_eq!(order.len(), 20);
        for (round, places) in order.chunks(4).enumerate() {
            assert_eq!(places[0], round % 4);
            let mut sorted = places.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3]);
        }
    }
}
