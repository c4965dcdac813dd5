//! What a plan leaves open: the taps and the processors.

use netfathom_bpf::stack::Hooks;
use netfathom_model::environment::ThreadPlace;
use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::{Place, StackPlan, StageSet, TapChoice, Transport};
use netfathom_model::record::{LeftOut, TrialKind};

use super::order::Order;
use crate::ground::error::GroundError;
use crate::ground::processors::{Cpus, spread, thread_places};
use crate::tap::error::TapError;
use crate::tap::probe;

pub struct Taps {
    pub main: Tap,
    pub others: Vec<Tap>,
    pub left_out: Vec<LeftOut>,
}

impl Taps {
    pub fn order(&self, plan: &StackPlan) -> Order {
        let own = [
            ((TrialKind::Measured, Some(self.main)), plan.trials),
            ((TrialKind::Baseline, None), plan.baselines),
        ];
        let others = self.others.iter().map(|&tap| ((TrialKind::CrossCheck, Some(tap)), plan.cross_checks));
        let alternating = ((TrialKind::Alternating, Some(Tap::Timestamping)), self.alternating(plan));
        Order::of(&own.into_iter().chain(others).chain([alternating]).collect::<Vec<_>>())
    }

    /// How many trials tell what the main tap adds to the times that it reports: one has many rounds.
    fn alternating(&self, plan: &StackPlan) -> u32 {
        let here = matches!(plan.place, Place::Lab | Place::Loopback);
        let both = self.main == Tap::Bpf && self.others.contains(&Tap::Timestamping);
        u32::from(here && both && plan.cross_checks > 0)
    }
}

/// The hooks of the bpf tap that take the times of these stages.
pub fn hooks(stages: StageSet) -> Hooks {
    match stages {
        StageSet::Total => Hooks::LinkLayer,
        StageSet::Path => Hooks::Path,
        StageSet::All => Hooks::Tracepoints,
    }
}

/// Whether a tap works here, and what it does without.
fn probe(tap: Tap, plan: &StackPlan) -> Result<Vec<LeftOut>, LeftOut> {
    if plan.transport == Transport::Tcp && matches!(tap, Tap::Pcap | Tap::Fentry) {
        return Err(LeftOut {
            what: format!("{} tap", tap.name()),
            reason: "it knows messages by their datagrams, and over TCP there are none".into(),
            remedy: "use --transport udp".into(),
        });
    }
    match tap {
        Tap::Bpf => {
            let replaced = probe::bpf(hooks(plan.stages), plan.transport, &plan.directions)?;
            Ok(replaced.iter().map(probe::without).collect())
        }
        Tap::Fentry => Ok(probe::fentry(&plan.directions)?.iter().map(probe::without).collect()),
        Tap::Timestamping => Ok(Vec::new()),
        Tap::Pcap => {
            let out_at_lo = plan.place == Place::Loopback && plan.measures(Direction::Tx);
            probe::pcap(plan.pcap.tcpdump, out_at_lo).map(|()| Vec::new())
        }
    }
}

/// The taps that the plan asks for, as far as they work here.
pub fn choose_taps(plan: &StackPlan) -> Result<Taps, TapError> {
    // The best first; what stands beside the one that was asked for comes after it.
    let (asked, beside): (Vec<Tap>, &[Tap]) = match plan.tap {
        TapChoice::Auto => (vec![Tap::Bpf, Tap::Timestamping], &[Tap::Timestamping]),
        TapChoice::All => (vec![Tap::Bpf, Tap::Timestamping], &[Tap::Timestamping, Tap::Pcap, Tap::Fentry]),
        TapChoice::Only(Tap::Bpf) => (vec![Tap::Bpf], &[Tap::Timestamping]),
        TapChoice::Only(tap) => (vec![tap], &[Tap::Bpf]),
    };
    // To look for a tap loads its programs.
    let beside = if plan.cross_checks > 0 { beside } else { &[] };
    let mut left_out = Vec::new();
    let mut works = |&tap: &Tap| {
        let probed = probe(tap, plan);
        let works = probed.is_ok();
        left_out.extend(probed.unwrap_or_else(|reason| vec![reason]));
        works
    };
    let main = asked.iter().copied().find(&mut works);
    let Some(main) = main else {
        let LeftOut { what, reason, remedy } = left_out.swap_remove(0);
        return Err(TapError::NoTap { what, reason, remedy });
    };
    let others = beside.iter().copied().filter(|&tap| tap != main).filter(&mut works).collect();
    Ok(Taps { main, others, left_out })
}

/// Senders and reader from the last processor down; the first one has most interrupts.
pub fn choose_cpus(plan: &StackPlan) -> Result<Cpus, GroundError> {
    // Senders on another host need none of this one's.
    let workers = if matches!(plan.place, Place::Listen(_)) { 0 } else { plan.workers as usize };
    if let Some((sender, reader)) = plan.cpus {
        return Ok(Cpus { senders: vec![sender; workers], reader });
    }
    spread(workers)
}

/// The processors of this host's threads, as records have it.
pub fn places(place: Place, cpus: &Cpus) -> Vec<ThreadPlace> {
    let mut places = thread_places(cpus);
    if matches!(place, Place::To(_)) {
        places.retain(|p| p.role != "reader");
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over TCP the capture is left out, whatever the machine allows.
    #[test]
    fn taps_that_the_plan_does_not_use_are_not_looked_for() {
        let profile = "constant:1k/1s".parse().unwrap();
        let one = StackPlan { transport: Transport::Tcp, ..StackPlan::one_trial(profile) };
        let chosen =
            |tap, cross_checks| choose_taps(&StackPlan { tap, cross_checks, ..one.clone() }).unwrap();
        let timestamping = TapChoice::Only(Tap::Timestamping);
        let (alone, beside) = (chosen(timestamping, 0), chosen(timestamping, 1));
        assert!(alone.others.is_empty() && alone.left_out.is_empty(), "{:?}", alone.left_out);
        assert!(beside.others == [Tap::Bpf] || beside.left_out[0].what == "bpf tap", "{:?}", beside.left_out);
        let captures = |taps: Taps| taps.left_out.iter().any(|left_out| left_out.what == "pcap tap");
        assert!(!captures(chosen(TapChoice::All, 0)));
        assert!(captures(chosen(TapChoice::All, 1)));
    }
}
