//! Why messages could not be sent or taken.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

use netfathom_bpf::generator::GeneratorError;
use netfathom_bpf::sink::SinkError;
use netfathom_sys::cpu::CpuError;
use netfathom_sys::link::LinkError;
use netfathom_sys::offload::OffloadError;
use netfathom_sys::route::RouteError;
use netfathom_sys::xsk::XskError;

use super::allow::Refusal;
use super::control::ControlError;
use crate::ground::error::{Failure, GroundError, Mistake};
use crate::ground::lab::LabError;

/// Why messages could not be sent or taken.
#[derive(Debug, thiserror::Error)]
pub enum FlightError {
    /// There is nothing to send from or to.
    #[error(transparent)]
    Ground(#[from] GroundError),
    /// The machine has no thread left for us.
    #[error("cannot start the {name} thread: {source}; raise the limit of processes (ulimit -u)")]
    NoThread { name: &'static str, source: io::Error },
    /// A thread of ours panicked.
    #[error("the {0} thread died: this is a bug in netfathom")]
    Thread(&'static str),
    /// The reader failed.
    #[error("the reader failed while receiving: {0}; the trial is lost")]
    Receive(io::Error),
    /// The path has no device that is known here.
    #[error("cannot find the device that leads to {0}: is there a route? (ip route get {0})")]
    NoDevice(IpAddr),
    /// Frames can be taken only from a device that is named by its address.
    #[error("no device has the address {0}: listen on the address that the messages come to")]
    NoOwnDevice(IpAddr),
    /// A device could not be read or changed.
    #[error("{0}")]
    Link(#[from] LinkError),
    /// An offload of a device could not be changed.
    #[error("{0}")]
    Offload(#[from] OffloadError),
    /// The way to another host is not known.
    #[error("{0}")]
    Route(#[from] RouteError),
    /// An AF_XDP socket could not be had.
    #[error("{0}")]
    Xsk(#[from] XskError),
    /// The program that writes frames could not be had.
    #[error("{0}")]
    Generator(#[from] GeneratorError),
    /// The program that takes messages from the driver could not be had.
    #[error("{0}")]
    Sink(#[from] SinkError),
    /// The conversation with another host did not come about.
    #[error("{0}")]
    Control(#[from] ControlError),
    /// The other host is there no more.
    #[error("the sink was lost while the load ran, which has stopped: {0}")]
    PeerLost(ControlError),
    /// The other host, which sends, is there no more.
    #[error("the sender was lost before its trial was over: {0}")]
    SenderLost(String),
    /// It is not one of those that may be sent to.
    #[error("{0}")]
    NotAllowed(#[from] Refusal),
    /// What was sent and received could not be written down.
    #[error("cannot write the message log {path}: {source}; choose another place or free some space there", path = .path.display())]
    Log { path: PathBuf, source: io::Error },
}

impl Failure for FlightError {
    fn mistake(&self) -> Option<Mistake> {
        match self {
            Self::Ground(error) => error.mistake(),
            Self::NotAllowed(_) => Some(Mistake::Named),
            _ => None,
        }
    }
}

impl From<CpuError> for FlightError {
    fn from(error: CpuError) -> Self {
        Self::Ground(error.into())
    }
}

impl From<LabError> for FlightError {
    fn from(error: LabError) -> Self {
        Self::Ground(error.into())
    }
}
