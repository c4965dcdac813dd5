//! One send(2) a message over a connection of TCP.

use std::io;
use std::net::UdpSocket;

use netfathom_model::message::Header;
use netfathom_sys::clock::monotonic_ns;

use super::{Engine, Handed};
use crate::load::tap::Announce;

/// A window that stays closed for so long ends the load.
const LONGEST_WAIT_NS: u64 = 2_000_000_000;

/// One send(2) a message, and more where the send buffer has no room for all of it.
pub struct Stream {
    socket: UdpSocket,
    payload: Vec<u8>,
    announce: Option<Announce>,
    /// What follows a message that was sent in part would be no message.
    broken: Option<i32>,
}

impl Stream {
    /// Over a connection, with messages of `size` bytes.
    pub fn new(socket: UdpSocket, size: usize, announce: Option<Announce>) -> Self {
        Self { socket, payload: vec![0; size], announce, broken: None }
    }

    fn send_all(&self, since_ns: u64) -> io::Result<()> {
        let (mut done, mut moved_ns) = (0, since_ns);
        while done < self.payload.len() {
            match self.socket.send(&self.payload[done..]) {
                Ok(bytes) => {
                    done += bytes;
                    moved_ns = if done < self.payload.len() { monotonic_ns() } else { moved_ns };
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e)
                    if e.kind() == io::ErrorKind::WouldBlock
                        && monotonic_ns() < moved_ns + LONGEST_WAIT_NS => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

impl Engine for Stream {
    #[inline]
    fn send(&mut self, batch: &mut [Header]) -> Handed {
        let header = &mut batch[0];
        header.sent_ns = monotonic_ns();
        header.write(&mut self.payload);
        if let Some(errno) = self.broken {
            return Handed { accepted: 0, refused: 1, errno };
        }
        if let Some(announce) = &mut self.announce {
            announce(header);
        }
        match self.send_all(header.sent_ns) {
            Ok(()) => Handed::taken(1),
            Err(e) => {
                self.broken = Some(e.raw_os_error().unwrap_or(0));
                Handed::refused(&e)
            }
        }
    }
}
