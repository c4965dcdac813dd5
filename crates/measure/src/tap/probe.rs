//! Whether a tap works here, found out by trying.

use netfathom_bpf::Cause;
use netfathom_bpf::stack::{LoadError, Replaced, StackTap, Target};
use netfathom_model::path::Direction;
use netfathom_model::record::LeftOut;
use netfathom_sys::capability::{Capability, effective};

use super::capture::{self, By};

/// Whether the bpf tap works here in these directions, found out by loading it: the hooks that this kernel lacks.
pub fn bpf(directions: &[Direction]) -> Result<Vec<Replaced>, LeftOut> {
    let target = Target { flow: 0, reader_cookie: 0, window_shift: 30 };
    StackTap::load(directions, target).map(|tap| tap.replaced().to_vec()).map_err(|error| {
        let remedy = bpf_remedy(&error);
        LeftOut { what: "bpf tap".into(), reason: error.to_string(), remedy }
    })
}

/// What the record says of a hook that the kernel lacks.
#[must_use]
pub fn without(hook: &Replaced) -> LeftOut {
    let stages: Vec<_> = hook.stages().iter().map(|stage| stage.name()).collect();
    let what = match stages.len() {
        0 => format!("hook {}", hook.hook),
        1 => format!("stage {}", stages[0]),
        _ => format!("stages {}", stages.join(" and ")),
    };
    LeftOut { what, reason: hook.to_string(), remedy: hook.remedy() }
}

fn bpf_remedy(error: &LoadError) -> String {
    let has = |c| effective().is_ok_and(|all| all.contains(&c));
    if !(has(Capability::SysAdmin) || has(Capability::Bpf) && has(Capability::Perfmon)) {
        return "run as root, or give the program CAP_BPF and CAP_PERFMON".into();
    }
    if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
        return "use a kernel built with CONFIG_DEBUG_INFO_BTF".into();
    }
    let cause = if let LoadError::Step { source, .. } = error { Some(source.cause()) } else { None };
    match cause {
        Some(Cause::NoTracepoint(_) | Cause::TooOld { .. }) => "use Linux 5.10 or later",
        _ => "NETFATHOM_BPF_LOG=1 shows all that libbpf and the verifier write",
    }
    .into()
}

/// Whether the pcap tap works here: whether packets may be captured, and by tcpdump if it is
/// to be that; `out_at_lo` where they go out at the loopback device.
pub fn pcap(tcpdump: bool, out_at_lo: bool) -> Result<(), LeftOut> {
    capture::probe(&By::of(tcpdump), out_at_lo).map_err(|e| {
        let told = e.to_string();
        // What to do comes last.
        let (reason, remedy) = told.rsplit_once("; ").unwrap_or((&told, "use another tap"));
        LeftOut { what: "pcap tap".into(), reason: reason.into(), remedy: remedy.into() }
    })
}
