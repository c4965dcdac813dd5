//! The same connection, for who would rather wait.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::{
    Connection, Error, Wait,
    connection::Flow,
    protocol::{PostEnd, Received, Refused},
};

/// A connection with calls that wait until they are complete, within a limit if one is set.
/// Clones, and the [`Connection`] it was made of, are the same connection.
#[derive(Clone, Debug)]
pub struct Blocking {
    connection: Connection,
    limit: Option<Duration>,
}

impl From<Connection> for Blocking {
    fn from(connection: Connection) -> Self {
        Self { connection, limit: None }
    }
}

impl Blocking {
    /// Has each call wait no longer than this.
    #[must_use]
    pub fn with_limit(mut self, limit: Option<Duration>) -> Self {
        self.limit = limit;
        self
    }

    /// The connection without the waiting.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    fn wait(&self) -> Wait {
        self.limit.map_or(Wait::Forever, Wait::within)
    }

    fn timed_out(&self) -> Error {
        Error::TimedOut(self.limit.unwrap_or_default())
    }

    /// Sends a message; waits for credit and for room if need be.
    ///
    /// # Errors
    /// [`Error::TimedOut`] and other refusals, with nothing sent, or why the connection is over.
    #[inline]
    pub fn send(&self, channel: u16, body: &[u8]) -> Result<(), Error> {
        match self.connection.shared().send_once(channel, body, false) {
            Ok(Flow::Done) => Ok(()),
            first => self.send_slowly(channel, body, first),
        }
    }

    #[cold]
    fn send_slowly(&self, channel: u16, body: &[u8], mut sent: Result<Flow, Error>) -> Result<(), Error> {
        let shared = self.connection.shared();
        let wait = self.wait();
        loop {
            match sent {
                Ok(Flow::Done) => return Ok(()),
                Ok(Flow::Blocked) => return shared.drain(wait),
                Ok(Flow::More) => return self.connection.flush(),
                Err(Error::Refused(Refused::Full)) => {
                    shared.flush_for_room()?;
                    shared.drain(wait)?;
                }
                Err(Error::Refused(Refused::NoCredit { .. })) => {
                    shared.pump_for_credit(channel, body.len(), wait)?;
                }
                Err(error) => return Err(error),
            }
            sent = shared.send_once(channel, body, false);
            if sent.as_ref().is_err_and(Error::is_full) && wait.over() {
                return Err(self.timed_out());
            }
        }
    }

    /// The next message of a channel, given to `take` where it lies, without a copy.
    ///
    /// # Errors
    /// [`Error::TimedOut`], [`Error::PeerClosed`], or why the connection is over.
    #[inline]
    pub fn receive_with<R>(&self, channel: u16, take: impl FnOnce(&[u8]) -> R) -> Result<R, Error> {
        let received = self.connection.receive(channel, self.wait(), take)?;
        received.ok_or_else(|| self.timed_out())
    }

    /// The next message of a channel.
    ///
    /// # Errors
    /// As [`Blocking::receive_with`].
    pub fn receive(&self, channel: u16) -> Result<Vec<u8>, Error> {
        self.receive_with(channel, <[u8]>::to_vec)
    }

    /// Writes what is staged, and waits until the system has taken it.
    ///
    /// # Errors
    /// Why the connection is over.
    pub fn flush(&self) -> Result<(), Error> {
        self.connection.flush()?;
        self.connection.shared().drain(self.wait())
    }

    /// Posts, and waits until all of it is written: the peer has offered a buffer by then.
    ///
    /// # Errors
    /// [`Error::TimedOut`], with the post still under way, or why the connection is over.
    pub fn post(&self, channel: u16, bytes: impl Into<Bytes>) -> Result<PostEnd, Error> {
        let ended = Arc::new(Mutex::new(None));
        let tell = Arc::clone(&ended);
        let done = Box::new(move |end| *tell.lock() = Some(end));
        self.connection.shared().post(channel, bytes.into(), done, false)?;
        if let Some(end) = ended.lock().take() {
            return end;
        }
        let wait = self.wait();
        loop {
            if wait.over() {
                return Err(self.timed_out());
            }
            // The post may be done though the connection is over by now.
            let helped = self.connection.shared().help(wait);
            if let Some(end) = ended.lock().take() {
                return end;
            }
            helped?;
        }
    }

    /// Queues a post as [`Connection::post`] does, and waits only if too many wait already: many
    /// short ones leave together like this.
    ///
    /// # Errors
    /// [`Error::TimedOut`], with nothing queued, or why the connection is over.
    pub fn post_behind(
        &self,
        channel: u16,
        bytes: impl Into<Bytes>,
        done: impl Fn(Result<PostEnd, Error>) + Clone + Send + 'static,
    ) -> Result<(), Error> {
        let (bytes, wait) = (bytes.into(), self.wait());
        loop {
            let queued = self.connection.shared().post(channel, bytes.clone(), Box::new(done.clone()), true);
            match queued {
                Err(error) if error.is_full() && wait.over() => return Err(self.timed_out()),
                Err(error) if error.is_full() => self.connection.shared().help(wait)?,
                other => return other,
            }
        }
    }

    /// Has the buffer filled by the next post of a channel, and waits for it.
    ///
    /// # Errors
    /// [`Error::TimedOut`], with the buffer still waiting, or why the connection is over.
    pub fn fetch(&self, channel: u16, buffer: Vec<u8>) -> Result<Received, Error> {
        self.connection.offer(channel, buffer)?;
        self.receive_post(channel)
    }

    /// The next buffer of a channel that a post has filled.
    ///
    /// # Errors
    /// As [`Blocking::fetch`].
    pub fn receive_post(&self, channel: u16) -> Result<Received, Error> {
        self.connection.receive_post(channel, self.wait())?.ok_or_else(|| self.timed_out())
    }
}
