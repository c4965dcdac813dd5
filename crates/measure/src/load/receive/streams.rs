//! From connections of TCP: a call for all that is there, cut into messages.

use std::io;
use std::net::UdpSocket;

use netfathom_model::plan::Spin;
use netfathom_sys::socket::{ReceivedDatagram, Wait, await_any};

use super::sockets::{received, spun};
use super::{PATIENCE, Source};

/// What one call may take of a connection.
const ROOM_BYTES: usize = 65_536;

pub struct Streams {
    connections: Vec<Connection>,
    message_bytes: usize,
    spin: Spin,
}

struct Connection {
    socket: UdpSocket,
    buffer: Vec<u8>,
    filled: usize,
}

impl Streams {
    /// Reads the accepted ends of connections with messages of one size; `singly`: a call a message.
    pub fn new(sockets: Vec<UdpSocket>, message_bytes: usize, singly: bool, spin: Spin) -> io::Result<Self> {
        let room = if singly { message_bytes } else { ROOM_BYTES.max(message_bytes) };
        let connection = |socket: UdpSocket| {
            socket.set_nonblocking(true)?;
            Ok(Connection { socket, buffer: vec![0; room], filled: 0 })
        };
        let connections = sockets.into_iter().map(connection).collect::<io::Result<_>>()?;
        Ok(Self { connections, message_bytes, spin: if singly { Spin::Never } else { spin } })
    }
}

impl Connection {
    fn fill(&mut self) -> io::Result<usize> {
        let bytes = received(self.socket.recv(&mut self.buffer[self.filled..]))?;
        self.filled += bytes;
        Ok(bytes)
    }

    /// The whole messages that are there; the beginning of another stays.
    fn take(&mut self, message_bytes: usize, each: &mut dyn FnMut(ReceivedDatagram<'_>)) -> usize {
        let messages = self.buffer[..self.filled].chunks_exact(message_bytes);
        let count = messages.len();
        messages.for_each(|payload| each(ReceivedDatagram { payload, truncated: false, from: None }));
        self.buffer.copy_within(count * message_bytes..self.filled, 0);
        self.filled -= count * message_bytes;
        count
    }
}

impl Source for Streams {
    fn receive(&mut self, each: &mut dyn FnMut(ReceivedDatagram<'_>)) -> io::Result<usize> {
        let Self { connections, message_bytes, spin } = self;
        spun(*spin, |wait| {
            if wait == Wait::ForOne && !await_any(connections.iter().map(|c| &c.socket), PATIENCE)? {
                return Ok(0);
            }
            connections.iter_mut().map(Connection::fill).sum::<io::Result<usize>>()
        })?;
        Ok(connections.iter_mut().map(|connection| connection.take(*message_bytes, each)).sum())
    }

    /// TCP drops nothing that it has acknowledged.
    fn dropped(&self) -> io::Result<u64> {
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::OwnedFd;

    use super::*;

    #[test]
    fn messages_are_cut_where_they_end_however_they_come() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut ends: Vec<TcpStream> =
            (0..2).map(|_| TcpStream::connect(listener.local_addr().unwrap()).unwrap()).collect();
        let accepted = (0..2).map(|_| OwnedFd::from(listener.accept().unwrap().0).into()).collect();
        let mut streams = Streams::new(accepted, 4, false, Spin::Never).unwrap();
        let mut receive = || {
            let mut got = Vec::new();
            let count = streams.receive(&mut |d| got.push(d.payload.to_vec())).unwrap();
            assert_eq!(count, got.len());
            got
        };
        ends[0].write_all(b"aaaab").unwrap();
        assert_eq!(receive(), [b"aaaa"]);
        assert!(receive().is_empty(), "nothing comes");
        ends[1].write_all(b"cccc").unwrap();
        assert_eq!(receive(), [b"cccc"]);
        ends[0].write_all(b"bbbdddd").unwrap();
        assert_eq!(receive(), [b"bbbb", b"dddd"]);
    }
}
