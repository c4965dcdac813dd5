//! A conversation with words of another measurement, which several threads may lead.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::introduction::refusal;
use super::line::{Lines, Writer, open};
use super::protocol::Why;
use super::server::Seat;
use super::{ANSWER_WITHIN, CONNECT_WITHIN, ControlError, Greeting, Introduction};

/// How soon a wait notices that it is to stop.
const STOPS_WITHIN: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct Talk {
    lines: Mutex<Lines>,
    writer: Mutex<Writer>,
    /// The place among those that are served, where this is the side that serves. It goes after the connection.
    _seat: Option<Seat>,
}

/// The first word of one who serves.
#[derive(Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
enum Answer {
    Welcome(Introduction),
    Refused { why: Why },
}

/// Connects to a host that is to be led a conversation with; `Interrupted` if the user stops the wait.
pub fn connect(to: SocketAddr, stop: &AtomicBool) -> io::Result<TcpStream> {
    let (done, connected) = channel();
    // It ends in time, whether it is waited for or not.
    thread::Builder::new()
        .name("nf-connect".into())
        .spawn(move || done.send(TcpStream::connect_timeout(&to, CONNECT_WITHIN)))?;
    loop {
        match connected.recv_timeout(STOPS_WITHIN) {
            Ok(connected) => return connected,
            Err(RecvTimeoutError::Timeout) if !stop.load(Relaxed) => {}
            Err(_) => return Err(io::Error::new(io::ErrorKind::Interrupted, "stopped")),
        }
    }
}

impl Talk {
    /// Greets one who serves, over a connection that was made; who that is, or why it refuses. It serves a single peer
    /// at a time, as what `serves` names.
    pub fn greet<G: Greeting>(
        stream: TcpStream,
        peer: SocketAddr,
        serves: &str,
        stop: &AtomicBool,
    ) -> Result<Result<(Self, Introduction), String>, ControlError> {
        let (lines, writer) = open(stream, peer)?;
        let talk = Self::new(lines, writer, None);
        // One that refuses at once may have closed already: its reply still counts.
        let greeted = talk.say(&json!({ "say": G::SAYS, "version": G::VERSION }));
        match talk.next(ANSWER_WITHIN, "a welcome", stop) {
            Ok(Answer::Welcome(server)) => Ok(Ok((talk, server.harmless()))),
            Ok(Answer::Refused { why }) => Ok(Err(refusal(why, G::VERSION, serves))),
            Err(error) => Err(greeted.err().unwrap_or(error)),
        }
    }

    /// Welcomes one who has greeted this host.
    pub fn welcome(&self, cpu: usize) -> Result<(), ControlError> {
        self.say(&Answer::Welcome(Introduction::own(cpu)))
    }

    pub(super) fn new(lines: Lines, writer: Writer, seat: Option<Seat>) -> Self {
        Self { lines: Mutex::new(lines), writer: Mutex::new(writer), _seat: seat }
    }

    pub fn peer(&self) -> SocketAddr {
        self.lines.lock().peer
    }

    /// The address that the peer knows this host by.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.lines.lock().local_addr()
    }

    pub fn say(&self, word: &impl Serialize) -> Result<(), ControlError> {
        self.writer.lock().say(word)
    }

    /// The next word, which must be there within a time, unless the user stops the wait.
    pub fn next<T: DeserializeOwned>(
        &self,
        within: Duration,
        awaited: &'static str,
        stop: &AtomicBool,
    ) -> Result<T, ControlError> {
        let until = Instant::now() + within;
        loop {
            if let Some(word) = self.poll(STOPS_WITHIN, awaited)? {
                return Ok(word);
            }
            if stop.load(Relaxed) {
                return Err(ControlError::Stopped);
            }
            if Instant::now() >= until {
                return Err(self.silent(awaited, within));
            }
        }
    }

    /// The next word; `None` if it is not there in time.
    pub fn poll<T: DeserializeOwned>(
        &self,
        within: Duration,
        awaited: &'static str,
    ) -> Result<Option<T>, ControlError> {
        self.lines.lock().poll(within, awaited)
    }

    /// A word that is not there.
    pub fn silent(&self, awaited: &'static str, within: Duration) -> ControlError {
        ControlError::Silent { peer: self.peer(), awaited, within }
    }

    /// A word that was not due.
    pub fn out_of_turn(&self, awaited: &'static str) -> ControlError {
        self.lines.lock().garbage(awaited, "another word came".to_owned())
    }

    /// Waits until the peer has closed, so that what was written last is not lost.
    pub fn part(&self, within: Duration) {
        self.writer.lock().finish();
        self.lines.lock().linger(within);
    }
}

/// The signs of life of a trial or a load, on either side.
#[derive(Debug)]
pub struct Pulse {
    heard: Instant,
    spoke: Instant,
}

impl Pulse {
    /// Between two signs of life.
    pub const EVERY: Duration = Duration::from_millis(200);
    /// Without a sign of life for so long a host is lost.
    pub const LOST_AFTER: Duration = Duration::from_secs(3);

    pub fn begin() -> Self {
        Self { heard: Instant::now(), spoke: Instant::now() }
    }

    /// The peer gave one.
    pub fn heard(&mut self) {
        self.heard = Instant::now();
    }

    /// How soon the next one of this side is due.
    pub fn due_in(&self) -> Duration {
        Self::EVERY.saturating_sub(self.spoke.elapsed())
    }

    /// Whether the peer has given none for so long.
    pub fn is_lost(&self, after: Duration) -> bool {
        self.heard.elapsed() > after
    }

    /// Gives one by `say`, where it is due.
    pub fn give(&mut self, say: impl FnOnce() -> Result<(), ControlError>) -> Result<(), ControlError> {
        if self.due_in().is_zero() {
            say()?;
            self.spoke = Instant::now();
        }
        Ok(())
    }

    /// Gives one by this word, where it is due.
    pub fn speak(&mut self, talk: &Talk, alive: &impl Serialize) -> Result<(), ControlError> {
        self.give(|| talk.say(alive))
    }

    /// The same, as long as the peer gives some.
    pub fn go_on(&mut self, talk: &Talk, alive: &impl Serialize) -> Result<(), ControlError> {
        if self.is_lost(Self::LOST_AFTER) {
            return Err(talk.silent("a sign of life", Self::LOST_AFTER));
        }
        self.speak(talk, alive)
    }
}
