//! What comes back to the sender: how long each answer took, from the intended departure
//! and from the actual one.

use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use netfathom_model::message::Header;
use netfathom_model::record::Echo;
use netfathom_stats::Distribution;
use netfathom_sys::clock::monotonic_ns;

use super::control::ControlError;
use super::receive::PATIENCE;
use super::sequence_window::{Arrival, SequenceWindow};
use super::window::PART_GRAIN;
use crate::ground::error::GroundError;
use crate::load::error::FlightError;

/// A message of a batch may leave a little before it is due.
const EARLY_NS: u64 = 1_000_000_000;

#[derive(Clone, Debug)]
pub struct Answers {
    pub answered: u64,
    /// From the intended departure.
    pub response: Distribution,
    /// From the actual one.
    pub service: Distribution,
}

impl Default for Answers {
    fn default() -> Self {
        Self { answered: 0, response: Distribution::new(PART_GRAIN), service: Distribution::new(PART_GRAIN) }
    }
}

impl Answers {
    pub fn merge(&mut self, other: &Self) {
        self.answered += other.answered;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
    }

    pub fn record(&self) -> Echo {
        Echo { answered: self.answered, response: (&self.response).into(), service: (&self.service).into() }
    }
}

/// The messages of a trial, which their answers repeat.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub flow: u32,
    pub lanes: u32,
    pub planned: u64,
    /// Before it, none was due.
    pub start_ns: u64,
}

impl Asked {
    /// What of an answer no message can have had that has come back by now, in words.
    fn excess(&self, header: &Header, now_ns: u64) -> Option<String> {
        let Header { sequence, intended_ns, sent_ns, .. } = *header;
        if sequence >= self.planned {
            return Some(format!("an answer to message {sequence} of {}", self.planned));
        }
        let then = self.start_ns..=now_ns.saturating_add(EARLY_NS);
        let strange = [intended_ns, sent_ns].into_iter().find(|at_ns| !then.contains(at_ns))?;
        Some(format!("an answer to message {sequence}, sent at {strange} ns, where none was"))
    }
}

/// Reads the answers to the messages of one trial from the socket that sent them, until
/// `over` is set and nothing is left.
pub fn read(
    socket: &UdpSocket,
    asked: Asked,
    count: &AtomicU64,
    over: &AtomicBool,
) -> Result<Answers, FlightError> {
    socket.set_read_timeout(Some(PATIENCE)).map_err(GroundError::Socket)?;
    let mut answers = Answers::default();
    let mut seen = SequenceWindow::default();
    let mut buffer = [0; 2048];
    loop {
        match socket.recv(&mut buffer) {
            Ok(bytes) => {
                let now_ns = monotonic_ns();
                let Some(header) = Header::read(&buffer[..bytes]).filter(|h| h.flow == asked.flow) else {
                    continue;
                };
                if let Some(what) = asked.excess(&header, now_ns) {
                    let peer = socket.peer_addr().map_err(GroundError::Socket)?;
                    return Err(ControlError::Implausible { peer, what }.into());
                }
                if seen.arrive(header.sequence / u64::from(asked.lanes)) == Arrival::Duplicate {
                    continue;
                }
                answers.answered += 1;
                answers.response.add(now_ns.wrapping_sub(header.intended_ns) as i64);
                answers.service.add(now_ns.wrapping_sub(header.sent_ns) as i64);
                count.fetch_add(1, Relaxed);
                // Who repeats answers for ever is not listened to for ever.
                if over.load(Relaxed) {
                    return Ok(answers);
                }
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                if over.load(Relaxed) {
                    return Ok(answers);
                }
            }
            // The port at the far end was closed at the end of the trial: what it did not
            // answer is counted as unanswered.
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(e) => return Err(FlightError::Receive(e)),
        }
    }
}
