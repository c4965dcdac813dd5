//! sendmmsg(2): one system call for what is due.

use std::net::UdpSocket;

use netfathom_model::engine;
use netfathom_model::message::Header;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::socket::SendBatch;

use super::{Engine, Handed};

/// One sendmmsg(2) a batch. Its messages carry the time just before the call, which is when
/// the application handed them over.
pub struct Sendmmsg {
    socket: UdpSocket,
    batch: SendBatch,
}

impl Sendmmsg {
    /// Over a connected socket, with messages of `size` bytes.
    pub fn new(socket: UdpSocket, size: usize) -> Self {
        Self { socket, batch: SendBatch::new(engine::Engine::Sendmmsg.batch(), size) }
    }
}

impl Engine for Sendmmsg {
    fn most(&self) -> usize {
        engine::Engine::Sendmmsg.batch()
    }

    #[inline]
    fn send(&mut self, batch: &mut [Header]) -> Handed {
        let sent_ns = monotonic_ns();
        for (i, header) in batch.iter_mut().enumerate() {
            header.sent_ns = sent_ns;
            header.write(self.batch.payload(i));
        }
        // It stops at the first error and tells it by the next call.
        self.batch.send(&self.socket, 0..batch.len()).map_or_else(|e| Handed::refused(&e), Handed::taken)
    }
}
