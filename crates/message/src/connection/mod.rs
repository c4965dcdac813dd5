//! A connection: the protocol, a strategy and a socket together.

mod close;
mod mover;
mod open;
mod post;
mod read;
mod role;
mod shared;
mod wait;
mod wakers;
mod write;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;

pub use shared::PostCallback;
pub(crate) use shared::Shared;
#[cfg(feature = "tokio")]
pub(crate) use wakers::Wakers;
pub(crate) use write::Flow;

use crate::{
    Error,
    protocol::{PostEnd, Received, Want},
    strategy::{Cause, Choice, Strategy},
    wire::Hello,
};

/// Something that came.
#[derive(Debug)]
pub enum Arrival<'a> {
    /// A message.
    Message {
        /// The channel it came on.
        channel: u16,
        /// Its bytes, where the system put them: they are not copied, and not kept.
        body: &'a [u8],
    },
    /// A post has filled a buffer that was offered.
    Post(Received),
}

/// How long a call may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    No,
    /// Until this moment.
    Until(Instant),
    /// As long as the connection lasts.
    Forever,
}

impl Wait {
    /// As long as `limit` from now.
    pub fn within(limit: Duration) -> Self {
        Instant::now().checked_add(limit).map_or(Self::Forever, Self::Until)
    }

    /// What is left of it; `None` is no limit.
    pub(crate) fn left(self) -> Option<Duration> {
        match self {
            Self::No => Some(Duration::ZERO),
            Self::Until(end) => Some(end.saturating_duration_since(Instant::now())),
            Self::Forever => None,
        }
    }

    pub(crate) fn over(self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    /// What is left of it until the next look.
    fn look(self) -> Duration {
        self.left().map_or(LOOK_UP, |left| left.min(LOOK_UP))
    }
}

/// Whoever waits for what another thread does looks this often, even without a wake-up: a safety net, not the means of
/// waking it.
const LOOK_UP: Duration = Duration::from_millis(10);

/// A connection. Clones are of the same connection; it may be used from many threads at once.
///
/// The only methods that wait are [`Connection::poll`] if its argument requires it, [`Connection::close`],
/// and those that open one. For methods that wait see [`crate::blocking`].
#[derive(Clone, Debug)]
pub struct Connection {
    handle: Arc<Handle>,
}

/// The last of it ends the connection, though the connection's own thread knows it still.
#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.dropped();
    }
}

