//! The end on another host: the conversation with that host, and what stands in for the end here.
//!
//! Each host runs its own end of a trial, in the same way as where both are on one. What two ends share
//! ([`Meeting`], [`Task`]) each host has a copy of; for the far end a thread brings the words of its host into it
//! ([`Far::stand_in`]). So neither an end nor a test knows where the other end is.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use netfathom_model::layer::Side;
use netfathom_model::plan::{Carrier, MessagePlan, MessageTest};
use netfathom_model::record::{ServerHost, TcpCounts};

use super::error::MessageError;
use super::meeting::{MADE, METERED, Meeting};
use super::order::Cell;
use super::task::Task;
use crate::load::control::{
    ANSWER_WITHIN, ControlError, Identity, Introduction, Listener, Pulse, Talk, connect, report,
};

mod connect;
pub mod protocol;

use protocol::{ControlMessage, Hello, Trial, TrialReport};

/// Between two looks whether the server has all, once the client has sent it.
const SOON: Duration = Duration::from_millis(2);
/// As no host has (x86-64 kernels are made for 8,192).
const MOST_CPUS: usize = 1 << 16;
/// What a trial may take at the other host beyond the time in which it is cut here.
const OVERDUE: Duration = Duration::from_secs(5);
/// An end that fails may only have lost its peer, which the other host knows better: how long that has to report it.
/// The client's host waits longer, for the server's waits first.
const REPORT_WITHIN: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(2)];

/// The other host.
pub struct Far {
    talk: Talk,
    /// The end that is there.
    pub side: Side,
    reached: Reached,
}

enum Reached {
    Dialed { to: SocketAddr, server: Box<Introduction> },
    Listened { listener: Arc<Listener<Hello>> },
}

impl Far {
    /// Greets the server at an address.
    pub fn dial(to: SocketAddr, stop: &AtomicBool) -> Result<Self, MessageError> {
        let stream = connect(to, stop).map_err(|source| MessageError::NoServer { address: to, source })?;
        let lost = |source| MessageError::Lost { end: Side::Server, source };
        let greeted = Talk::greet::<Hello>(stream, to, "client", stop).map_err(lost)?;
        let (talk, server) = greeted.map_err(|why| MessageError::Refused { address: to, why })?;
        if server.cpu >= MOST_CPUS {
            return Err(lost(talk.out_of_turn("a welcome")));
        }
        let reached = Reached::Dialed { to, server: Box::new(server) };
        Ok(Self { talk, side: Side::Server, reached })
    }

    /// Welcomes a client.
    pub fn welcome(talk: Talk, listener: Arc<Listener<Hello>>, cpu: usize) -> Result<Self, MessageError> {
        let far = Self { talk, side: Side::Client, reached: Reached::Listened { listener } };
        far.talk.welcome(cpu).map_err(|source| far.lost(source))?;
        Ok(far)
    }

    pub fn say(&self, word: &ControlMessage) -> Result<(), MessageError> {
        self.talk.say(word).map_err(|source| self.lost(source))
    }

    /// The next word, within a time; `None` if there is none.
    pub fn poll(
        &self,
        within: Duration,
        awaited: &'static str,
    ) -> Result<Option<ControlMessage>, MessageError> {
        match self.talk.poll(within, awaited).map_err(|source| self.lost(source))? {
            Some(ControlMessage::Failed { text }) => {
                Err(MessageError::Reported { end: self.side, text: report(&text) })
            }
            word => Ok(word),
        }
    }

    pub fn silent(&self, awaited: &'static str, within: Duration) -> MessageError {
        self.lost(self.talk.silent(awaited, within))
    }

    pub fn out_of_turn(&self, awaited: &'static str) -> MessageError {
        self.lost(self.talk.out_of_turn(awaited))
    }

    /// Waits until the other host has closed, or for a moment.
    pub fn part(&self) {
        self.talk.part(Pulse::EVERY);
    }

    fn lost(&self, source: ControlError) -> MessageError {
        MessageError::Lost { end: self.side, source }
    }

    fn hear(&self, awaited: &'static str) -> Result<ControlMessage, MessageError> {
        self.poll(ANSWER_WITHIN, awaited)?.ok_or_else(|| self.silent(awaited, ANSWER_WITHIN))
    }

    /// The host of the server, where that is the far one; and its processor.
    pub fn server(&self) -> Option<(ServerHost, usize)> {
        let Reached::Dialed { server, .. } = &self.reached else { return None };
        Some((server.recorded(), server.cpu))
    }

