//! Which kinds of kernel programs work here, found out by loading and attaching one that
//! does nothing. Each is gone again when its function returns.

use std::os::fd::{AsFd, AsRawFd};

use libbpf_rs::btf::Btf;
use libbpf_rs::{ErrorKind, MapCore, Object, ObjectBuilder, Xdp, XdpFlags};

use crate::tcx;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/probe.bpf.o"));

/// Why a kind of program does not work here.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step}: {source:#}")]
pub struct ProbeError {
    /// What was tried, such as `load`.
    pub step: &'static str,
    /// Why it failed.
    pub source: libbpf_rs::Error,
}

impl ProbeError {
    fn at(step: &'static str) -> impl Fn(libbpf_rs::Error) -> Self {
        move |source| Self { step, source }
    }

    /// Whether the kernel refused it for want of privilege, or since it forbids it to all.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.source.kind() == ErrorKind::PermissionDenied
    }
}

/// A kind of program on a hook of the whole machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracing {
    /// A tracepoint whose arguments have types, since Linux 5.5: what the bpf tap stands on.
    TpBtf,
    /// A tracepoint whose arguments are numbers, since Linux 4.17.
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
///
/// # Errors
/// Where the kernel was built without, or hides them.
pub fn btf() -> Result<usize, ProbeError> {
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

/// Attaches an XDP program to the driver of a device. Call it inside the device's network
/// namespace. Packets of that instant pass it.
///
/// # Errors
/// What the kernel refused, such as a driver that has no XDP of its own. Needs CAP_BPF and
/// CAP_NET_ADMIN.
pub fn xdp_native(ifindex: u32) -> Result<(), ProbeError> {
    let object = load("on_xdp")?;
    let Some(program) = object.progs_mut().find(|p| p.autoload()) else { return Ok(()) };
    let flags = XdpFlags::DRV_MODE | XdpFlags::UPDATE_IF_NOEXIST;
    let xdp = Xdp::new(program.as_fd());
    xdp.attach(ifindex as i32, flags).map_err(ProbeError::at("attach"))?;
    xdp.detach(ifindex as i32, XdpFlags::DRV_MODE).map_err(ProbeError::at("detach"))
}

/// Gives a map of sockets a program that says where their packets go, since Linux 5.13 for TCP
/// and UDP. No socket is put in.
///
/// # Errors
/// What the kernel refused. Needs CAP_BPF and CAP_NET_ADMIN.
pub fn socket_verdict() -> Result<(), ProbeError> {
    let object = load("on_verdict")?;
    let program = object.progs_mut().find(|p| p.autoload());
    let (Some(program), Some(sockets)) = (program, object.maps().find(|m| m.name() == "sockets")) else {
        return Ok(());
    };
    program.attach_sockmap(sockets.as_fd().as_raw_fd()).map_err(ProbeError::at("attach"))
}

/// Loads one program alone.
fn load(name: &str) -> Result<Object, ProbeError> {
    let mut open = ObjectBuilder::default().open_memory(OBJECT).map_err(ProbeError::at("open"))?;
    open.progs_mut().for_each(|mut program| {
        let load = program.name() == name;
        program.set_autoload(load);
    });
    open.load().map_err(ProbeError::at("load"))
}

/// Keeps libbpf from writing to standard error while `work` runs: what it would say is in
/// the errors. It holds for the whole process.
pub fn quietly<T>(work: impl FnOnce() -> T) -> T {
    let before = libbpf_rs::set_print(None);
    let result = work();
    libbpf_rs::set_print(before);
    result
}
