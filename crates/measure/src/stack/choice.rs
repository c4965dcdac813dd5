//! What a plan leaves open: the taps, found out by trying, and the processors.

use netfathom_bpf::Cause;
use netfathom_bpf::stack::{LoadError, StackTap, Target};
use netfathom_model::environment::ThreadPlace;
use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::{Place, StackPlan, TapChoice};
use netfathom_model::record::{LeftOut, TrialKind};
use netfathom_sys::capability::{Capability, effective};
use netfathom_sys::cpu;

use super::order::{Kind, interleaved};
use crate::capture::{self, By};
use crate::error::MeasureError;

/// The taps of a run.
pub struct Taps {
    /// The run's own.
    pub main: Tap,
    /// Those that are put beside it.
    pub others: Vec<Tap>,
    /// What does not work.
    pub left_out: Vec<LeftOut>,
}

impl Taps {
    /// The trials of a run, in the order in which they run.
    #[must_use]
    pub fn order(&self, plan: &StackPlan) -> Vec<Kind> {
        let own = [
            ((TrialKind::Measured, Some(self.main)), plan.trials),
            ((TrialKind::Control, None), plan.controls),
        ];
        let others = self.others.iter().map(|&tap| ((TrialKind::Witness, Some(tap)), plan.witnesses));
        let alternating = ((TrialKind::Alternating, Some(Tap::Timestamping)), self.alternating(plan));
        interleaved(&own.into_iter().chain(others).chain([alternating]).collect::<Vec<_>>())
    }

    /// How many trials tell what the main tap adds to the times that it reports: one has many rounds.
    fn alternating(&self, plan: &StackPlan) -> u32 {
        let here = matches!(plan.place, Place::Lab | Place::Loopback);
        let both = self.main == Tap::Bpf && self.others.contains(&Tap::Timestamping);
        u32::from(here && both && plan.witnesses > 0)
    }
}

/// Whether the bpf tap works here in these directions, found out by loading it.
///
/// # Errors
/// Why not, and what would help.
pub fn probe_bpf(directions: &[Direction]) -> Result<(), LeftOut> {
    let target = Target { flow: 0, reader_cookie: 0, window_shift: 30 };
    let Err(error) = StackTap::load(directions, target) else { return Ok(()) };
    let remedy = bpf_remedy(&error, directions);
    Err(LeftOut { what: "bpf tap".into(), reason: error.to_string(), remedy })
}

fn bpf_remedy(error: &LoadError, directions: &[Direction]) -> String {
    let has = |c| effective().is_ok_and(|all| all.contains(&c));
    if !(has(Capability::SysAdmin) || has(Capability::Bpf) && has(Capability::Perfmon)) {
        return "run as root, or give the program CAP_BPF and CAP_PERFMON".into();
    }
    if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
        return "use a kernel built with CONFIG_DEBUG_INFO_BTF".into();
    }
    let cause = if let LoadError::Step { source, .. } = error { Some(source.cause()) } else { None };
    match cause {
        Some(Cause::NoTracepoint(_)) if directions.contains(&Direction::Rx) => {
            "use Linux 6.3 or later for the stages of receiving, or measure sending alone: netfathom stack tx"
        }
        Some(Cause::NoTracepoint(_) | Cause::TooOld { .. }) => "use Linux 5.17 or later",
        _ => "NETFATHOM_BPF_LOG=1 shows all that libbpf and the verifier write",
    }
    .into()
}

/// Whether a tap works here.
fn probe(tap: Tap, plan: &StackPlan) -> Result<(), LeftOut> {
    match tap {
        Tap::Bpf => probe_bpf(&plan.directions),
        Tap::Timestamping => Ok(()),
        Tap::Pcap => {
            let out_at_lo = plan.place == Place::Loopback && plan.measures(Direction::Tx);
            probe_pcap(plan.pcap.tcpdump, out_at_lo)
        }
    }
}

/// Whether the pcap tap works here: whether packets may be captured, and by tcpdump if it is
/// to be that; `out_at_lo` where they go out at the loopback device.
///
/// # Errors
/// Why not, and what would help.
pub fn probe_pcap(tcpdump: bool, out_at_lo: bool) -> Result<(), LeftOut> {
    capture::probe(&By::of(tcpdump), out_at_lo).map_err(|e| {
        let told = e.to_string();
        // What to do comes last.
        let (reason, remedy) = told.rsplit_once("; ").unwrap_or((&told, "use another tap"));
        LeftOut { what: "pcap tap".into(), reason: reason.into(), remedy: remedy.into() }
    })
}

