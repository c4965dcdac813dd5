//! Why messages could not be measured.

use std::io;

use netfathom_model::layer::{End, Layer};
use netfathom_sys::cpu::CpuError;
use netfathom_sys::peer::PeerError;

use crate::ground::error::{Failure, Mistake};
use crate::ground::lab::LabError;

/// Why messages could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// There can be no lab here.
    #[error("{0}{remedy}", remedy = lab_remedy(.0))]
    Lab(#[from] LabError),
    /// The processors asked for cannot be had.
    #[error("{0}")]
    Cpu(#[from] CpuError),
    /// There are too few processors.
    #[error("--cpus cross: it takes two processors; name two with --cpu, or choose --cpus same")]
    OneProcessor,
    /// A library that was asked for by name is not here.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// Nothing that was asked for can be.
    #[error("there is nothing to measure: {0}")]
    Nothing(String),
    /// A connection between the ends could not be made.
    #[error("cannot {action}: {source}")]
    Connect {
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// An end could not be made, or broke off.
    #[error("{layer}: the {end} {what}: {source}", end = .end.name())]
    End {
        layer: Layer,
        end: End,
        /// What it could not do.
        what: &'static str,
        source: EndError,
    },
    /// A thread could not be started.
    #[error("cannot start a thread for an end: {0}; see the limit of processes (ulimit -u)")]
    Thread(io::Error),
}

impl Failure for MessageError {
    fn mistake(&self) -> Option<Mistake> {
        matches!(self, Self::Cpu(_)).then_some(Mistake::Processors)
    }
}

/// What an end says when it cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum EndError {
    /// The system said so.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The message library said so.
    #[error(transparent)]
    Library(#[from] netfathom_message::Error),
    /// The kernel cannot be that end.
    #[error(transparent)]
    Kernel(#[from] netfathom_bpf::message::MessageError),
    /// No program in the driver can be that end.
    #[error(transparent)]
    Generator(#[from] netfathom_bpf::generator::GeneratorError),
    /// Its device cannot be made to take what a program sends.
    #[error(transparent)]
    Device(#[from] netfathom_bpf::sink::SinkError),
    /// Another project's library said so.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// The host that it is to stand on is not there.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// It cannot run on its processor.
    #[error(transparent)]
    Cpu(#[from] CpuError),
    /// It came to something that cannot be.
    #[error("{0}")]
    Unexpected(String),
}

fn lab_remedy(error: &LabError) -> &'static str {
    if matches!(error, LabError::Setup(_)) { "" } else { "; without root choose --loopback" }
}