    /// Refuses what the server cannot have seen of a trial in which the client here sent that number of messages, in that time.
    pub fn believes(
        &self,
        plan: &MessagePlan,
        sent: u64,
        took: Duration,
        outcome: &TrialReport,
    ) -> Result<(), MessageError> {
        let counts_once = plan.test == MessageTest::Oneway && plan.carrier == Carrier::Tcp;
        let what = if counts_once && outcome.messages > sent {
            format!("{} messages, {sent} were sent", outcome.messages)
        } else if u128::from(outcome.lasted_ns) > took.as_nanos() * 101 / 100 {
            // Clocks of two hosts run at two rates, up to 0.05 % off (NTP).
            format!("{} ns from the first message to the last", outcome.lasted_ns)
        } else {
            return Ok(());
        };
        Err(self.lost(ControlError::Implausible { peer: self.talk.peer(), what }))
    }

    /// Has the other host make its end of a trial, where that is for this one to say.
    pub fn begin(&self, plan: &MessagePlan, cell: &Cell, counted: bool) -> Result<(), MessageError> {
        let Reached::Dialed { .. } = self.reached else { return Ok(()) };
        let plan = MessagePlan {
            sizes_bytes: vec![cell.bytes],
            layers: vec![cell.layer.clone()],
            cpus: Vec::new(),
            ..plan.clone()
        };
        self.say(&ControlMessage::Trial(Box::new(Trial { plan, counted })))
    }

    /// Takes the far end's part in a trial that may last so long; what its host knows of it. `None` where the end
    /// here has failed.
    pub fn stand_in(
        &self,
        meeting: &Meeting,
        task: &Task<'_>,
        longest: Duration,
    ) -> Result<Option<TrialReport>, MessageError> {
        let awaited = "that its end is ready";
        for stage in [MADE, METERED] {
            if !meeting.reached(stage - 1) {
                return Ok(None);
            }
            self.say(&ControlMessage::Ready)?;
            if self.hear(awaited)? != ControlMessage::Ready {
                return Err(self.out_of_turn(awaited));
            }
            meeting.wait(stage);
        }
        self.follow(meeting, task, Instant::now() + longest + OVERDUE)
    }

    fn follow(
        &self,
        meeting: &Meeting,
        task: &Task<'_>,
        deadline: Instant,
    ) -> Result<Option<TrialReport>, MessageError> {
        let awaited = "a sign of life";
        let mut pulse = Pulse::begin();
        let mut over: Option<Instant> = None;
        loop {
            let client_finished = self.side == Side::Client && task.has_finished(Side::Client);
            if client_finished && task.has_finished(Side::Server) {
                return Ok(Some(TrialReport::default()));
            }
            // The rest is soon read.
            let within = if client_finished { SOON } else { pulse.due_in() };
            match self.poll(within, awaited)? {
                Some(ControlMessage::Alive) => pulse.heard(),
                Some(ControlMessage::Finished) if self.side == Side::Client => task.finish(Side::Client),
                Some(ControlMessage::Ended(outcome)) if self.side == Side::Server => {
                    return self.believed(*outcome);
                }
                Some(ControlMessage::Bye) => {
                    return Err(self.lost(ControlError::Closed { peer: self.talk.peer(), awaited }));
                }
                Some(_) => return Err(self.out_of_turn(awaited)),
                None => {}
            }
            if Instant::now() > deadline {
                return Err(self.lost(ControlError::Overdue { peer: self.talk.peer() }));
            }
            if meeting.broke().is_some() || task.stop.load(Relaxed) {
                let since = *over.get_or_insert_with(Instant::now);
                if since.elapsed() > REPORT_WITHIN[self.side as usize] {
                    return Ok(None);
                }
            }
            pulse.go_on(&self.talk, &ControlMessage::Alive).map_err(|source| self.lost(source))?;
        }
    }

    /// What the server's host counted, without what this host has counted too.
    fn believed(&self, mut outcome: TrialReport) -> Result<Option<TrialReport>, MessageError> {
        if let Some(what) = outcome.excess() {
            return Err(self.lost(ControlError::Implausible { peer: self.talk.peer(), what }));
        }
        if let (Reached::Dialed { server, .. }, here) = (&self.reached, Identity::read()) {
            let counts = &mut outcome.counts;
            if server.identity.boot == here.boot {
                counts.kernel_workers_ns = Some(0);
            }
            if server.identity == here {
                counts.tcp = Some(TcpCounts::default());
            }
        }
        Ok(Some(outcome.harmless()))
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        // Whoever is gone needs no word.
        let _ = self.talk.say(&ControlMessage::Bye);
    }
}