impl Connection {
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
    }

    /// Sends a message, at the moment the strategy chooses. The bytes are copied or written before
    /// this returns.
    ///
    /// # Errors
    /// [`Error::Refused`] if the queue is full, the peer has not taken what it was sent before on
    /// this channel, or the message is too long; then nothing of it is sent. Anything else is the
    /// end of the connection.
    #[inline]
    pub fn send(&self, channel: u16, body: &[u8]) -> Result<(), Error> {
        self.shared().send(channel, body)
    }

    /// Writes what is staged, as far as that goes without waiting; the connection's thread does
    /// the rest.
    ///
    /// # Errors
    /// Why the connection is over.
    pub fn flush(&self) -> Result<(), Error> {
        self.shared().flush(Cause::Flush)
    }

    /// Sends bulk to a buffer that the peer offers, now or later. `done` is called when all of it
    /// is written or it has failed, from whichever thread finds that out.
    ///
    /// # Errors
    /// [`Error::Refused`] if 1024 posts wait on the channel, and then `done` is not called;
    /// anything else is the end of the connection.
    pub fn post(
        &self,
        channel: u16,
        bytes: impl Into<Bytes>,
        done: impl FnOnce(Result<PostEnd, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        self.shared().post(channel, bytes.into(), Box::new(done), true)
    }

    /// Has the buffer filled by the next post of the peer on this channel for which no other waits.
    /// Its whole length may be filled. It comes back with [`Arrival::Post`].
    ///
    /// # Errors
    /// [`Error::Refused`] if 1024 buffers wait on the channel; anything else is the end of the
    /// connection.
    pub fn offer(&self, channel: u16, buffer: Vec<u8>) -> Result<(), Error> {
        self.shared().offer(channel, buffer)
    }

    /// Hands out arrivals: waits for the first as `wait` allows, then takes what is there without waiting.
    /// Returns the number of arrivals; 0 if nothing came in time.
    ///
    /// A handler may use the connection, but not wait for it.
    ///
    /// # Errors
    /// [`Error::PeerClosed`] when all that came was handed out, or why the connection is over.
    pub fn poll(&self, wait: Wait, mut handler: impl FnMut(Arrival<'_>)) -> Result<usize, Error> {
        self.shared().receive(Want::Any, wait, true, &mut handler)
    }

    /// Hands out the next message of one channel, if it came in time; `false` if not. What comes
    /// on other channels meanwhile is kept.
    ///
    /// # Errors
    /// As [`Connection::poll`].
    #[inline]
    pub fn receive<R>(
        &self,
        channel: u16,
        wait: Wait,
        handler: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, Error> {
        let (mut handler, mut result) = (Some(handler), None);
        self.shared().receive(Want::Message(channel), wait, false, &mut |arrival| {
            if let (Arrival::Message { body, .. }, Some(handler)) = (arrival, handler.take()) {
                result = Some(handler(body));
            }
        })?;
        Ok(result)
    }

    /// The next buffer of one channel that a post has filled, if it came in time.
    ///
    /// # Errors
    /// As [`Connection::poll`].
    pub fn receive_post(&self, channel: u16, wait: Wait) -> Result<Option<Received>, Error> {
        let mut result = None;
        self.shared().receive(Want::Post(channel), wait, false, &mut |arrival| {
            if let Arrival::Post(received) = arrival {
                result = Some(received);
            }
        })?;
        Ok(result)
    }

    /// Hands everything that comes to `handler`, from a thread of its own, until the
    /// connection is over; then calls `ended` with the reason. A clone of the connection lives in that
    /// thread, so it ends with [`Connection::abort`] or by the peer, not when the others are dropped.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn listen(
        &self,
        mut handler: impl FnMut(Arrival<'_>) + Send + 'static,
        ended: impl FnOnce(Error) + Send + 'static,
    ) -> Result<std::thread::JoinHandle<()>, Error> {
        let connection = self.clone();
        let listen = move || {
            loop {
                if let Err(error) = connection.poll(Wait::Forever, &mut handler) {
                    return ended(error);
                }
            }
        };
        let thread = self.shared().config.thread("listener");
        thread.spawn(listen).map_err(Error::io("start the listener's thread"))
    }

    /// Closes in good order: sends all that waits, posts too, then the close, and waits until the
    /// peer has read it all and has closed as well. What the peer sends meanwhile is dropped with
    /// the connection.
    ///
    /// When the peer has read it all and the time is over before it has closed, this succeeds.
    ///
    /// # Errors
    /// [`Error::TimedOut`] if the peer did not read it all in time: how much it did is not known;
    /// the connection is ended. Why the connection is over, if it ended otherwise.
    pub fn close(&self, limit: Duration) -> Result<(), Error> {
        self.shared().close(limit)
    }

    /// Ends the connection at once. What is not written is dropped; the code is sent to the peer if
    /// that is possible without waiting.
    pub fn abort(&self, code: u16) {
        self.shared().abort(u32::from(code));
    }

    /// Chooses another strategy from now on. What is staged is written first.
    ///
    /// # Errors
    /// Why the connection is over.
    pub fn set_strategy(&self, choice: Choice) -> Result<(), Error> {
        self.set_own_strategy(choice.make())
    }

    /// As [`Connection::set_strategy`], with a strategy of your own.
    ///
    /// # Errors
    /// Why the connection is over.
    pub fn set_own_strategy(&self, strategy: Box<dyn Strategy>) -> Result<(), Error> {
        self.shared().set_strategy(strategy)
    }

    /// What this side keeps to: the number of channels, and what the peer takes.
    pub fn agreed(&self) -> Hello {
        self.shared().sending.lock().out.peer()
    }

    /// Bytes of messages accepted and not yet given to the system: never more than
    /// [`crate::protocol::Limits::send_queue`], or one message and its header if that is longer.
    pub fn queued(&self) -> usize {
        self.shared().sending.lock().out.queued()
    }

    /// Why the connection is over; `None` while it is not.
    pub fn failure(&self) -> Option<Error> {
        self.shared().failure()
    }
}
