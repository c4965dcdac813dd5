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
    #[error(transparent)]
    Flight(#[from] FlightError),
    #[error("the {what} does not work here: {reason}; {remedy}")]
    NoTap { what: String, reason: String, remedy: String },
    #[error("{0}")]
    Capture(#[from] CaptureTapError),
    #[error("cannot read {path} back: {source}; was it changed while the trial ran?", path = .path.display())]
    Unreadable { path: PathBuf, source: CaptureError },
    #[error("cannot keep the capture as {path}: {source}", path = .path.display())]
    NotKept { path: PathBuf, source: io::Error },
    #[error("no device to capture at: name the address of one with --listen, or use the lab")]
    NoCaptureDevice,
    #[error("the bpf tap failed: {0}")]
    Bpf(#[from] SetError),
}

impl Failure for TapError {
    fn mistake(&self) -> Option<Mistake> {
        if let Self::Flight(error) = self { error.mistake() } else { None }
    }
}

pass_on!(TapError::Flight: GroundError, CpuError, ControlError, Refusal);
