//! Message libraries of others, from the system's own packages: loaded when they are asked for,
//! never linked, so that the program runs without them.
//!
//! Each gives pairs: two ends that send whole messages to each other over TCP. An end makes its
//! own sockets and threads; those begin in the network namespace, and on the processors, of the
//! thread that makes the end.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::cpu::threads_named;

/// Declares the functions of a library with their C types, and how they are found in it.
macro_rules! calls {
    ($($symbol:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        struct Calls {
            $($symbol: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            _library: libloading::os::unix::Library,
        }

        impl Calls {
            fn of(library: libloading::os::unix::Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    // SAFETY: the types are those of the library's header, whose version is in the
                    // library's name; the functions live as long as the library beside them.
                    $($symbol: *unsafe { library.get(stringify!($symbol).as_bytes()) }?,)*
                    _library: library,
                })
            }
        }
    };
}

mod nng;
#[cfg(test)]
mod tests;
mod zmq;

pub use nng::Nng;
pub use zmq::Zmq;

/// How long a call waits at most, so that its caller can look whether it is still wanted.
pub const PATIENCE: Duration = Duration::from_millis(50);
/// What an end may hold in each direction, about.
const QUEUE_BYTES: usize = 1 << 20;
/// What a queued message takes beside its bytes, about.
const MESSAGE_OVERHEAD_BYTES: usize = 64;

/// A message library that is loaded.
pub trait Library: Send + Sync {
    /// Makes an end whose queues hold about 1 MiB of messages of such a length, two at least;
    /// beyond that sending waits, and nothing is dropped.
    fn end(&self, message_bytes: usize) -> Result<Box<dyn Pair>, PeerError>;
}

pub trait Pair: Send {
    /// Has the other end come to this address, at any port; which one.
    fn listen(&mut self, at: IpAddr) -> Result<SocketAddr, PeerError>;

    /// Goes to the other end.
    fn connect(&mut self, to: SocketAddr) -> Result<(), PeerError>;

    /// Hands a message over; `false` where there was no room for it within [`PATIENCE`].
    fn send(&mut self, message: &[u8]) -> Result<bool, PeerError>;

    /// The same with a large message that others may hold as well: without a copy, where the
    /// library can do so.
    fn send_bulk(&mut self, message: &Arc<Vec<u8>>) -> Result<bool, PeerError> {
        self.send(message)
    }

    /// Shows the next message where the library has it, without a copy; how long it is. `None`
    /// where none came within [`PATIENCE`].
    fn receive(&mut self, show: &mut dyn FnMut(&[u8])) -> Result<Option<usize>, PeerError>;

    /// The threads that the library has made for this end.
    fn threads(&self) -> Vec<u32>;
}

/// What could not be done with another's library, and why.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    #[error("cannot load {library}: {reason}; on Debian: apt install {package}")]
    Absent { library: String, package: &'static str, reason: String },
    #[error("cannot make a copy of {library} in memory: {source}")]
    Copy { library: String, source: io::Error },
    #[error("{library} cannot {action}: {text}")]
    Refused { library: &'static str, action: &'static str, text: String },
}

/// A library is not here: the loader's own words are what the error has as its source.
fn absent(library: &str, package: &'static str) -> impl FnOnce(libloading::Error) -> PeerError {
    move |error| {
        let words = std::error::Error::source(&error).map(ToString::to_string);
        let reason = words.unwrap_or_else(|| error.to_string());
        PeerError::Absent { library: library.into(), package, reason }
    }
}

/// Messages that fit into a queue.
fn queue_messages(message_bytes: usize) -> i32 {
    let fit = QUEUE_BYTES / message_bytes.saturating_add(MESSAGE_OVERHEAD_BYTES);
    // It is 16384 at most.
    fit.max(2) as i32
}

/// Threads that a library makes, by the beginning of their names.
struct Made {
    prefix: &'static str,
    new: Vec<u32>,
}

impl Made {
    /// Runs `work`, and finds the threads that came meanwhile. Ends are made one after the other,
    /// so that none takes another's for its own.
    fn by<T>(prefix: &'static str, work: impl FnOnce() -> T) -> (T, Self) {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        // Without /proc there is nothing to attribute.
        let before = threads_named("").unwrap_or_default();
        let made = work();
        let mut new = threads_named("").unwrap_or_default();
        new.retain(|thread| !before.contains(thread));
        (made, Self { prefix, new })
    }

    /// Those of them that have the name, which a thread takes only once it runs: others have
    /// come by chance.
    fn threads(&self) -> Vec<u32> {
        let mut named = threads_named(self.prefix).unwrap_or_default();
        named.retain(|thread| self.new.contains(thread));
        named
    }
}
