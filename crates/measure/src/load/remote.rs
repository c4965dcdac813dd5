//! A far end on another host: a sink that reports over TCP what arrived, or none.

use std::net::SocketAddr;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::thread;
use std::time::Duration;

use netfathom_model::accounting::CounterCheck;
use netfathom_model::engine::Receive;
use netfathom_model::plan::Transport;
use netfathom_sys::clock::monotonic_ns;

use super::accounting::Ways;
use super::control::protocol::{self, Hello, Tally, VERSION};
use super::control::{ControlError, Session};
use super::flight::{Departures, FarEnd};
use super::reader::EndSignal;
use super::shot::{Shot, ShotOutcome};
use super::tally::Read;
use crate::load::error::FlightError;

/// Between two looks at what the sink says.
const LOOK: Duration = Duration::from_millis(20);
/// From the agreement with the sink to the first departure: longer than a round trip.
pub(crate) const AGREEMENT_NS: u64 = 300_000_000;

/// Makes a flight to a sink on another host; with `one_way`, to whoever is there. It begins at `start_ns`, on the one
/// clock, or as soon as the sink has agreed.
pub fn fly(
    shot: &Shot<'_>,
    to: SocketAddr,
    one_way: bool,
    duration_ns: u64,
    departures: Departures<'_>,
    start_ns: Option<u64>,
) -> Result<ShotOutcome, FlightError> {
    if one_way {
        let ways = Ways { engine: shot.engine, receive: None, transport: Transport::Udp };
        return shot.fly_to(to, &mut NoSink, ways, duration_ns, departures);
    }
    let session = Session::open(
        to,
        Hello {
            version: VERSION,
            size_bytes: shot.size,
            lanes: shot.lanes(),
            echo: shot.echo,
            planned: departures.messages(),
            duration_ns,
        },
    )?;
    let welcome = session.welcome.clone();
    let ways = Ways { engine: shot.engine, receive: Some(welcome.receive), transport: Transport::Udp };
    let shot = Shot { flow: welcome.flow, ..*shot };
    let mut sink = Sink { session: Some(session), tally: None, start_ns };
    let mut outcome = shot.fly_to(to, &mut sink, ways, duration_ns, departures)?;
    if let Some(tally) = &sink.tally {
        outcome.accounting.counters.extend(counters(tally, welcome.receive));
    }
    Ok(outcome)
}

/// What the sink's host counted, which others may move too.
pub(crate) fn counters(tally: &Tally, receive: Receive) -> Vec<CounterCheck> {
    let check = |counter: &str, observed: Option<u64>| {
        let expected = tally.read.delivered;
        Some(CounterCheck { counter: counter.into(), expected, observed: observed?, shared: true })
    };
    // UDP counts what it handed to the application in one piece.
    let singly = matches!(receive, Receive::Recv | Receive::Recvmmsg);
    let udp_in = tally.udp_in.filter(|_| singly);
    let checks =
        [check("sink: device packets in", tally.device_packets), check("sink: UDP datagrams in", udp_in)];
    checks.into_iter().flatten().collect()
}

/// No report of what arrives.
struct NoSink;

impl FarEnd for NoSink {
    fn take(&mut self, end: &EndSignal<'_>) -> Result<Read, FlightError> {
        while !end.senders_done.load(Relaxed) {
            // There is nothing to wait for.
            end.received.store(u64::MAX, Relaxed);
            thread::sleep(LOOK);
        }
        Ok(Read { unreported: true, ..Read::default() })
    }
}

pub(crate) struct Sink {
    /// The conversation, until it is over.
    pub(crate) session: Option<Session>,
    pub(crate) tally: Option<Tally>,
    /// When to begin, where that is not for this end to choose.
    pub(crate) start_ns: Option<u64>,
}

impl FarEnd for Sink {
    fn begin(&mut self) -> Result<u64, FlightError> {
        let start_ns = self.start_ns.unwrap_or_else(|| monotonic_ns() + AGREEMENT_NS);
        if let Some(session) = &mut self.session {
            session.begin(start_ns)?;
        }
        Ok(start_ns)
    }

    fn take(&mut self, end: &EndSignal<'_>) -> Result<Read, FlightError> {
        let Some(session) = self.session.take() else {
            return Ok(Read { unreported: true, ..Read::default() });
        };
        while !end.senders_done.load(Acquire) {
            let peer = &session.peer;
            end.received.store(peer.delivered.load(Relaxed), Relaxed);
            end.gone.store(peer.lost.load(Relaxed), Relaxed);
            thread::sleep(LOOK);
        }
        let (tried, accepted) = (end.tried.load(Relaxed), end.accepted.load(Relaxed));
        match session.end(protocol::SendTotals { tried, accepted, refused: tried.saturating_sub(accepted) }) {
            Ok(tally) => Ok(self.tally.insert(tally).read.clone()),
            // The user's own end may come before the sink's answer.
            Err(_) if end.stop.load(Relaxed) => Ok(Read { unreported: true, ..Read::default() }),
            Err(e) => Err(lost(e)),
        }
    }
}

fn lost(error: ControlError) -> FlightError {
    match error {
        // It is there, but its numbers cannot be used.
        ControlError::Implausible { .. } | ControlError::Garbage { .. } => error.into(),
        error => FlightError::PeerLost(error),
    }
}
