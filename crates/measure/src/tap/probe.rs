//! Whether a tap works here, found out by trying.

use netfathom_bpf::probe::{Tracing, tracing};
use netfathom_bpf::stack::{Hooks, Replaced, StackTap, Stream, Target};
use netfathom_bpf::{Cause, Refusal, SetError};
use netfathom_model::path::Direction;
use netfathom_model::plan::Transport;
use netfathom_model::record::LeftOut;
use netfathom_sys::capability::may_trace;
use netfathom_sys::confinement::{confined, tracing_remedy};

use super::capture::{self, By};

const FENTRY: &str = "fentry tap";

/// Whether the bpf tap works here in these directions, found out by loading it: the hooks that this kernel lacks.
pub fn bpf(at: Hooks, transport: Transport, directions: &[Direction]) -> Result<Vec<Replaced>, LeftOut> {
    let stream = (transport == Transport::Tcp).then_some(Stream::NONE);
    let target = Target { flow: 0, reader_cookie: 0, window_shift: 30, stream };
    StackTap::load(at, directions, target).map(|tap| tap.replaced().to_vec()).map_err(|error| {
        let what = if at == Hooks::Functions { FENTRY } else { "bpf tap" };
        LeftOut { what: what.into(), reason: error.to_string(), remedy: remedy(&error, transport) }
    })
}

/// The same of the fentry tap.
pub fn fentry(directions: &[Direction]) -> Result<Vec<Replaced>, LeftOut> {
    tracing(Tracing::Fentry).map_err(|error| {
        let (reason, remedy) = match may_load(error.source.is_denied()) {
            Err(remedy) => (error.to_string(), remedy),
            Ok(()) => (
                format!("this kernel attaches no program to its functions (fentry): {error}"),
                "use one that does, as distributions' do, or --tap bpf, which uses tracepoints only",
            ),
        };
        LeftOut { what: FENTRY.into(), reason, remedy: remedy.into() }
    })?;
    bpf(Hooks::Functions, Transport::Udp, directions)
}

/// What the record says of a hook that the kernel lacks.
pub fn without(hook: &Replaced) -> LeftOut {
    let stages: Vec<_> = hook.stages().iter().map(|stage| stage.name()).collect();
    let what = match stages.len() {
        0 => format!("hook {}", hook.hook),
        1 => format!("stage {}", stages[0]),
        _ => format!("stages {}", stages.join(" and ")),
    };
    LeftOut { what, reason: hook.to_string(), remedy: hook.remedy() }
}

/// What this process, or its kernel, lacks for any such program; what confines it matters only if that was denied.
fn may_load(denied: bool) -> Result<(), &'static str> {
    if !may_trace() || denied && confined().is_some() {
        return Err(tracing_remedy());
    }
    if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err("use a distribution's own kernel; stack --tap timestamping needs no BTF");
    }
    Ok(())
}

fn remedy(error: &SetError, transport: Transport) -> String {
    let refusal = if let SetError::Step { source, .. } = error { Some(source) } else { None };
    if let Err(remedy) = may_load(refusal.is_some_and(Refusal::is_denied)) {
        return remedy.into();
    }
    match refusal.map(Refusal::cause) {
        Some(Cause::NoTracepoint(_) | Cause::TooOld { .. }) if transport == Transport::Tcp => {
            "use Linux 6.3 or later, or --transport udp"
        }
        Some(Cause::NoTracepoint(_) | Cause::TooOld { .. }) => "use Linux 5.10 or later",
        Some(Cause::TimeNamespace(_)) => "--tap timestamping needs no kernel programs",
        _ => "NETFATHOM_BPF_LOG=1 shows all that libbpf and the verifier write",
    }
    .into()
}

/// Whether the pcap tap works here: whether packets may be captured, and by tcpdump if it is
/// to be that; `out_at_lo` where they go out at the loopback device.
pub fn pcap(tcpdump: bool, out_at_lo: bool) -> Result<(), LeftOut> {
    capture::probe(&By::of(tcpdump), out_at_lo).map_err(|e| {
        let text = e.to_string();
        // What to do comes last.
        let (reason, remedy) = text.rsplit_once("; ").unwrap_or((&text, "use another tap"));
        LeftOut { what: "pcap tap".into(), reason: reason.into(), remedy: remedy.into() }
    })
}
