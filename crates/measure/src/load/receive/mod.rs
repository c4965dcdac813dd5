//! How messages are taken from the wire: one loop, a source of datagrams a file.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::cpu::{context_switches, thread_time_ns};
use netfathom_sys::socket::ReceivedDatagram;

use super::flight::FarEnd;
use super::reader::EndSignal;
use super::tally::{Read, Tally};
use crate::load::error::FlightError;

mod af_xdp;
mod kernel;
mod sockets;
mod streams;

pub use af_xdp::AfXdp;
pub use kernel::{Kernel, read as kernel_read};
pub use sockets::Socket;
pub use streams::Streams;

/// How long a source waits for the first datagram before it looks whether to end.
pub const PATIENCE: Duration = Duration::from_millis(20);

pub trait Source: Send {
    /// Hands over the datagrams that are there; waits [`PATIENCE`] for the first. Returns how
    /// many they were. Most sources do not know who sent one.
    fn receive(&mut self, each: &mut dyn FnMut(ReceivedDatagram<'_>)) -> io::Result<usize>;

    /// Datagrams that it had no room for so far.
    fn dropped(&self) -> io::Result<u64>;
}

/// Sends each message back to its source, once and with its length: never more than was received, and
/// only to the address of the trial.
pub struct Echo {
    pub socket: UdpSocket,
    /// The only address that gets answers.
    pub to: IpAddr,
}

impl Echo {
    #[inline]
    pub fn answer(&self, payload: &[u8], from: SocketAddr) {
        if from.ip().to_canonical() == self.to.to_canonical() {
            // An answer that cannot be sent is one that does not come: the sender counts it.
            let _ = self.socket.send_to(payload, from);
        }
    }
}

pub struct Receiver {
    pub source: Box<dyn Source>,
    pub tally: Tally,
    pub echo: Option<Echo>,
}

impl FarEnd for Receiver {
    fn take(&mut self, end: &EndSignal<'_>) -> Result<Read, FlightError> {
        let before = self.source.dropped().map_err(FlightError::Receive)?;
        let (cpu_before_ns, slept_before) = (thread_time_ns(), context_switches().voluntary);
        let mut ended_ns = None;
        loop {
            let senders_done = end.senders_done.load(Relaxed);
            let Self { source, tally, echo } = self;
            let received = source.receive(&mut |datagram| take(tally, echo.as_ref(), &datagram));
            let received = received.map_err(FlightError::Receive)?;
            end.received.store(self.tally.read.delivered, Relaxed);
            if senders_done && received == 0 || end.is_over(monotonic_ns(), &mut ended_ns) {
                break;
            }
        }
        let read = &mut self.tally.read;
        read.cpu_ns = thread_time_ns() - cpu_before_ns;
        read.sleeps = context_switches().voluntary - slept_before;
        read.dropped = self.source.dropped().map_err(FlightError::Receive)? - before;
        Ok(read.clone())
    }
}

#[inline]
fn take(tally: &mut Tally, echo: Option<&Echo>, datagram: &ReceivedDatagram<'_>) {
    let new = tally.take(datagram.payload, datagram.truncated);
    if let (Some(_), Some(echo), Some(from)) = (new, echo, datagram.from) {
        echo.answer(datagram.payload, from);
    }
}
