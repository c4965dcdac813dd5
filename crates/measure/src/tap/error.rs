//! Why the times of the link layer could not be taken.

use std::io;
use std::path::PathBuf;

use netfathom_bpf::SetError;
use netfathom_capture::error::CaptureError;
use netfathom_sys::cpu::CpuError;

use super::capture::CaptureTapError;
use crate::ground::error::{Failure, GroundError, Mistake, pass_on};
use crate::load::allow::Refusal;
use crate::load::control::ControlError;
use crate::load::error::FlightError;

/// Why a load could not be measured by a tap.
#[derive(Debug, thiserror::Error)]
pub enum TapError {
    /// The load itself could not be made.
    #[error(transparent)]
    Flight(#[from] FlightError),
    /// The tap that was asked for does not work here.
    #[error("the {what} does not work here: {reason}; {remedy}")]
    NoTap { what: String, reason: String, remedy: String },
    /// Packets could not be captured.
    #[error("{0}")]
    Capture(#[from] CaptureTapError),
    /// What was captured or logged cannot be read back.
    #[error("cannot read {path} back: {source}; was it changed while the trial ran?", path = .path.display())]
    Unreadable { path: PathBuf, source: CaptureError },
    /// What was captured cannot stay.
    #[error("cannot keep the capture as {path}: {source}", path = .path.display())]
    NotKept { path: PathBuf, source: io::Error },
    /// There is no device known that could be captured at.
    #[error("no device to capture at: name the address of one with --listen, or use the lab")]
    NoCaptureDevice,
    /// The tap failed in the middle of a run.
    #[error("the bpf tap failed: {0}")]
    Bpf(#[from] SetError),
}

impl Failure for TapError {
    fn mistake(&self) -> Option<Mistake> {
        if let Self::Flight(error) = self { error.mistake() } else { None }
    }
}

pass_on!(TapError::Flight: GroundError, CpuError, ControlError, Refusal);
