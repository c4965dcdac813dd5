//! The message library.

use std::time::Duration;

use netfathom_message::strategy::Choice;
use netfathom_message::{Blocking, Bytes, Config, Connection, Error, PostEnd, Received, Wait};
use netfathom_model::layer::{Side, Strategy};
use netfathom_sys::cpu::threads_named;

use super::{End, MessageLoad, pattern};
use crate::kind::message::error::EndError;
use crate::kind::message::ground::Socket;
use crate::kind::message::kernel::SINK_ROOM;

pub const CHANNEL: u16 = 0;
/// Looks for a thread that has just begun, a millisecond apart.
const NAMING_LOOKS: u32 = 200;
/// For the close: what is under way is small.
pub const CLOSING: Duration = Duration::from_secs(2);

pub struct Library {
    connection: Blocking,
    batch: bool,
    name: String,
    message: Vec<u8>,
    bulk: Bytes,
    /// Where a reply is to lie; it goes to the library and comes back full.
    place: Option<Vec<u8>>,
}

impl Library {
    /// Opens the connection: the other end does the same meanwhile.
    pub fn new(strategy: Strategy, side: Side, socket: Socket, load: MessageLoad) -> Result<Self, EndError> {
        let name = format!("nf-{}", side.name());
        let config = config(strategy, &name, load);
        let connection = match socket {
            Socket::Tcp(stream) => Connection::tcp(stream, &config)?,
            Socket::Unix(stream) => Connection::unix(stream, &config)?,
            Socket::Udp(_) => return Err(no_stream()),
        };
        Ok(Self {
            connection: connection.into(),
            batch: strategy == Strategy::Batch,
            name,
            message: pattern(load.message_bytes),
            bulk: pattern(load.bulk_bytes).into(),
            place: Some(vec![0; load.bulk_bytes]),
        })
    }
}

pub fn no_stream() -> EndError {
    EndError::Unexpected("the library needs a stream".into())
}

pub fn config(strategy: Strategy, name: &str, load: MessageLoad) -> Config {
    let mut config = Config { strategy: choice(strategy), name: name.to_owned().into(), ..Config::default() };
    make_room(&mut config, load.message_bytes);
    if load.into_sink {
        config.limits.window = SINK_ROOM;
    }
    config
}

/// The library's defaults, unless a message is longer than they allow.
fn make_room(config: &mut Config, message_bytes: usize) {
    let limits = &mut config.limits;
    let longest = limits.max_message.max(u32::try_from(message_bytes).unwrap_or(u32::MAX));
    // Two, each with its header: less could not be given back in halves.
    let two = longest.saturating_add(64).saturating_mul(2);
    limits.max_message = longest;
    limits.window = limits.window.max(two);
    limits.send_queue = limits.send_queue.max(two as usize);
}

fn choice(strategy: Strategy) -> Choice {
    match strategy {
        Strategy::Adaptive => Choice::Adaptive,
        Strategy::Inline => Choice::Inline,
        Strategy::Thread | Strategy::Zccl => Choice::Thread,
        Strategy::Batch => Choice::Batch,
    }
}

impl End for Library {
    fn send(&mut self) -> Result<u64, EndError> {
        self.connection.send(CHANNEL, &self.message)?;
        Ok(1)
    }

    fn flush(&mut self) -> Result<(), EndError> {
        if self.batch { Ok(self.connection.flush()?) } else { Ok(()) }
    }

    fn drain(&mut self) -> Result<(), EndError> {
        Ok(self.connection.flush()?)
    }

    fn receive(&mut self) -> Result<u64, EndError> {
        arrived(self.connection.connection())
    }

    fn post(&mut self) -> Result<(), EndError> {
        match self.connection.post(CHANNEL, self.bulk.clone())? {
            PostEnd::Written => Ok(()),
            end => Err(EndError::Unexpected(format!("a reply was not sent: {end:?}"))),
        }
    }

    fn fetch(&mut self) -> Result<(), EndError> {
        let place = self.place.take().unwrap_or_else(|| vec![0; self.bulk.len()]);
        self.connection.connection().offer(CHANNEL, place)?;
        self.connection.send(CHANNEL, &self.message)?;
        self.flush()?;
        let received = self.connection.connection().receive_post(CHANNEL, Wait::Forever)?;
        self.place = Some(whole(received, self.bulk.len())?);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), EndError> {
        Ok(self.connection.connection().close(CLOSING)?)
    }

    fn threads(&self) -> Option<Vec<u32>> {
        // A connection has one.
        started(&self.name, 1)
    }
}

/// Waits for messages; 0 once the peer has closed.
pub fn arrived(connection: &Connection) -> Result<u64, EndError> {
    match connection.poll(Wait::Forever, |_| {}) {
        Ok(arrivals) => Ok(arrivals as u64),
        Err(Error::PeerClosed) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// The buffer of a reply that is as long as it should be.
pub fn whole(received: Option<Received>, bytes: usize) -> Result<Vec<u8>, EndError> {
    match received {
        Some(Received { buffer, length, .. }) if length == bytes => Ok(buffer),
        Some(Received { length, .. }) => {
            Err(EndError::Unexpected(format!("a reply of {length} bytes came for one of {bytes}")))
        }
        None => Err(EndError::Unexpected("no reply came".into())),
    }
}

/// The threads with names that begin with `name`, once there are `least` of them: threads name
/// themselves when they first run.
pub fn started(name: &str, least: usize) -> Option<Vec<u32>> {
    for _ in 0..NAMING_LOOKS {
        let found = threads_named(name).ok()?;
        if found.len() >= least {
            return Some(found);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}
