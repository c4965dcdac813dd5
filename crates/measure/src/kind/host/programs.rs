//! Which kinds of kernel programs work here.

use netfathom_bpf::probe::{self, ProbeError, Tracing};
use netfathom_model::host::HostRow;
use netfathom_sys::capability::may_trace;
use netfathom_sys::confinement::{self, confined};

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
    match kind {
        _ if !error.source.is_denied() => {
            "use a kernel with CONFIG_BPF_SYSCALL, CONFIG_BPF_EVENTS and CONFIG_DEBUG_INFO_BTF"
        }
        Tracing::Fentry if may_trace() && confined().is_none() => {
            "use a kernel that allows it to root, as distributions' do; without it there is no --tap fentry, which shows more stages"
        }
        _ => confinement::tracing_remedy(),
    }
}

fn tcx(lab: &Result<Lab, LabError>) -> HostRow {
    let attempt = |lab: &Lab| Ok(lab.reader.run(|| probe::tcx(lab.link(Role::Reader).index))??);
    in_lab(lab, TCX, TCX_USE, "use Linux 6.6 or later; before, clsact does the same", attempt)
}
