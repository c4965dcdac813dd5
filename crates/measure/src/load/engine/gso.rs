//! UDP_SEGMENT: what is due in one buffer, which the kernel splits into messages just above
//! the device, unless the device says that it does so itself.

use std::io;
use std::net::UdpSocket;

use netfathom_model::engine;
use netfathom_model::message::Header;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::socket::{retried, set_segment_size};

use super::{Engine, Handed};

/// The most that one UDP datagram holds over IPv6, before it is split.
const MOST_BYTES: usize = 65_487;

/// One send(2) a batch.
pub struct Gso {
    socket: UdpSocket,
    buffer: Vec<u8>,
    size: usize,
    most: usize,
}

impl Gso {
    /// Over a connected socket, with messages of `size` bytes.
    pub fn new(socket: UdpSocket, size: usize) -> io::Result<Self> {
        let most = engine::Engine::Gso.batch().min(MOST_BYTES / size).max(1);
        set_segment_size(&socket, u16::try_from(size).map_err(io::Error::other)?)?;
        Ok(Self { socket, buffer: vec![0; most * size], size, most })
    }
}

impl Engine for Gso {
    fn most(&self) -> usize {
        self.most
    }

    #[inline]
    fn send(&mut self, batch: &mut [Header]) -> Handed {
        let count = batch.len().min(self.most);
        let sent_ns = monotonic_ns();
        for (header, payload) in batch[..count].iter_mut().zip(self.buffer.chunks_exact_mut(self.size)) {
            header.sent_ns = sent_ns;
            header.write(payload);
        }
        match retried(|| self.socket.send(&self.buffer[..count * self.size])) {
            // The kernel takes such a buffer whole or not at all.
            Err(e) => Handed { refused: count, ..Handed::refused(&e) },
            Ok(_) => Handed::taken(count),
        }
    }
}
