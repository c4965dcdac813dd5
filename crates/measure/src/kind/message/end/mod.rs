//! An end of a connection: a message layer over a socket.

use netfathom_model::layer::{Form, Layer, Side, SocketOption, Strategy};
use netfathom_model::plan::MessageTest;

use super::error::EndError;
use super::ground::Socket;

mod bare;
mod datagram;
mod frames;
mod library;
mod sendfile;
mod zccl;

use self::bare::Bare;
use self::datagram::Datagram;
pub use self::frames::Frames;
use self::library::Library;
use self::sendfile::Sendfile;
use self::zccl::Zccl;

/// Bytes of the header of bare messages: the body's length, little-endian.
pub const HEADER_BYTES: usize = 4;

const NO_BULK: &str = "such an end has no bulk replies";

/// A message layer at one end of a connection.
pub trait End: Send {
    /// Hands a message over, or as many as go in one call; how many.
    fn send(&mut self) -> Result<u64, EndError>;

    fn burst(&self) -> u64 {
        1
    }

    /// Waits until the system has taken everything.
    fn drain(&mut self) -> Result<(), EndError> {
        Ok(())
    }

    /// Has everything leave that is held back on purpose.
    fn flush(&mut self) -> Result<(), EndError> {
        Ok(())
    }

    /// Waits for messages; how many have come whole. 0 when the other end has finished.
    fn receive(&mut self) -> Result<u64, EndError>;

    /// The place of the last message that was received among those that were sent, from 0, where
    /// it says so: of datagrams some may not come.
    fn index(&self) -> Option<u64> {
        None
    }

    /// Whether `receive` returned 0 because of silence: the other end may continue.
    fn is_silent(&self) -> bool {
        false
    }

    /// Sends the bulk, once it was asked for.
    fn post(&mut self) -> Result<(), EndError> {
        Err(EndError::Unexpected(NO_BULK.into()))
    }

    /// Asks for the bulk, and waits until it is there.
    fn fetch(&mut self) -> Result<(), EndError> {
        Err(EndError::Unexpected(NO_BULK.into()))
    }

    /// Tells the other end that nothing more comes.
    fn finish(&mut self) -> Result<(), EndError>;

    /// Threads of its own, beside the one that calls it; `None` where the system does not tell.
    fn threads(&self) -> Option<Vec<u32>> {
        Some(Vec::new())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageLoad {
    /// Bytes of a message's body.
    pub message_bytes: usize,
    /// Bytes of a bulk reply; 0 where there are none.
    pub bulk_bytes: usize,
    /// Whether replies come from the kernel, which makes them of the request's bytes and zeros.
    pub grown: bool,
    /// Whether messages go into a sink in the kernel, which never tells that there is room again.
    pub into_sink: bool,
}

/// Whether a layer has a connection of its own for posts.
pub fn posts_apart(layer: &Layer, test: MessageTest) -> bool {
    test == MessageTest::Post && *layer == Layer::Library { strategy: Strategy::Zccl }
}

/// Puts a layer upon a socket, and one for posts where it has that apart. The other end is made at the same time, in
/// another thread.
pub fn make(
    layer: &Layer,
    side: Side,
    socket: Socket,
    posts: Option<Socket>,
    load: MessageLoad,
) -> Result<Box<dyn End>, EndError> {
    let end: Box<dyn End> = match (layer, socket) {
        (Layer::Bare { form, .. }, Socket::Udp(socket)) => {
            Box::new(Datagram::new(*form, layer.has(SocketOption::Poll, side), socket, load))
        }
        (Layer::Bare { form: Form::Sendfile, .. }, socket) => {
            Box::new(Sendfile::new(layer, side, socket, load)?)
        }
        (Layer::Bare { form, .. }, socket) => Box::new(Bare::new(*form, layer, side, socket, load)?),
        (Layer::Library { strategy: Strategy::Zccl }, socket) => {
            Box::new(Zccl::new(side, socket, posts, load)?)
        }
        (Layer::Library { strategy }, socket) => Box::new(Library::new(*strategy, side, socket, load)?),
    };
    Ok(end)
}

/// A body that is not all zeros.
fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|n| (n % 251) as u8 + 1).collect()
}

/// Header and body, one behind the other.
fn frame(body_bytes: usize) -> Vec<u8> {
    let length = u32::try_from(body_bytes).unwrap_or(u32::MAX);
    [&length.to_le_bytes()[..], &pattern(body_bytes)].concat()
}
