//! A conversation with words of another measurement, which several threads may lead.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::line::{Lines, Writer, open};
use super::server::Seat;
use super::{CONNECT_WITHIN, ControlError};

/// How soon a wait notices that it is to stop.
const STOPS_WITHIN: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct Talk {
    lines: Mutex<Lines>,
    writer: Mutex<Writer>,
    /// The place among those that are served, where this is the side that serves. It goes after the connection.
    _seat: Option<Seat>,
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
    /// Over a connection that was made.
    pub fn over(stream: TcpStream, peer: SocketAddr) -> Result<Self, ControlError> {
        let (lines, writer) = open(stream, peer)?;
        Ok(Self::new(lines, writer, None))
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
                return Err(ControlError::Silent { peer: self.peer(), awaited, within });
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
