//! The message library with the threads and connections that the paper's had (Lichota 2002): each send from a thread that
//! calls poll(2) first (7.6.4), a thread that receives messages, and for posts a sending thread (7.8.4) and a connection of
//! their own, which is our reading of 7.4.3. A server answers in its receiving thread; a client's hands over to the thread
//! that waits.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use netfathom_message::transport::{Tcp, Transport, Unix};
use netfathom_message::{Arrival, Blocking, Bytes, Connection, Error, PostEnd, Wait};
use netfathom_model::layer::{Side, Strategy};

use super::library::{CHANNEL, CLOSING, arrived, config, no_stream, started, whole};
use super::{End, MessageLoad, pattern};
use crate::kind::message::error::EndError;
use crate::kind::message::ground::Socket;

/// A socket that is looked at before each send, as to see whether the communication is to end.
#[derive(Debug)]
struct Polled<T>(T);

impl<T: Transport> AsFd for Polled<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl<T: Transport> Transport for Polled<T> {
    fn send(&self, parts: &[&[u8]]) -> io::Result<usize> {
        self.wait(true, true, Some(Duration::ZERO))?;
        self.0.send(parts)
    }

    fn expect_bulk(&self, unsent: usize) {
        self.0.expect_bulk(unsent);
    }
}

pub struct Zccl {
    connection: Blocking,
    /// One for each message, from the receiving thread of a client.
    received: Option<Receiver<()>>,
    message: Vec<u8>,
    posts: Option<Posts>,
    name: &'static str,
}

impl Zccl {
    /// Opens the connections: the other end does the same meanwhile.
    pub fn new(
        side: Side,
        socket: Socket,
        posts: Option<Socket>,
        load: MessageLoad,
    ) -> Result<Self, EndError> {
        // Short enough to be whole in the names of all threads.
        let name = match side {
            Side::Client => "nf-c",
            Side::Server => "nf-s",
        };
        let connection = open(name, socket, load)?;
        let received = (side == Side::Client).then(|| handed_over(&connection)).transpose()?;
        let posts =
            posts.map(|socket| Posts::new(side, name, open(name, socket, load)?, load)).transpose()?;
        Ok(Self {
            connection: connection.into(),
            received,
            message: pattern(load.message_bytes),
            posts,
            name,
        })
    }

    fn posts(&mut self) -> Result<&mut Posts, EndError> {
        self.posts.as_mut().ok_or_else(|| EndError::Unexpected("there is no connection for posts".into()))
    }
}

fn handed_over(connection: &Connection) -> Result<Receiver<()>, EndError> {
    let (hand_over, received) = channel();
    let receive = move |arrival: Arrival<'_>| {
        if let Arrival::Message { .. } = arrival {
            // No thread waits for what comes after the end.
            let _ = hand_over.send(());
        }
    };
    connection.listen(receive, |_| {})?;
    Ok(received)
}

fn open(name: &str, socket: Socket, load: MessageLoad) -> Result<Connection, EndError> {
    let config = config(Strategy::Zccl, name, load);
    Ok(match socket {
        Socket::Tcp(stream) => Connection::open(Polled(Tcp::new(stream)?), &config)?,
        Socket::Unix(stream) => Connection::open(Polled(Unix::new(stream)?), &config)?,
        Socket::Udp(_) => return Err(no_stream()),
    })
}

impl End for Zccl {
    fn send(&mut self) -> Result<u64, EndError> {
        self.connection.send(CHANNEL, &self.message)?;
        Ok(1)
    }

    fn drain(&mut self) -> Result<(), EndError> {
        if let Some(posts) = &mut self.posts {
            posts.drain()?;
        }
        Ok(self.connection.flush()?)
    }

    fn receive(&mut self) -> Result<u64, EndError> {
        let Some(received) = &self.received else { return arrived(self.connection.connection()) };
        if received.recv().is_ok() {
            return Ok(1 + received.try_iter().count() as u64);
        }
        match self.connection.connection().failure() {
            None | Some(Error::PeerClosed) => Ok(0),
            Some(error) => Err(error.into()),
        }
    }

    fn post(&mut self) -> Result<(), EndError> {
        self.posts()?.hand_over()
    }

    fn fetch(&mut self) -> Result<(), EndError> {
        self.posts()?.offer()?;
        self.connection.send(CHANNEL, &self.message)?;
        self.posts()?.receive()
    }

    fn finish(&mut self) -> Result<(), EndError> {
        self.connection.connection().close(CLOSING)?;
        self.posts.as_ref().map_or(Ok(()), |posts| Ok(posts.connection.close(CLOSING)?))
    }

    fn threads(&self) -> Option<Vec<u32>> {
        // That of the connection and a client's receiving one; for posts, those of their connection and sender.
        let of_posts = self.posts.as_ref().map_or(0, |posts| 1 + usize::from(posts.sender.is_some()));
        started(self.name, 1 + usize::from(self.received.is_some()) + of_posts)
    }
}

impl Drop for Zccl {
    fn drop(&mut self) {
        // The receiving thread has a share in the connection.
        self.connection.connection().abort(0);
        if let Some(posts) = &self.posts {
            posts.connection.abort(0);
        }
    }
}

/// Takes one for each post, and ends with them.
type SendingThread = (Sender<()>, JoinHandle<Result<(), EndError>>);

/// The channel of posts.
struct Posts {
    connection: Connection,
    bytes: usize,
    /// Where a reply is to lie.
    place: Option<Vec<u8>>,
    /// The thread that sends what it is handed; the server's.
    sender: Option<SendingThread>,
}

impl Posts {
    fn new(side: Side, name: &str, connection: Connection, load: MessageLoad) -> Result<Self, EndError> {
        let sender = (side == Side::Server).then(|| sender(name, &connection, load)).transpose()?;
        let bytes = load.bulk_bytes;
        Ok(Self { connection, bytes, place: Some(vec![0; bytes]), sender })
    }

    fn hand_over(&mut self) -> Result<(), EndError> {
        let handed = self.sender.as_ref().is_some_and(|(ask, _)| ask.send(()).is_ok());
        if handed { Ok(()) } else { self.drain().and_then(|()| Err(no_sender())) }
    }

    fn offer(&mut self) -> Result<(), EndError> {
        let place = self.place.take().unwrap_or_else(|| vec![0; self.bytes]);
        Ok(self.connection.offer(CHANNEL, place)?)
    }

    fn receive(&mut self) -> Result<(), EndError> {
        let received = self.connection.receive_post(CHANNEL, Wait::Forever)?;
        self.place = Some(whole(received, self.bytes)?);
        Ok(())
    }

    /// Waits until all that was handed over is sent.
    fn drain(&mut self) -> Result<(), EndError> {
        let Some((ask, thread)) = self.sender.take() else { return Ok(()) };
        drop(ask);
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn no_sender() -> EndError {
    EndError::Unexpected("the sending thread of posts has ended".into())
}

fn sender(name: &str, connection: &Connection, load: MessageLoad) -> io::Result<SendingThread> {
    let bulk: Bytes = pattern(load.bulk_bytes).into();
    let connection = Blocking::from(connection.clone());
    let (ask, asked) = channel();
    let send = move || {
        while asked.recv().is_ok() {
            match connection.post(CHANNEL, bulk.clone())? {
                PostEnd::Written => {}
                end => return Err(EndError::Unexpected(format!("a reply was not sent: {end:?}"))),
            }
        }
        Ok(())
    };
    Ok((ask, thread::Builder::new().name(format!("{name}-post")).spawn(send)?))
}
