//! What a plan leaves open: the taps, found out by trying, and the processors.

use netfathom_bpf::stack::{StackTap, Target};
use netfathom_model::environment::ThreadPlace;
use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::{Place, StackPlan, TapChoice};
use netfathom_model::record::{LeftOut, TrialKind};
use netfathom_sys::capability::{Capability, effective};
use netfathom_sys::cpu;

use crate::error::MeasureError;

/// The taps of a run.
pub struct Taps {
    /// The run's own.
    pub main: Tap,
    /// The second witness, if it works here.
    pub other: Option<Tap>,
    /// What does not work.
    pub left_out: Vec<LeftOut>,
}

impl Taps {
    /// The tap of a trial: the run's own, none, or the other one.
    #[must_use]
    pub fn of(&self, kind: TrialKind) -> Option<Tap> {
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
    let has = |c| effective().is_ok_and(|all| all.contains(&c));
    if !(has(Capability::SysAdmin) || has(Capability::Bpf) && has(Capability::Perfmon)) {
        return "run as root, or give the program CAP_BPF and CAP_PERFMON".into();
    }
    if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
        return "use a kernel built with CONFIG_DEBUG_INFO_BTF".into();
    }
    "see what this kernel has with `netfathom host`".into()
}

/// The taps that the plan asks for, as far as they work here.
///
/// # Errors
/// If the plan names one that does not.
pub fn choose_taps(plan: &StackPlan) -> Result<Taps, MeasureError> {
    let timestamping = |other, left_out| Taps { main: Tap::Timestamping, other, left_out };
    match (plan.tap, probe_bpf()) {
        (TapChoice::Only(Tap::Timestamping), Ok(())) => Ok(timestamping(Some(Tap::Bpf), Vec::new())),
        (TapChoice::Only(Tap::Timestamping) | TapChoice::Auto, Err(left_out)) => {
            Ok(timestamping(None, vec![left_out]))
        }
        (_, Ok(())) => Ok(Taps { main: Tap::Bpf, other: Some(Tap::Timestamping), left_out: Vec::new() }),
        (TapChoice::Only(Tap::Bpf), Err(LeftOut { reason, remedy, .. })) => {
            Err(MeasureError::NoBpf { reason, remedy })
        }
    }
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
