//! Bare UDP: a datagram a message.

use std::io::{self, IoSlice};
use std::net::UdpSocket;
use std::os::fd::AsFd;

use netfathom_model::layer::Form;
use netfathom_sys::endpoint::{receive, send, send_parts};

use super::{End, HEADER_BYTES, Load, frame};
use crate::message::error::EndError;

/// Times that an end says it has finished: a full buffer may drop one.
const GOODBYES: usize = 3;
/// Nothing came for so many of the socket's time limits: the other end is gone.
const SILENCES: usize = 4;

/// One end of it.
pub struct Datagram {
    socket: UdpSocket,
    form: Form,
    message: Vec<u8>,
    buffer: Vec<u8>,
}

impl Datagram {
    /// Upon a connected socket whose receive calls have a limit.
    pub fn new(form: Form, socket: UdpSocket, load: Load) -> Self {
        let message = frame(load.message_bytes);
        Self { socket, form, buffer: vec![0; message.len() + 1], message }
    }
}

impl End for Datagram {
    fn send(&mut self) -> Result<u64, EndError> {
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
        for _ in 0..SILENCES {
            match receive(self.socket.as_fd(), &mut self.buffer) {
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
        Ok(0)
    }

    fn post(&mut self) -> Result<(), EndError> {
        Err(EndError::Unexpected("a bulk reply is longer than a datagram".into()))
    }

    fn fetch(&mut self) -> Result<(), EndError> {
        self.post()
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
