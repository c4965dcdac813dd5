//! Which kinds of kernel programs work here.

use netfathom_bpf::probe::{self, ProbeError, Tracing};
use netfathom_model::host::HostRow;
use netfathom_sys::capability::{Capability, effective};

use super::places::no_lab_reason;
use super::reason::plain;
use super::{missing, works};
use crate::lab::{Lab, LabError, Role};

const TCX: &str = "tcx";
const TCX_USE: &str = "delays that prove the stages, gone with their process";
const XDP: &str = "XDP, native";
const XDP_USE: &str = "programs in the driver, before any stack; tried on veth";

const VERDICT: &str = "socket verdict";
const VERDICT_USE: &str = "programs that answer messages at a socket, in the kernel";

pub(super) fn rows(lab: &Result<Lab, LabError>) -> Vec<HostRow> {
    vec![
        btf(),
        tracing(Tracing::TpBtf, "tp_btf", "typed tracepoints: what the bpf tap stands on"),
        tracing(Tracing::RawTp, "raw_tp", "untyped tracepoints: what the bpf tap stands on"),
        tracing(Tracing::Fentry, "fentry", "entries of kernel functions; optional, nothing needs it"),
        on_device(lab, TCX, TCX_USE, "use Linux 6.6 or later; before, clsact does the same", probe::tcx),
        on_device(lab, XDP, XDP_USE, "use a kernel whose veth has XDP", probe::xdp_native),
        socket_verdict(),
    ]
}

fn btf() -> HostRow {
    let detail = "the kernel's own types, which the programs are fitted to";
    match probe::btf() {
        Ok(types) => works("BTF", format!("{detail}; {types} of them")),
        Err(e) => {
            let remedy = "use a kernel built with CONFIG_DEBUG_INFO_BTF, as distributions' are";
            missing("BTF", detail, plain(&e.to_string()), remedy)
        }
    }
}

fn tracing(kind: Tracing, name: &str, detail: &str) -> HostRow {
    match probe::tracing(kind) {
        Ok(()) => works(name, detail),
        Err(e) => missing(name, detail, plain(&e.to_string()), tracing_remedy(&e, kind)),
    }
}

fn tracing_remedy(error: &ProbeError, kind: Tracing) -> &'static str {
    match (error.is_denied(), may_trace(), kind) {
        (true, false, _) => "run as root, or grant CAP_BPF and CAP_PERFMON to the program",
        (true, true, Tracing::Fentry) => {
            "use a kernel that allows it to root, as distributions' do; netfathom measures without it"
        }
        (true, true, _) => "lift what confines this process: kernel lockdown, a container or a sandbox",
        (false, _, _) => "use a kernel with CONFIG_BPF_SYSCALL, CONFIG_BPF_EVENTS and CONFIG_DEBUG_INFO_BTF",
    }
}

/// Whether this process holds what tracing needs; before Linux 5.8 CAP_SYS_ADMIN was all.
fn may_trace() -> bool {
    let held = effective().unwrap_or_default();
    held.contains(&Capability::SysAdmin)
        || held.contains(&Capability::Bpf) && held.contains(&Capability::Perfmon)
}

fn socket_verdict() -> HostRow {
    match probe::socket_verdict() {
        Ok(()) => works(VERDICT, VERDICT_USE),
        Err(e) => {
            let remedy = if e.is_denied() {
                "run as root, or grant CAP_BPF and CAP_NET_ADMIN to the program"
            } else {
                "use Linux 5.13 or later, built with CONFIG_BPF_STREAM_PARSER"
            };
            missing(VERDICT, VERDICT_USE, plain(&e.to_string()), remedy)
        }
    }
}

/// Tries a program on the reader's device of the lab.
fn on_device(
    lab: &Result<Lab, LabError>,
    name: &str,
    detail: &str,
    remedy: &str,
    attach: fn(u32) -> Result<(), ProbeError>,
) -> HostRow {
    let lab = match lab {
        Ok(lab) => lab,
        Err(e) => {
            let reason = format!("there is no lab to try it in: {}", no_lab_reason(e));
            return missing(name, detail, reason, "make the lab possible first, see the row `lab`");
        }
    };
    let index = lab.link(Role::Reader).index;
    match lab.reader.run(|| attach(index)) {
        Ok(Ok(())) => works(name, detail),
        Ok(Err(e)) if e.is_denied() => {
            let remedy = "run as root, or grant CAP_BPF and CAP_NET_ADMIN to the program";
            missing(name, detail, plain(&e.to_string()), remedy)
        }
        Ok(Err(e)) => missing(name, detail, plain(&e.to_string()), remedy),
        Err(e) => missing(name, detail, plain(&e.to_string()), remedy),
    }
}
