//! Why messages could not be sent or taken.

use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

use netfathom_bpf::generator::GeneratorError;
use netfathom_bpf::sink::SinkError;
use netfathom_model::units::format_duration;
use netfathom_sys::cpu::CpuError;
use netfathom_sys::link::LinkError;
use netfathom_sys::offload::OffloadError;
use netfathom_sys::route::RouteError;
use netfathom_sys::xsk::XskError;

use super::allow::Refusal;
use super::control::{ControlError, LOST_AFTER};
use crate::ground::error::{Failure, GroundError, Mistake, pass_on};
use crate::ground::lab::LabError;

#[derive(Debug, thiserror::Error)]
pub enum FlightError {
    #[error(transparent)]
    Ground(#[from] GroundError),
    #[error("cannot start the {name} thread: {source}; raise the limit of processes (ulimit -u)")]
    NoThread { name: &'static str, source: io::Error },
    #[error("the {0} thread died: this is a bug in netfathom")]
    Thread(&'static str),
    #[error(
        "cannot start a process that sends: {0}; see the limits of processes and descriptors (ulimit -u, ulimit -n)"
    )]
    NoInstance(io::Error),
    #[error("a process that sends ended before it gave its account ({0}); the trial is lost")]
    Instance(io::Error),
    #[error("the reader failed while receiving: {0}; the trial is lost")]
    Receive(io::Error),
    #[error("cannot find the device that leads to {0}: is there a route? (ip route get {0})")]
    NoDevice(IpAddr),
    #[error("no device has the address {0}: listen on the address that the messages come to")]
    NoOwnDevice(IpAddr),
    /// Of a device, a route or a program in a driver.
    #[error("{0}")]
    Kernel(Box<dyn Error + Send + Sync>),
    #[error("{0}")]
    Control(#[from] ControlError),
    #[error("the sink was lost while the load ran, which has stopped: {0}{hint}", hint = long_path(.0))]
    PeerLost(ControlError),
    #[error("the sender was lost before its trial was over: {0}")]
    SenderLost(String),
    #[error("{0}")]
    NotAllowed(#[from] Refusal),
    #[error("cannot write the message log {path}: {source}; choose another place or free some space there", path = .path.display())]
    Log { path: PathBuf, source: io::Error },
}

/// A sink that waits too long for an answer hangs up.
fn long_path(lost: &ControlError) -> String {
    let ControlError::Closed { .. } = lost else { return String::new() };
    let most = format_duration(LOST_AFTER.as_nanos() as u64);
    format!("; it also closes it if the round trip is longer than {most}")
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

pass_on!(FlightError::Ground: CpuError, LabError);
pass_on!(FlightError::Kernel: LinkError, OffloadError, RouteError, XskError, GeneratorError, SinkError);