/// The taps that the plan asks for, as far as they work here.
///
/// # Errors
/// If the plan names one that does not.
pub fn choose_taps(plan: &StackPlan) -> Result<Taps, MeasureError> {
    // The best first; what stands beside the one that was asked for comes after it.
    let (asked, beside): (Vec<Tap>, &[Tap]) = match plan.tap {
        TapChoice::Auto => (vec![Tap::Bpf, Tap::Timestamping], &[Tap::Timestamping]),
        TapChoice::All => (vec![Tap::Bpf, Tap::Timestamping], &[Tap::Timestamping, Tap::Pcap]),
        TapChoice::Only(Tap::Bpf) => (vec![Tap::Bpf], &[Tap::Timestamping]),
        TapChoice::Only(tap) => (vec![tap], &[Tap::Bpf]),
    };
    let mut left_out = Vec::new();
    let mut works = |&tap: &Tap| probe(tap, plan).map_err(|reason| left_out.push(reason)).is_ok();
    let main = asked.iter().copied().find(&mut works);
    let Some(main) = main else {
        let LeftOut { what, reason, remedy } = left_out.swap_remove(0);
        return Err(MeasureError::NoTap { what, reason, remedy });
    };
    let others = beside.iter().copied().filter(|&tap| tap != main).filter(&mut works).collect();
    Ok(Taps { main, others, left_out })
}

/// The processors of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpus {
    /// One a sender.
    pub senders: Vec<usize>,
    /// The reader's.
    pub reader: usize,
}

/// Senders and reader from the last processor down; the first one has most interrupts.
///
/// # Errors
/// If the system does not say which may be used.
pub fn choose_cpus(plan: &StackPlan) -> Result<Cpus, MeasureError> {
    // Senders on another host need none of this one's.
    let workers = if matches!(plan.place, Place::Listen(_)) { 0 } else { plan.workers as usize };
    if let Some((sender, reader)) = plan.cpus {
        return Ok(Cpus { senders: vec![sender; workers], reader });
    }
    spread(workers)
}

/// Each of the senders and the reader on a processor of its own, as far as there are any:
/// then the senders share those that the reader does not have.
///
/// # Errors
/// If the system does not say which may be used.
pub fn spread(workers: usize) -> Result<Cpus, MeasureError> {
    let mut down = cpu::allowed()?;
    down.reverse();
    let first = down.first().copied().unwrap_or(0);
    // The reader comes after the senders, or takes the last.
    let reader = down.get(workers).or(down.last()).copied().unwrap_or(first);
    let others: Vec<usize> = down.into_iter().filter(|&cpu| cpu != reader).collect();
    let of = |n: usize| if others.is_empty() { first } else { others[n % others.len()] };
    Ok(Cpus { senders: (0..workers).map(of).collect(), reader })
}

/// The processors of this host's threads, as records have it.
#[must_use]
pub fn places(place: Place, cpus: &Cpus) -> Vec<ThreadPlace> {
    let mut places = thread_places(cpus);
    if matches!(place, Place::To(_)) {
        places.retain(|p| p.role != "reader");
    }
    places
}

/// As [`spread`], with the reader on another host: the senders have all processors.
///
/// # Errors
/// If the system does not say which may be used.
pub fn spread_senders(workers: usize) -> Result<Cpus, MeasureError> {
    let mut down = cpu::allowed()?;
    down.reverse();
    let of = |n: usize| down.get(n % down.len().max(1)).copied().unwrap_or(0);
    Ok(Cpus { senders: (0..workers).map(of).collect(), reader: of(0) })
}

/// The same, as records have it.
#[must_use]
pub fn thread_places(cpus: &Cpus) -> Vec<ThreadPlace> {
    let place = |role: &str, cpu| ThreadPlace { role: role.into(), cpu };
    let senders = cpus.senders.iter().map(|&cpu| place("sender", cpu));
    senders.chain([place("reader", cpus.reader)]).collect()
}
