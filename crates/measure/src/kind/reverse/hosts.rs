//! The far end on another host: the conversation with it, from this side.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_model::message::{HEADER_BYTES, Header};
use netfathom_model::plan::Variant;
use netfathom_model::record::ServerHost;

use super::error::ReverseError;
use super::far_end::{Inbound, inbound_flow};
use super::phases;
use super::protocol::{ControlMessage, Hello, Trial};
use crate::ground::error::GroundError;
use crate::load::control::{ANSWER_WITHIN, ControlError, Introduction, Pulse, Talk, connect, report};

/// How long datagrams are sent again and again, until the first comes through.
pub const MEET_WITHIN: Duration = Duration::from_secs(3);
/// How long a word is waited for before it is looked what else there is.
pub const PATIENCE: Duration = Duration::from_millis(20);
/// Round trips: at least one has nothing else in it.
const ROUND_TRIPS: usize = 8;
/// How long a stopped trial may take until the other host has ended it too.
const PART_WITHIN: Duration = Duration::from_secs(1);
/// How long messages may still take when the last one has left.
pub const SETTLE: Duration = Duration::from_millis(20);

pub struct Host<'a> {
    talk: Talk,
    pub to: SocketAddr,
    server: Introduction,
    /// Ends every wait.
    stop: &'a AtomicBool,
}

impl<'a> Host<'a> {
    /// Greets the counterpart at an address.
    pub fn dial(to: SocketAddr, stop: &'a AtomicBool) -> Result<Self, ReverseError> {
        let stream = connect(to, stop).map_err(|source| ReverseError::NoHost { address: to, source })?;
        let greeted = Talk::greet::<Hello>(stream, to, "host", stop)?;
        let (talk, server) = greeted.map_err(|why| ReverseError::Refused { address: to, why })?;
        Ok(Self { talk, to, server, stop })
    }

    pub fn recorded(&self) -> ServerHost {
        self.server.recorded()
    }

    /// The address of this host that the other one knows.
    pub fn local_addr(&self) -> Result<SocketAddr, GroundError> {
        self.talk.local_addr().map_err(GroundError::Socket)
    }

    fn poll(&self, within: Duration, awaited: &'static str) -> Result<Option<ControlMessage>, ReverseError> {
        self.talk.poll(within, awaited)?.map(|word| self.checked(word, awaited)).transpose()
    }

    fn checked(&self, word: ControlMessage, awaited: &'static str) -> Result<ControlMessage, ReverseError> {
        match word {
            ControlMessage::Failed { text } => {
                Err(ReverseError::Reported { peer: self.to, text: report(&text) })
            }
            ControlMessage::Bye => Err(ControlError::Closed { peer: self.to, awaited }.into()),
            word => Ok(word),
        }
    }

    fn hear(&self, awaited: &'static str, within: Duration) -> Result<ControlMessage, ReverseError> {
        let word = self.talk.next(within, awaited, self.stop).map_err(|error| match error {
            // Several answers share that time.
            ControlError::Silent { .. } => self.talk.silent(awaited, ANSWER_WITHIN),
            error => error,
        })?;
        self.checked(word, awaited)
    }

    /// Has the host make its sockets, and shows it ours: it sends only to one that has sent it the number of this trial.
    /// Returns where it sends from.
    pub fn meet(
        &self,
        trial: &Trial,
        sender: &UdpSocket,
        inbound: &UdpSocket,
    ) -> Result<SocketAddr, ReverseError> {
        self.talk.say(&ControlMessage::Trial(Box::new(trial.clone())))?;
        let awaited = "the port that it sends from";
        let ControlMessage::Bound { port } = self.hear(awaited, ANSWER_WITHIN)? else {
            return Err(self.talk.out_of_turn(awaited).into());
        };
        let mut from = self.to;
        from.set_port(port);
        let echo = trial.variant == Variant::Echo;
        let awaited = "that it has met this host's sockets";
        let (until, mut heard) = (Instant::now() + MEET_WITHIN, Instant::now());
        loop {
            if trial.takes {
                // A reply to an earlier one that found no socket is no failure.
                let _ = sender.send(&greeting(trial.flow));
            }
            if !echo {
                // The second opens the way for what comes from there, where a firewall lets in only answers.
                for at in [self.to, from] {
                    let _ = inbound.send_to(&greeting(inbound_flow(trial.flow)), at);
                }
            }
            self.unstopped()?;
            match self.poll(2 * PATIENCE, awaited)? {
                Some(ControlMessage::Met) => break,
                Some(ControlMessage::Alive) => heard = Instant::now(),
                Some(_) => return Err(self.talk.out_of_turn(awaited).into()),
                None if Instant::now() < until => {}
                None if heard.elapsed() < MEET_WITHIN / 2 => {
                    return Err(ReverseError::NothingArrives { to: self.to });
                }
                None => return Err(self.talk.silent(awaited, MEET_WITHIN).into()),
            }
        }
        let from = if echo { self.to } else { from };
        self.comes(inbound, trial.flow, from).map(|()| from)
    }

