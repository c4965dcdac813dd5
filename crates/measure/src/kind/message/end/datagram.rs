//! Bare UDP: a datagram a message.

use std::io::{self, IoSlice};
use std::net::UdpSocket;
use std::ops::Range;
use std::os::fd::AsFd;

use netfathom_model::layer::Form;
use netfathom_sys::endpoint::{has_ended, receive, receive_polling, send, send_parts};

use super::{End, HEADER_BYTES, MessageLoad, frame};
use crate::kind::message::error::EndError;
use crate::kind::message::ground::UDP_PATIENCE;

/// Times that an end says it has finished: a full buffer may drop one.
const GOODBYES: usize = 3;
/// Silence: nothing came for this many of the socket's time limits.
const SILENCES: usize = 4;

/// Where a body has its message's place among all, if it is long enough.
const INDEX: Range<usize> = HEADER_BYTES..HEADER_BYTES + 8;

pub struct Datagram {
    socket: UdpSocket,
    form: Form,
    polls: bool,
    message: Vec<u8>,
    buffer: Vec<u8>,
    sent: u64,
    silent: bool,
}

impl Datagram {
    /// On a connected socket with a receive timeout.
    pub fn new(form: Form, polls: bool, socket: UdpSocket, load: MessageLoad) -> Self {
        let message = frame(load.message_bytes);
        Self { socket, form, polls, buffer: vec![0; message.len() + 1], message, sent: 0, silent: false }
    }

    fn read(&mut self) -> io::Result<usize> {
        let socket = self.socket.as_fd();
        if self.polls {
            match receive_polling(socket, &mut self.buffer, Some(UDP_PATIENCE)) {
                // A datagram socket that was shut down shows that only to a call that may sleep.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && has_ended(socket)? => {}
                read => return read,
            }
        }
        receive(socket, &mut self.buffer)
    }
}

impl End for Datagram {
    fn send(&mut self) -> Result<u64, EndError> {
        if let Some(place) = self.message.get_mut(INDEX) {
            place.copy_from_slice(&self.sent.to_le_bytes());
        }
        self.sent += 1;
        let socket = self.socket.as_fd();
        if self.form == Form::Writev {
            let (header, body) = self.message.split_at(HEADER_BYTES);
            send_parts(socket, &[IoSlice::new(header), IoSlice::new(body)])?;
        } else {
            send(socket, &self.message)?;
        }
        Ok(1)
    }

    fn receive(&mut self) -> Result<u64, EndError> {
        self.silent = false;
        for _ in 0..SILENCES {
            match self.read() {
                Ok(0) => return Ok(0),
                Ok(bytes) if bytes == self.message.len() => return Ok(1),
                Ok(bytes) => {
                    let text = format!("a datagram of {bytes} bytes came, {} were sent", self.message.len());
                    return Err(EndError::Unexpected(text));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.silent = true;
        Ok(0)
    }

    fn index(&self) -> Option<u64> {
        // Frames that a program writes have other headers, and no place here.
        let came = self.buffer.get(..self.message.len())?;
        let place = came.get(INDEX)?.try_into().ok()?;
        (came[..HEADER_BYTES] == self.message[..HEADER_BYTES]).then(|| u64::from_le_bytes(place))
    }

    fn is_silent(&self) -> bool {
        self.silent
    }

    fn finish(&mut self) -> Result<(), EndError> {
        for _ in 0..GOODBYES {
            match send(self.socket.as_fd(), &[]) {
                // The other end has gone already.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => break,
                sent => sent?,
            };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(message_bytes: usize, polls: bool) -> [Datagram; 2] {
        let [a, b] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        a.connect(b.local_addr().unwrap()).unwrap();
        b.connect(a.local_addr().unwrap()).unwrap();
        let load = MessageLoad { message_bytes, bulk_bytes: 0, grown: false, into_sink: false };
        [a, b].map(|socket| {
            // One that polls never sleeps.
            socket.set_read_timeout((!polls).then_some(UDP_PATIENCE)).unwrap();
            Datagram::new(Form::Write, polls, socket, load)
        })
    }

    #[test]
    fn a_message_is_known_by_its_place_though_others_were_lost() {
        for (bytes, places) in [(8, [Some(0), Some(3)]), (7, [None, None])] {
            let [mut client, mut server] = pair(bytes, false);
            let mut came = |client: &mut Datagram| {
                client.send().unwrap();
                assert_eq!(server.receive().unwrap(), 1);
                server.index()
            };
            let first = came(&mut client);
            // Two that never arrive.
            client.sent += 2;
            assert_eq!([first, came(&mut client)], places, "{bytes}");
        }
    }

    #[test]
    fn silence_is_no_end() {
        for polls in [false, true] {
            let [mut client, mut server] = pair(8, polls);
            assert_eq!((server.receive().unwrap(), server.is_silent()), (0, true));
            client.finish().unwrap();
            assert_eq!((server.receive().unwrap(), server.is_silent()), (0, false));
            netfathom_sys::socket::end_receiving(&client.socket);
            assert_eq!((client.receive().unwrap(), client.is_silent()), (0, false));
        }
    }
}
