//! AF_XDP: whole frames, before the stack. Only messages to one port are taken; a program in
//! the driver leaves all else to the stack.

use std::io;

use etherparse::{SlicedPacket, TransportSlice};
use netfathom_model::plan::Spin;
use netfathom_sys::socket::Wait;
use netfathom_sys::xsk::XskReceiver;

use super::sockets::spun;
use super::{Datagram, PATIENCE, Source};

pub struct AfXdp {
    socket: XskReceiver,
    spin: Spin,
}

impl AfXdp {
    /// Takes what the program redirects to this socket.
    pub fn new(socket: XskReceiver, spin: Spin) -> Self {
        Self { socket, spin }
    }
}

impl Source for AfXdp {
    fn receive(&mut self, each: &mut dyn FnMut(Datagram<'_>)) -> io::Result<usize> {
        let mut take = |frame: &[u8]| {
            // What is no UDP was not for this port, and cannot have come here.
            let packet = SlicedPacket::from_ethernet(frame);
            let payload = match &packet {
                Ok(SlicedPacket { transport: Some(TransportSlice::Udp(udp)), .. }) => udp.payload(),
                _ => &[],
            };
            each(Datagram { payload, cut: false, from: None });
        };
        spun(self.spin, |wait| match wait {
            Wait::No => Ok(self.socket.drain(&mut take)),
            Wait::ForOne => self.socket.receive(PATIENCE, &mut take),
        })
    }

    fn dropped(&self) -> io::Result<u64> {
        self.socket.dropped()
    }
}