    /// Waits for a datagram of the trial.
    fn comes(&self, inbound: &UdpSocket, flow: u32, from: SocketAddr) -> Result<(), ReverseError> {
        let until = Instant::now() + MEET_WITHIN;
        inbound.set_read_timeout(Some(PATIENCE)).map_err(GroundError::Socket)?;
        let mut payload = [0; HEADER_BYTES];
        let awaited = "its first datagram";
        while Instant::now() < until {
            self.unstopped()?;
            if self.poll(Duration::ZERO, awaited)?.is_some() {
                return Err(self.talk.out_of_turn(awaited).into());
            }
            // A reply that one of the greetings found no socket is no failure.
            let Ok((length, at)) = inbound.recv_from(&mut payload) else { continue };
            let header = Header::read(&payload[..length]);
            if at == from && header.is_some_and(|header| header.flow == inbound_flow(flow)) {
                return inbound.set_read_timeout(None).map_err(|e| GroundError::Socket(e).into());
            }
        }
        // One that hangs does not answer either.
        self.talk.say(&ControlMessage::Ready)?;
        let answer = self.talk.next(Pulse::LOST_AFTER, "that it is ready", self.stop)?;
        self.checked(answer, awaited)?;
        Err(ReverseError::NothingComes { from: from.ip(), port: from.port() })
    }

    fn unstopped(&self) -> Result<(), ReverseError> {
        if self.stop.load(Relaxed) { Err(ControlError::Stopped.into()) } else { Ok(()) }
    }

    /// Waits until the host is ready; the shortest of several round trips.
    pub fn ready(&self) -> Result<Duration, ReverseError> {
        let mut shortest = Duration::MAX;
        let until = Instant::now() + ANSWER_WITHIN;
        for _ in 0..ROUND_TRIPS {
            let asked = Instant::now();
            self.talk.say(&ControlMessage::Ready)?;
            let awaited = "that it is ready";
            if self.hear(awaited, until.saturating_duration_since(asked))? != ControlMessage::Ready {
                return Err(self.talk.out_of_turn(awaited).into());
            }
            shortest = shortest.min(asked.elapsed());
        }
        Ok(shortest)
    }

    /// The trial begins so long from when this word comes.
    pub fn begin(&self, after: Duration) -> Result<(), ReverseError> {
        Ok(self.talk.say(&ControlMessage::Begin { after_ns: after.as_nanos() as u64 })?)
    }

    /// Stands in for the far end, until that has ended; what it did there. `sent` is known once the load is over.
    pub fn follow(
        &self,
        trial: &Trial,
        over: &AtomicBool,
        sent: impl Fn() -> u64,
    ) -> Result<Inbound, ReverseError> {
        let awaited = "a sign of life";
        let mut pulse = Pulse::begin();
        let [mut asked, mut stopped] = [None::<Instant>; 2];
        loop {
            if asked.is_none() && over.load(Relaxed) {
                thread::sleep(SETTLE);
                self.talk.say(&ControlMessage::Over)?;
                asked = Some(Instant::now());
            }
            match self.poll(PATIENCE, awaited)? {
                Some(ControlMessage::Alive) => pulse.heard(),
                Some(ControlMessage::Ended(outcome)) if asked.is_some() => {
                    let planned =
                        (trial.variant != Variant::Echo).then(|| phases::inbound(&trial.plan).messages());
                    return match outcome.excess(planned, if trial.takes { sent() } else { 0 }) {
                        None => Ok(outcome.inbound(planned)),
                        Some(what) => Err(ControlError::Implausible { peer: self.to, what }.into()),
                    };
                }
                Some(_) => return Err(self.talk.out_of_turn(awaited).into()),
                None => {}
            }
            if self.stop.load(Relaxed) {
                stopped.get_or_insert_with(Instant::now);
            }
            if stopped.is_some_and(|stopped| stopped.elapsed() > PART_WITHIN) {
                return Err(ControlError::Stopped.into());
            }
            if asked.is_some_and(|asked| asked.elapsed() > 2 * ANSWER_WITHIN) {
                return Err(self.talk.silent("what came of the trial", 2 * ANSWER_WITHIN).into());
            }
            pulse.go_on(&self.talk, &ControlMessage::Alive)?;
        }
    }
}

impl Drop for Host<'_> {
    fn drop(&mut self) {
        // Whoever is gone needs no word.
        let _ = self.talk.say(&ControlMessage::Bye);
    }
}

/// A message without a time: it only shows where it comes from.
pub fn greeting(flow: u32) -> [u8; HEADER_BYTES] {
    let mut payload = [0; HEADER_BYTES];
    Header { flow, sequence: 0, intended_ns: 0, sent_ns: 0 }.write(&mut payload);
    payload
}
