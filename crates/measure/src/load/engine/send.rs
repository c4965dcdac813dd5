//! One send(2) a message on a connected socket: what most programs do.

use std::net::UdpSocket;

use netfathom_model::message::Header;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::socket::retried;

use super::{Engine, Handed};

pub struct Send {
    socket: UdpSocket,
    payload: Vec<u8>,
}

impl Send {
    /// Over a connected socket, with messages of `size` bytes.
    pub fn new(socket: UdpSocket, size: usize) -> Self {
        Self { socket, payload: vec![0; size] }
    }
}

impl Engine for Send {
    #[inline]
    fn send(&mut self, batch: &mut [Header]) -> Handed {
        let header = &mut batch[0];
        header.sent_ns = monotonic_ns();
        header.write(&mut self.payload);
        retried(|| self.socket.send(&self.payload)).map_or_else(|e| Handed::refused(&e), |_| Handed::taken(1))
    }
}
