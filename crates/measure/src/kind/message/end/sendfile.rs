//! Messages out of a file in memory, many a call and without a copy: the nearest to a sender in
//! the kernel that TCP has.

use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::AsFd;

use netfathom_model::layer::{Form, Layer, Side};
use netfathom_sys::splice::{memory_file, send_file};

use super::bare::Bare;
use super::{End, HEADER_BYTES, MessageLoad, frame};
use crate::kind::message::error::EndError;
use crate::kind::message::ground::Socket;

/// Bytes of messages that go in one call, about.
const FILE_BYTES: usize = 1 << 20;

/// One end of it; the other end, and reading, are as with bare sockets.
pub struct Sendfile {
    bare: Bare,
    socket: Socket,
    file: File,
    bytes: usize,
    messages: u64,
}

impl Sendfile {
    pub fn new(layer: &Layer, side: Side, socket: Socket, load: MessageLoad) -> io::Result<Self> {
        let messages = (FILE_BYTES / (HEADER_BYTES + load.message_bytes)).max(1);
        let content = frame(load.message_bytes).repeat(messages);
        Ok(Self {
            bare: Bare::new(Form::Sendfile, layer, side, socket.again()?, load)?,
            socket,
            file: memory_file(&content)?,
            bytes: content.len(),
            messages: messages as u64,
        })
    }
}

impl End for Sendfile {
    fn send(&mut self) -> Result<u64, EndError> {
        self.file.rewind()?;
        let mut left = self.bytes;
        while left > 0 {
            match send_file(self.file.as_fd(), self.socket.as_fd(), left)? {
                0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                sent => left -= sent,
            }
        }
        Ok(self.messages)
    }

    fn burst(&self) -> u64 {
        self.messages
    }

    fn receive(&mut self) -> Result<u64, EndError> {
        self.bare.receive()
    }

    fn finish(&mut self) -> Result<(), EndError> {
        self.bare.finish()
    }
}
