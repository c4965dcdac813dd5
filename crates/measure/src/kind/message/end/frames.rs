//! Messages in frames that a program writes in the driver (XDP), many a call of user space and past the stack.

use std::net::UdpSocket;

use netfathom_bpf::generator::Generator;
use netfathom_model::layer::Form;
use netfathom_model::message::Header;

use super::datagram::Datagram;
use super::{End, MessageLoad};
use crate::kind::message::error::EndError;

/// Messages of a call: what a call itself takes is little beside them, and a reader's buffer of the usual
/// length has room for as many short ones.
const BATCH: usize = 256;

/// The end that sends them; what else there is to say its socket says.
pub struct Frames {
    generator: Generator,
    socket: Datagram,
    batch: Vec<Header>,
}

impl Frames {
    /// The generator sends in the name of `socket`.
    pub fn new(generator: Generator, flow: u32, socket: UdpSocket, load: MessageLoad) -> Self {
        let unsent = |sequence| Header { flow, sequence, intended_ns: 0, sent_ns: 0 };
        let batch = (0..BATCH as u64).map(unsent).collect();
        Self { generator, socket: Datagram::new(Form::Xdp, false, socket, load), batch }
    }
}

impl End for Frames {
    fn send(&mut self) -> Result<u64, EndError> {
        let taken = self.generator.send(&mut self.batch)?;
        self.batch.iter_mut().for_each(|message| message.sequence += BATCH as u64);
        Ok(taken as u64)
    }

    fn burst(&self) -> u64 {
        BATCH as u64
    }

    fn receive(&mut self) -> Result<u64, EndError> {
        self.socket.receive()
    }

    fn finish(&mut self) -> Result<(), EndError> {
        self.socket.finish()
    }
}
