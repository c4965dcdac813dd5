//! The sink's side of the conversation: a door, and behind it each sender in its own time, step by
//! step. Each step is a type, so none can be left out.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::{Duration, Instant};

use netfathom_model::engine::Receive;
use netfathom_sys::random;

use super::line::{Lines, Writer};
use super::protocol::{FromSender, FromSink, Hello, SendTotals, Tally, Welcome, Why};
use super::talk::{Pulse, Talk};
use super::{BEGIN_WITHIN, ControlError, DRAIN_MOST, LINE_WITHIN, LOST_AFTER, QUIET_FOR};

mod door;

pub use door::{Greeting, Listener};

/// No host has run for longer: 146 years.
const LATEST_NS: u64 = 1 << 62;
/// How soon a wait notices that it is to stop, or that the last message came.
const POLL_EVERY: Duration = Duration::from_millis(10);

/// The connection with the sender, and its place among those that are served. Fields go in order:
/// the next sender is let in when the connection is closed.
#[derive(Debug)]
struct Link<H = Hello> {
    lines: Lines,
    writer: Writer,
    hello: H,
    seat: Seat,
}

/// Counts among those that are served as long as it lives.
#[derive(Debug)]
pub(super) struct Seat(Arc<AtomicU32>);

impl Seat {
    /// `None` while `most` others are served.
    fn claim(taken: &Arc<AtomicU32>, most: u32) -> Option<Self> {
        let more = |taken| (taken < most).then_some(taken + 1);
        taken.fetch_update(Acquire, Relaxed, more).is_ok().then(|| Self(Arc::clone(taken)))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Release);
    }
}

impl Link {
    fn out_of_turn(&self, awaited: &'static str, word: &FromSender) -> ControlError {
        let name = match word {
            FromSender::Hello(_) => "a hello",
            FromSender::Begin { .. } => "a begin",
            FromSender::Alive => "a sign of life",
            FromSender::End(_) => "an end",
        };
        self.lines.garbage(awaited, format!("{name} came"))
    }

    /// Tells the sender what has arrived so far, where that is due.
    fn tell(&mut self, pulse: &mut Pulse, delivered: impl FnOnce() -> u64) -> Result<(), ControlError> {
        pulse.give(|| self.writer.say(&FromSink::Seen { delivered: delivered() }))
    }
}

/// A sender that has announced its load.
#[derive(Debug)]
pub struct Incoming<H = Hello> {
    link: Link<H>,
}

impl<H> Incoming<H> {
    /// Lets it in, to a conversation of other words.
    pub fn talk(self) -> Talk {
        let Link { lines, writer, seat, .. } = self.link;
        Talk::new(lines, writer, Some(seat))
    }
}

impl Incoming {
    /// Its address; its messages come from there too, from other ports.
    pub fn peer(&self) -> SocketAddr {
        self.link.lines.peer
    }

    pub fn hello(&self) -> &Hello {
        &self.link.hello
    }

    pub fn refuse(mut self, why: Why) -> Result<(), ControlError> {
        self.link.writer.say(&FromSink::Refused { why })?;
        self.link.writer.finish();
        self.link.lines.linger(LINE_WITHIN);
        Ok(())
    }

    /// Lets it in with a flow number that was drawn before: for who needs the number to get
    /// ready, which a sender has more time for before its welcome than after its begin.
    pub fn welcome(mut self, flow: u32, receive: Receive, tool: &str) -> Result<Welcomed, ControlError> {
        self.link.writer.say(&FromSink::Welcome(Welcome { flow, receive, tool: tool.to_owned() }))?;
        Ok(Welcomed { link: self.link, flow })
    }
}

/// An unpredictable flow number: strays of an earlier flight carry another one, and so do the messages of every other
/// run on this host, which a tap sees as well.
pub fn draw_flow() -> Result<u32, ControlError> {
    let here = |source| ControlError::Here { action: "draw a flow number (getrandom)", source };
    random::bytes().map(u32::from_ne_bytes).map_err(here)
}

/// A sender that knows its flow number and prepares itself.
#[derive(Debug)]
pub struct Welcomed {
    link: Link,
    /// The number that its messages must carry.
    pub flow: u32,
}

impl Welcomed {
    pub fn hello(&self) -> &Hello {
        &self.link.hello
    }

