//! A conversation with words of another measurement, which several threads may lead.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ControlError;
use super::line::{Lines, Writer, open};
use super::server::Seat;

#[derive(Debug)]
pub struct Talk {
    lines: Mutex<Lines>,
    writer: Mutex<Writer>,
    /// The place among those that are served, where this is the side that serves. It goes after the connection.
    _seat: Option<Seat>,
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
        locked(&self.lines).peer()
    }

    /// The address that the peer knows this host by.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        locked(&self.lines).local_addr()
    }

    pub fn say(&self, word: &impl Serialize) -> Result<(), ControlError> {
        locked(&self.writer).say(word)
    }

    /// The next word, which must be there within a time.
    pub fn next<T: DeserializeOwned>(
        &self,
        within: Duration,
        awaited: &'static str,
    ) -> Result<T, ControlError> {
        locked(&self.lines).next(within, awaited)
    }

    /// The next word; `None` if it is not there in time.
    pub fn poll<T: DeserializeOwned>(
        &self,
        within: Duration,
        awaited: &'static str,
    ) -> Result<Option<T>, ControlError> {
        locked(&self.lines).poll(within, awaited)
    }

    /// A word that was not due.
    pub fn out_of_turn(&self, awaited: &'static str) -> ControlError {
        locked(&self.lines).garbage(awaited, "another word came".to_owned())
    }

    /// Waits until the peer has closed, so that what was written last is not lost.
    pub fn part(&self, within: Duration) {
        locked(&self.writer).finish();
        locked(&self.lines).linger(within);
    }
}

/// A thread that died leaves a reader or a writer that is as good as before.
fn locked<T>(behind: &Mutex<T>) -> MutexGuard<'_, T> {
    behind.lock().unwrap_or_else(PoisonError::into_inner)
}
