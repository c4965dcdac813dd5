//! Bare stream sockets: what a program does that has no message layer.
//!
//! Each message is of the same length, as both ends know, so that the reader only counts bytes.
//! That favours bare sockets, which is what a layer should be held against.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};

use netfathom_model::layer::{Form, Layer, Side, SocketOption};
use netfathom_sys::endpoint::{
    acknowledge_at_once, receive, receive_parts, receive_polling, send, send_more, send_parts, set_cork,
    set_no_delay,
};

use super::{End, HEADER_BYTES, MessageLoad, frame};
use crate::kind::message::error::EndError;
use crate::kind::message::ground::Socket;

/// What is read at once, at most.
const READ_BYTES: usize = 128 << 10;

pub struct Bare {
    socket: Socket,
    form: Form,
    cork: bool,
    more: bool,
    quick_ack: bool,
    polls: bool,
    /// Header and body of a message, as far as it has a header.
    message: Vec<u8>,
    /// Header and body of a bulk reply.
    bulk: Vec<u8>,
    /// Whether it comes from the kernel, without a header.
    grown: bool,
    buffer: Vec<u8>,
    /// Bytes of a message that has not come whole.
    pending: usize,
}

impl Bare {
    pub fn new(form: Form, layer: &Layer, side: Side, socket: Socket, load: MessageLoad) -> io::Result<Self> {
        let has = |option| layer.has(option, side);
        if has(SocketOption::NoDelay) {
            set_no_delay(socket.as_fd())?;
        }
        Ok(Self {
            form,
            cork: has(SocketOption::Cork),
            more: has(SocketOption::More),
            quick_ack: has(SocketOption::QuickAck),
            polls: has(SocketOption::Poll),
            message: match form {
                Form::Headerless => vec![0; load.message_bytes],
                _ => frame(load.message_bytes),
            },
            bulk: frame(load.bulk_bytes),
            grown: load.grown,
            buffer: vec![0; READ_BYTES.max(load.bulk_bytes)],
            pending: 0,
            socket,
        })
    }

    fn read(&mut self) -> io::Result<usize> {
        let socket = self.socket.as_fd();
        match self.polls {
            true => receive_polling(socket, &mut self.buffer, None),
            false => receive(socket, &mut self.buffer),
        }
    }

    fn has_read(&self) -> io::Result<()> {
        if self.quick_ack { acknowledge_at_once(self.socket.as_fd()) } else { Ok(()) }
    }

    fn write(&self, frame: &[u8]) -> io::Result<()> {
        let socket = self.socket.as_fd();
        if self.cork {
            set_cork(socket, true)?;
        }
        let (header, body) = frame.split_at(HEADER_BYTES.min(frame.len()));
        match self.form {
            Form::Write | Form::Headerless | Form::Sendfile | Form::Xdp => all(socket, frame, send)?,
            Form::Writev => {
                let sent = send_parts(socket, &[IoSlice::new(header), IoSlice::new(body)])?;
                all(socket, &frame[sent..], send)?;
            }
            Form::Two => {
                all(socket, header, if self.more { send_more } else { send })?;
                all(socket, body, send)?;
            }
            Form::Sendmsg => {
                let send = |socket: BorrowedFd<'_>, bytes: &[u8]| send_parts(socket, &[IoSlice::new(bytes)]);
                all(socket, header, send)?;
                all(socket, body, send)?;
            }
        }
        if self.cork { set_cork(socket, false) } else { Ok(()) }
    }
}

/// Sends all of it, which is one call unless the buffer is full.
fn all(
    socket: BorrowedFd<'_>,
    mut bytes: &[u8],
    send: fn(BorrowedFd<'_>, &[u8]) -> io::Result<usize>,
) -> io::Result<()> {
    while !bytes.is_empty() {
        bytes = &bytes[send(socket, bytes)?..];
    }
    Ok(())
}

impl End for Bare {
    fn send(&mut self) -> Result<u64, EndError> {
        self.write(&self.message)?;
        Ok(1)
    }

    fn receive(&mut self) -> Result<u64, EndError> {
        loop {
            let bytes = self.read()?;
            if bytes == 0 {
                return Ok(0);
            }
            self.has_read()?;
            self.pending += bytes;
            let whole = self.pending / self.message.len();
            self.pending %= self.message.len();
            if whole > 0 {
                return Ok(whole as u64);
            }
        }
    }

    fn post(&mut self) -> Result<(), EndError> {
        Ok(self.write(&self.bulk)?)
    }

    /// Header and body are read in one call where they have come together, the body to its place.
    fn fetch(&mut self) -> Result<(), EndError> {
        self.write(&self.message)?;
        let mut header = [0; HEADER_BYTES];
        let (mut got, whole) = (0, self.bulk.len());
        while got < whole {
            let body = &mut self.buffer[got.saturating_sub(HEADER_BYTES)..whole - HEADER_BYTES];
            let bytes = if got < HEADER_BYTES {
                let parts = &mut [IoSliceMut::new(&mut header[got..]), IoSliceMut::new(body)];
                receive_parts(self.socket.as_fd(), parts)?
            } else {
                receive(self.socket.as_fd(), body)?
            };
            if bytes == 0 {
                return Err(EndError::Unexpected("the stream ended within a reply".into()));
            }
            got += bytes;
            self.has_read()?;
        }
        if !self.grown && header[..] != self.bulk[..HEADER_BYTES] {
            return Err(EndError::Unexpected(format!("a reply came with the header {header:?}")));
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), EndError> {
        match &self.socket {
            Socket::Tcp(socket) => socket.shutdown(Shutdown::Write)?,
            Socket::Unix(socket) => socket.shutdown(Shutdown::Write)?,
            Socket::Udp(_) => {}
        }
        Ok(())
    }
}
