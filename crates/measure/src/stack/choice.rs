//! What a plan leaves open: the taps, found out by trying, and the processors.

use netfathom_bpf::stack::{StackTap, Target};
use netfathom_model::environment::ThreadPlace;
use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::{StackPlan, TapChoice};
use netfathom_model::record::{LeftOut, TrialKind};
use netfathom_sys::capability::{Capability, effective};
use netfathom_sys::cpu;

use super::StackError;

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
pub fn choose_taps(plan: &StackPlan) -> Result<Taps, StackError> {
    let timestamping = |other, left_out| Taps { main: Tap::Timestamping, other, left_out };
    match (plan.tap, probe_bpf()) {
        (TapChoice::Only(Tap::Timestamping), Ok(())) => Ok(timestamping(Some(Tap::Bpf), Vec::new())),
        (TapChoice::Only(Tap::Timestamping) | TapChoice::Auto, Err(left_out)) => {
            Ok(timestamping(None, vec![left_out]))
        }
        (_, Ok(())) => Ok(Taps { main: Tap::Bpf, other: Some(Tap::Timestamping), left_out: Vec::new() }),
        (TapChoice::Only(Tap::Bpf), Err(LeftOut { reason, remedy, .. })) => {
            Err(StackError::NoBpf { reason, remedy })
        }
    }
}

/// Sender and reader on the last two processors; the first one has most interrupts.
///
/// # Errors
/// If the system does not say which may be used.
pub fn choose_cpus(plan: &StackPlan) -> Result<(usize, usize), StackError> {
    if let Some(cpus) = plan.cpus {
        return Ok(cpus);
    }
    let allowed = cpu::allowed()?;
    let last = allowed.last().copied().unwrap_or(0);
    Ok((last, allowed.iter().rev().nth(1).copied().unwrap_or(last)))
}

/// The same, as records have it.
#[must_use]
pub fn thread_places((sender, reader): (usize, usize)) -> Vec<ThreadPlace> {
    vec![
        ThreadPlace { role: "sender".into(), cpu: sender },
        ThreadPlace { role: "reader".into(), cpu: reader },
    ]
}
