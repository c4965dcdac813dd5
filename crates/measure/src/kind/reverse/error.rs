//! Why the reverse load could not be measured.

use std::io;
use std::net::{IpAddr, SocketAddr};

use netfathom_sys::cpu::CpuError;

use crate::ground::error::{Failure, GroundError, Mistake, pass_on};
use crate::load::allow::Refusal;
use crate::load::control::ControlError;
use crate::load::error::FlightError;
use crate::tap::error::TapError;

#[derive(Debug, thiserror::Error)]
pub enum ReverseError {
    #[error(transparent)]
    Tap(#[from] TapError),
    #[error(
        "cannot reach a counterpart at {address} (TCP): {source}; start it there: netfathom reverse serve --listen \
         {address}"
    )]
    NoHost { address: SocketAddr, source: io::Error },
    #[error("the counterpart at {address} refuses: {why}")]
    Refused { address: SocketAddr, why: String },
    #[error("the other host was lost: {0}")]
    Lost(#[from] ControlError),
    #[error("the other host at {peer} reports: {text}")]
    Reported { peer: SocketAddr, text: String },
    #[error(
        "no datagram of this host arrives at {to} (UDP), though TCP does: is a firewall in between? (nft list ruleset, \
         on both hosts)"
    )]
    NothingArrives { to: SocketAddr },
    #[error(
        "no datagram of {from} arrives here, from its UDP port {port}: is a firewall in between? (nft list ruleset, on \
         both hosts)"
    )]
    NothingComes { from: IpAddr, port: u16 },
    #[error("{0}")]
    Unfit(String),
}

impl Failure for ReverseError {
    fn mistake(&self) -> Option<Mistake> {
        if let Self::Tap(error) = self { error.mistake() } else { None }
    }
}

pass_on!(ReverseError::Tap: FlightError, GroundError, CpuError, Refusal);
