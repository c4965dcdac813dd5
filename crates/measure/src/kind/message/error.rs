//! Why messages could not be measured.

use std::io;
use std::net::SocketAddr;

use netfathom_model::layer::{Layer, Side};
use netfathom_sys::cpu::CpuError;

use crate::ground::error::{Failure, Mistake};
use crate::ground::lab::LabError;
use crate::ground::lab::wire::WireError;
use crate::load::control::ControlError;

#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    #[error("{0}{remedy}", remedy = lab_remedy(.0))]
    Lab(#[from] LabError),
    #[error("{0}; without root leave out --bandwidth and --delay, and choose --loopback")]
    Path(#[from] WireError),
    #[error("{0}")]
    Cpu(#[from] CpuError),
    #[error(
        "--cpu-pairs cross and +poll take two CPUs: name two with --cpu, or choose --cpu-pairs same without +poll"
    )]
    OneProcessor,
    #[error("there is nothing to measure: {0}")]
    Nothing(String),
    #[error("cannot {action}: {source}")]
    Connect { action: &'static str, source: io::Error },
    #[error("{layer}: the {end} {what}: {source}", end = .end.name())]
    End { layer: Layer, end: Side, what: &'static str, source: EndError },
    #[error(
        "cannot reach a server for messages at {address} (TCP): {source}; start it there: netfathom message serve \
         --listen {address}"
    )]
    NoServer { address: SocketAddr, source: io::Error },
    #[error("the server at {address} refuses: {why}")]
    Refused { address: SocketAddr, why: String },
    #[error("the host of the {end} was lost: {source}", end = .end.name())]
    Lost { end: Side, source: ControlError },
    #[error("the host of the {end} reports: {text}", end = .end.name())]
    Reported { end: Side, text: String },
    #[error("{0}")]
    Listen(#[from] ControlError),
    #[error("{0}")]
    Unfit(String),
    #[error("cannot start a thread for an end: {0}; see the limit of processes (ulimit -u)")]
    Thread(io::Error),
}

impl MessageError {
    pub fn connect(action: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Connect { action, source }
    }
}

impl Failure for MessageError {
    fn mistake(&self) -> Option<Mistake> {
        matches!(self, Self::Cpu(_)).then_some(Mistake::Processors)
    }
}

/// What an end says when it cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum EndError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Library(#[from] netfathom_message::Error),
    #[error(transparent)]
    Kernel(#[from] netfathom_bpf::message::MessageError),
    #[error(transparent)]
    Generator(#[from] netfathom_bpf::generator::GeneratorError),
    #[error(transparent)]
    Device(#[from] netfathom_bpf::sink::SinkError),
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error("{0}")]
    Unexpected(String),
}

fn lab_remedy(error: &LabError) -> &'static str {
    if matches!(error, LabError::Setup(_)) { "" } else { "; without root choose --loopback" }
}
