//! The two ends of a tap that run in the sender's and in the reader's thread. `()` is the
//! tap of a baseline trial: nothing.

use std::io;
use std::net::UdpSocket;

use netfathom_model::message::Header;
use netfathom_sys::socket::receive_whole;

/// Called with each message between its stamp and its call.
pub type Announce = Box<dyn FnMut(&Header) + Send>;

pub trait SendTap {
    /// A message was handed to the operating system, which accepted or refused it.
    fn sent(&mut self, header: &Header, accepted: bool);
    fn finish(&mut self) {}
    /// What is to be announced of a message before its call, if it goes over TCP.
    fn announces(&self) -> Option<Announce> {
        None
    }
}

pub trait ReceiveTap {
    /// The reader's thread is about to begin.
    fn begin(&mut self, _: &UdpSocket) {}
    /// Receives the next message; blocks as the socket does.
    #[inline]
    fn receive(&mut self, socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<usize> {
        receive_whole(socket, buffer)
    }
    /// What was received was a new message of this trial, and is with the application.
    fn delivered(&mut self, header: &Header, received_ns: u64);
    /// A message before this one has not come.
    fn skipped(&mut self, _sequence: u64) {}
}

impl SendTap for () {
    #[inline]
    fn sent(&mut self, _: &Header, _: bool) {}
}

impl ReceiveTap for () {
    #[inline]
    fn delivered(&mut self, _: &Header, _: u64) {}
}