    /// Waits until the load is about to begin.
    pub fn await_begin(mut self, stop: &AtomicBool) -> Result<Begun, ControlError> {
        let awaited = "its begin";
        let deadline = Instant::now() + BEGIN_WITHIN;
        while Instant::now() < deadline {
            if stop.load(Relaxed) {
                return Err(ControlError::Stopped);
            }
            match self.link.lines.poll(Pulse::EVERY, awaited)? {
                Some(FromSender::Begin { start_ns }) => {
                    if start_ns > LATEST_NS {
                        let what = format!("a clock of {start_ns} ns since its start");
                        return Err(ControlError::Implausible { peer: self.link.lines.peer, what });
                    }
                    return Ok(Begun { link: self.link, start_ns });
                }
                Some(other) => return Err(self.link.out_of_turn(awaited, &other)),
                None => {}
            }
        }
        Err(ControlError::Silent { peer: self.link.lines.peer, awaited, within: BEGIN_WITHIN })
    }
}

/// A sender that waits until the sink receives.
#[derive(Debug)]
pub struct Begun {
    link: Link,
    /// First departure, by the sender's CLOCK_MONOTONIC.
    pub start_ns: u64,
}

impl Begun {
    /// Says that the sink receives; it must.
    pub fn ready(mut self) -> Result<Conversation, ControlError> {
        self.link.writer.say(&FromSink::Ready)?;
        Ok(Conversation { link: self.link, deadline: None })
    }
}

#[derive(Debug)]
pub struct Conversation {
    link: Link,
    deadline: Option<Instant>,
}

impl Conversation {
    /// Holds the sender to the length that it announced, with a tenth and some seconds more.
    pub fn held_to(self, announced: Duration) -> Self {
        let most = announced.saturating_add(announced / 10).saturating_add(DRAIN_MOST);
        Self { deadline: Instant::now().checked_add(most), ..self }
    }

    /// Tells the sender what has arrived so far, again and again, until it ends.
    pub fn watch(
        mut self,
        mut delivered: impl FnMut() -> u64,
        stop: &AtomicBool,
    ) -> Result<Ended, ControlError> {
        let awaited = "a sign of life";
        let mut pulse = Pulse::begin();
        // At once, so that the first answer takes a round trip and no more.
        self.link.writer.say(&FromSink::Seen { delivered: delivered() })?;
        while !stop.load(Relaxed) {
            if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
                return Err(ControlError::Overdue { peer: self.link.lines.peer });
            }
            self.link.tell(&mut pulse, &mut delivered)?;
            match self.link.lines.poll(pulse.due_in(), awaited)? {
                Some(FromSender::Alive) => pulse.heard(),
                Some(FromSender::End(sent)) => {
                    let planned = self.link.hello.planned;
                    return match sent.excess(planned) {
                        None => Ok(Ended { link: self.link, pulse, sent }),
                        Some(what) => Err(ControlError::Implausible { peer: self.link.lines.peer, what }),
                    };
                }
                Some(other) => return Err(self.link.out_of_turn(awaited, &other)),
                None if pulse.is_lost(LOST_AFTER) => {
                    let peer = self.link.lines.peer;
                    return Err(ControlError::Silent { peer, awaited, within: LOST_AFTER });
                }
                None => {}
            }
        }
        Err(ControlError::Stopped)
    }
}

/// A sender that has sent all and waits for what arrived.
#[derive(Debug)]
pub struct Ended {
    link: Link,
    pulse: Pulse,
    pub sent: SendTotals,
}

impl Ended {
    /// Waits until everything has arrived, or nothing has for a while; the receivers must go
    /// on meanwhile.
    pub fn drain(&mut self, mut delivered: impl FnMut() -> u64) -> Result<(), ControlError> {
        let awaited = "a sign of life";
        let started = Instant::now();
        let (mut last, mut last_at) = (0, started);
        loop {
            // Counted before the time is judged: a sink that did not run for a while has missed
            // nothing.
            let now = delivered();
            if now != last {
                (last, last_at) = (now, Instant::now());
            }
            let quiet = last_at.elapsed() >= QUIET_FOR;
            if now >= self.sent.accepted || quiet || started.elapsed() >= DRAIN_MOST {
                return Ok(());
            }
            self.link.tell(&mut self.pulse, &mut delivered)?;
            match self.link.lines.poll(POLL_EVERY, awaited)? {
                None | Some(FromSender::Alive) => {}
                Some(other) => return Err(self.link.out_of_turn(awaited, &other)),
            }
        }
    }

    /// Says what arrived, which ends the conversation.
    pub fn tally(mut self, tally: Tally) -> Result<(), ControlError> {
        self.link.writer.say(&FromSink::Tally(tally))?;
        self.link.writer.finish();
        self.link.lines.linger(LINE_WITHIN);
        Ok(())
    }
}
