//! What comes back to the sender: how long each answer took, from the intended departure
//! and from the actual one.

use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use netfathom_model::message::Header;
use netfathom_model::record::Echo;
use netfathom_stats::Distribution;
use netfathom_sys::clock::monotonic_ns;

use super::receive::PATIENCE;
use super::seen::{Arrival, Seen};
use crate::stack::tap::PART_GRAIN;

/// The times of the answers so far.
#[derive(Clone, Debug)]
pub struct Answers {
    /// Messages that were answered.
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
    /// Adds what another socket's answers took.
    pub fn merge(&mut self, other: &Self) {
        self.answered += other.answered;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
    }

    /// As records keep it.
    #[must_use]
    pub fn record(&self) -> Echo {
        Echo { answered: self.answered, response: (&self.response).into(), service: (&self.service).into() }
    }
}

/// Reads the answers to the messages of one trial from the socket that sent them, until
/// `over` is set and nothing is left.
///
/// # Errors
/// If receiving fails.
pub fn read(
    socket: &UdpSocket,
    flow: u32,
    lanes: u32,
    count: &AtomicU64,
    over: &AtomicBool,
) -> io::Result<Answers> {
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut answers = Answers::default();
    let mut seen = Seen::default();
    let mut buffer = [0; 2048];
    loop {
        match socket.recv(&mut buffer) {
            Ok(bytes) => {
                let now_ns = monotonic_ns();
                let Some(header) = Header::read(&buffer[..bytes]).filter(|h| h.flow == flow) else {
                    continue;
                };
                if header.sequence == u64::MAX
                    || seen.arrive(header.sequence / u64::from(lanes)) == Arrival::Duplicate
                {
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
            Err(e) => return Err(e),
        }
    }
}
