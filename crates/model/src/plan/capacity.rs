//! The plan of `netfathom capacity`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::load::{MOST_WORKERS, NO_DRIVER};
use super::{Family, MS, Place, PlanError, S, Transport, conflict, range, size, span};
use crate::engine::Engine;

/// The plan of `netfathom capacity`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityPlan {
    /// Where: in the lab, over loopback, or to another host.
    pub place: Place,
    /// IPv4 or IPv6.
    pub family: Family,
    /// UDP or TCP.
    pub transport: Transport,
    /// The engines to search with.
    pub engines: Vec<Engine>,
    /// The numbers of workers to search with, each with each engine.
    pub workers: Vec<u32>,
    /// How long each rate is held.
    pub hold_ns: u64,
    /// Searches, for the interval.
    pub trials: u32,
    /// Payload of a datagram, or bytes in the stream.
    pub size_bytes: usize,
    /// CPUs of the workers, then of the receiver; empty leaves the choice to netfathom.
    pub cpus: Vec<usize>,
    /// Networks that may be sent to besides private ones, as `ADDR/LEN`.
    pub allow: Vec<String>,
}

impl CapacityPlan {
    /// Checks what the types do not.
    ///
    /// # Errors
    /// The first thing that is wrong, with the range that would be right.
    pub fn validated(self) -> Result<Self, PlanError> {
        size(self.size_bytes, self.place, self.family, self.transport)?;
        range("trials", self.trials.into(), 1, 1000)?;
        span("hold", self.hold_ns, (50 * MS, 600 * S))?;
        range("engines", self.engines.len() as u64, 1, Engine::LADDER.len() as u64)?;
        range("workers", self.workers.len() as u64, 1, 64)?;
        if self.place == Place::Loopback && self.engines.iter().any(|e| !e.passes_stack()) {
            return conflict(NO_DRIVER);
        }
        if self.transport == Transport::Tcp {
            if self.engines != [Engine::Send] {
                return conflict("--transport tcp has one engine: choose --engine send");
            }
            if matches!(self.place, Place::To(_)) {
                let text = "--transport tcp has both ends on this host: leave out --to";
                return conflict(text);
            }
        }
        self.workers.iter().try_for_each(|&w| range("workers", w.into(), 1, MOST_WORKERS.into()))?;
        Ok(self)
    }
}
