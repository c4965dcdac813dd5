//! Which kinds of kernel programs work here.

use netfathom_bpf::probe::{self, ProbeError, Tracing};
use netfathom_model::host::HostRow;
use netfathom_sys::capability::{Capability, effective};

use super::drivers::in_lab;
use super::reason::plain;
use super::{missing, works};
use crate::ground::lab::{Lab, LabError, Role};

const TCX: &str = "tcx";
const TCX_USE: &str = "delays that prove the stages, gone with their process";

pub(super) fn rows(lab: &Result<Lab, LabError>) -> Vec<HostRow> {
    vec![
        btf(),
        tracing(Tracing::TpBtf, "tp_btf", "typed tracepoints: what the bpf tap stands on"),
        tracing(Tracing::RawTp, "raw_tp", "untyped tracepoints: what the bpf tap stands on"),
        tracing(
            Tracing::Fentry,
            "fentry",
            "entries of kernel functions: what the fentry tap stands on; optional",
        ),
        tcx(lab),
    ]
}

fn btf() -> HostRow {
    let detail = "the kernel's own types, which the programs are fitted to";
    match probe::btf() {
        Ok(types) => works("BTF", format!("{detail}; {types} of them")),
        Err(e) => {
            let remedy = "use a kernel built with CONFIG_DEBUG_INFO_BTF, as distributions' are";
            missing("BTF", detail, plain(&e), remedy)
        }
    }
}

fn tracing(kind: Tracing, name: &str, detail: &str) -> HostRow {
    match probe::tracing(kind) {
        Ok(()) => works(name, detail),
        Err(e) => missing(name, detail, plain(&e), tracing_remedy(&e, kind)),
    }
}

fn tracing_remedy(error: &ProbeError, kind: Tracing) -> &'static str {
    match (error.source.is_denied(), may_trace(), kind) {
        (true, false, _) => "run as root, or grant CAP_BPF and CAP_PERFMON to the program",
        (true, true, Tracing::Fentry) => {
            "use a kernel that allows it to root, as distributions' do; without it there is no --tap fentry, which shows more stages"
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

fn tcx(lab: &Result<Lab, LabError>) -> HostRow {
    let attempt = |lab: &Lab| Ok(lab.reader.run(|| probe::tcx(lab.link(Role::Reader).index))??);
    in_lab(lab, TCX, TCX_USE, "use Linux 6.6 or later; before, clsact does the same", attempt)
}
