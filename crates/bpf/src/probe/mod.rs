//! Which kinds of kernel programs work here, found out by loading and attaching one that
//! does nothing. Each is gone again when its function returns.

use libbpf_rs::Object;
use libbpf_rs::btf::Btf;
use netfathom_sys::cpu::thread_time_ns;

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

/// What a hook adds to what it is attached to, ns: the kernel's way to a program that does nothing, and back. A median of
/// rounds with and without it: some milliseconds of CPU time.
///
/// # Errors
/// What the kernel refused. Needs CAP_BPF and CAP_PERFMON.
pub fn hook_ns() -> Result<f64, ProbeError> {
    const ROUNDS: usize = 9;
    let object = load("on_rename")?;
    let mut programs: Vec<_> = object.progs_mut().filter(|p| p.autoload()).collect();
    let mut added = [0.0; ROUNDS];
    for added in &mut added {
        let bare = rename_ns();
        let attached = programs.iter_mut().map(|p| p.attach().map_err(ProbeError::at("attach")));
        let links = attached.collect::<Result<Vec<_>, _>>()?;
        *added = rename_ns() - bare;
        drop(links);
    }
    added.sort_by(f64::total_cmp);
    Ok(added[ROUNDS / 2].max(0.0))
}

/// A call that gives this thread its own name.
fn rename_ns() -> f64 {
    const CALLS: u32 = 1000;
    let mut name = [0_u8; 16];
    // SAFETY: the kernel writes 16 bytes at most, which live during the call.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    let before = thread_time_ns();
    for _ in 0..CALLS {
        // SAFETY: it is a name that ends within 16 bytes, which live during the call.
        unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
    }
    (thread_time_ns() - before) as f64 / f64::from(CALLS)
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
