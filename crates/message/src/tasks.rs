//! The same connection, awaited in tasks of tokio (feature `tokio`).
//!
//! ```
//! # use netfathom_message::{Config, tasks::Tasks};
//! # use std::os::unix::net::UnixStream;
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
//! # runtime.block_on(async {
//! # let (here, there) = UnixStream::pair().expect("a pair of sockets");
//! let (here, there) = (Tasks::unix(here, Config::default()), Tasks::unix(there, Config::default()));
//! let (here, there) = tokio::try_join!(here, there)?;
//! here.send(3, b"hello").await?;
//! assert_eq!(there.receive(3).await?, b"hello");
//! # Ok::<(), netfathom_message::Error>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{
    future::poll_fn,
    net::TcpStream,
    os::{fd::OwnedFd, unix::net::UnixStream},
    sync::Arc,
    task::Poll,
};

use bytes::Bytes;
use tokio::io::unix::AsyncFd;

use crate::{
    Config, Connection, Error, Wait,
    connection::Wakers,
    protocol::{PostEnd, Received},
};

/// A connection with async calls. Clones, and the [`Connection`] it was made of, are the
/// same connection. A call that is dropped before it is done leaves nothing half done.
#[derive(Clone, Debug)]
pub struct Tasks {
    connection: Connection,
    socket: Arc<AsyncFd<OwnedFd>>,
}

impl Tasks {
    /// Makes a connection of a TCP stream, accepted or connected; the peer's hello is awaited.
    ///
    /// # Errors
    /// As [`Connection::tcp`].
    pub async fn tcp(stream: TcpStream, config: Config) -> Result<Self, Error> {
        Self::open(move || Connection::tcp(stream, &config)).await
    }

    /// Makes a connection of a Unix stream, accepted or connected; the peer's hello is awaited.
    ///
    /// # Errors
    /// As [`Connection::tcp`].
    pub async fn unix(stream: UnixStream, config: Config) -> Result<Self, Error> {
        Self::open(move || Connection::unix(stream, &config)).await
    }

    /// The wait for the hello has a thread of its own, so that tasks of this one go on.
    async fn open(open: impl FnOnce() -> Result<Connection, Error> + Send + 'static) -> Result<Self, Error> {
        match tokio::task::spawn_blocking(open).await {
            Ok(connection) => Self::new(connection?),
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The runtime ends.
            Err(_) => Err(Error::Ended),
        }
    }

    /// Of a connection that is open already. To be called within a runtime that has its I/O
    /// enabled.
    ///
    /// # Errors
    /// If the socket cannot be watched.
    pub fn new(connection: Connection) -> Result<Self, Error> {
        let watched = || {
            let socket = connection.shared().transport.as_fd().try_clone_to_owned()?;
            // Its successor is unsafe because the descriptor of some types may change or close
            // meanwhile; an owned one does neither.
            #[allow(deprecated)]
            AsyncFd::with_interest(socket, tokio::io::Interest::READABLE)
        };
        let socket = Arc::new(watched().map_err(Error::io("watch the socket"))?);
        Ok(Self { connection, socket })
    }

    /// The connection without the waiting.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Sends a message; waits for credit and for room if need be.
    ///
    /// # Errors
    /// Refusals that time does not mend, and why the connection is over.
    pub async fn send(&self, channel: u16, body: &[u8]) -> Result<(), Error> {
        let attempt = || match self.connection.send(channel, body) {
            Err(error) if error.is_full() => None,
            other => Some(other),
        };
        self.until(&self.connection.shared().departures, attempt).await
    }

    /// The next message of a channel.
    ///
    /// # Errors
    /// [`Error::PeerClosed`], or why the connection is over.
    pub async fn receive(&self, channel: u16) -> Result<Vec<u8>, Error> {
        let attempt = || self.connection.receive(channel, Wait::No, <[u8]>::to_vec).transpose();
        self.until(&self.connection.shared().arrivals, attempt).await
    }

    /// The next buffer of a channel that a post has filled; see [`Connection::offer`].
    ///
    /// # Errors
    /// As [`Tasks::receive`].
    pub async fn receive_post(&self, channel: u16) -> Result<Received, Error> {
        let attempt = || self.connection.receive_post(channel, Wait::No).transpose();
        self.until(&self.connection.shared().arrivals, attempt).await
    }

    /// Posts, and waits until all of it is written. If the wait is dropped, the post goes on.
    ///
    /// # Errors
    /// As [`Connection::post`].
    pub async fn post(&self, channel: u16, bytes: impl Into<Bytes>) -> Result<PostEnd, Error> {
        let ended = Arc::new(parking_lot::Mutex::new(None));
        let tell = Arc::clone(&ended);
        // Whoever ends it wakes the tasks only afterwards.
        self.connection.post(channel, bytes, move |end| *tell.lock() = Some(end))?;
        let attempt = || {
            let end = ended.lock().take();
            if end.is_some() {
                return end;
            }
            let pumped = self.connection.shared().pump(Wait::No);
            // The post may be done though the connection is over by now.
            ended.lock().take().or_else(|| pumped.err().map(Err))
        };
        self.until(&self.connection.shared().departures, attempt).await
    }

    /// Tries whenever something comes from the peer or another task or thread changes something.
    async fn until<T>(
        &self,
        wakers: &Wakers,
        mut attempt: impl FnMut() -> Option<Result<T, Error>>,
    ) -> Result<T, Error> {
        poll_fn(|context| {
            // Before the attempt: a change right behind it is not missed.
            wakers.add(context.waker());
            loop {
                if let Some(result) = attempt() {
                    return Poll::Ready(result);
                }
                if let Err(error) = self.connection.shared().before_waiting() {
                    return Poll::Ready(Err(error));
                }
                match self.socket.poll_read_ready(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(Error::io("watch the socket")(error))),
                    // The attempt has read until nothing was there; if something came since, the next does.
                    Poll::Ready(Ok(mut ready)) => ready.clear_ready(),
                }
            }
        })
        .await
    }
}
