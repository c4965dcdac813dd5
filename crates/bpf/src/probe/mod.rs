//! Which kinds of kernel programs work here, found out by loading and attaching one that
//! does nothing. Each is gone again when its function returns.

use libbpf_rs::Object;
use libbpf_rs::btf::Btf;

use crate::load::{self, Refusal};
use crate::{libbpf_log, tcx};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/probe.bpf.o"));

/// Why a kind of program does not work here.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step}: {source}")]
pub struct ProbeError {
    /// What was tried, such as `load`.
    pub step: &'static str,
    pub source: Refusal,
}

impl ProbeError {
    fn at<E: Into<Refusal>>(step: &'static str) -> impl Fn(E) -> Self {
        move |source| Self { step, source: source.into() }
    }
}

/// A kind of program on a hook of the whole machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracing {
    /// A tracepoint with typed arguments, since Linux 5.5: the base of the bpf tap.
    TpBtf,
    /// A tracepoint with arguments as numbers, since Linux 4.17.
    RawTp,
    /// The entry of a kernel function, since Linux 5.5.
    Fentry,
}

impl Tracing {
    fn program(self) -> &'static str {
        match self {
            Self::TpBtf => "on_tp_btf",
            Self::RawTp => "on_raw_tp",
            Self::Fentry => "on_fentry",
        }
    }
}

/// Reads the kernel's own types (BTF) and returns how many there are.
pub fn btf() -> Result<usize, ProbeError> {
    libbpf_log::take_over();
    Btf::from_vmlinux().map(|btf| btf.len()).map_err(ProbeError::at("read"))
}

/// Loads and attaches a program of that kind.
///
/// # Errors
/// What the kernel refused. Needs CAP_BPF and CAP_PERFMON.
pub fn tracing(kind: Tracing) -> Result<(), ProbeError> {
    let object = load(kind.program())?;
    let program = object.progs_mut().find(|p| p.autoload());
    program.map_or(Ok(()), |p| p.attach().map(drop).map_err(ProbeError::at("attach")))
}

/// Attaches a program to the ingress of a device as a link (tcx, since Linux 6.6). Call it
/// inside the device's network namespace.
///
/// # Errors
/// What the kernel refused. Needs CAP_BPF and CAP_NET_ADMIN.
pub fn tcx(ifindex: u32) -> Result<(), ProbeError> {
    let object = load("on_tcx")?;
    tcx::attach(&object, ifindex).map(drop).map_err(ProbeError::at("attach"))
}

fn load(name: &str) -> Result<Object, ProbeError> {
    let open = load::open(OBJECT, |of| of == name).map_err(ProbeError::at("open"))?;
    load::load(open).map_err(ProbeError::at("load"))
}
