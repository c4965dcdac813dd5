//! AF_XDP: whole frames, before the stack. Only messages to one port are taken; a program in
//! the driver leaves all else to the stack.

use std::io;

use etherparse::{SlicedPacket, TransportSlice};
use netfathom_sys::xsk::XskReceiver;

use super::{Datagram, PATIENCE, Source};

/// Frames from one queue of a device.
pub struct AfXdp {
    socket: XskReceiver,
}

impl AfXdp {
    /// Takes what the program redirects to this socket.
    #[must_use]
    pub fn new(socket: XskReceiver) -> Self {
        Self { socket }
    }
}

impl Source for AfXdp {
    fn receive(&mut self, each: &mut dyn FnMut(Datagram<'_>)) -> io::Result<usize> {
        let frames = self.socket.receive(PATIENCE, |frame| {
            // What is no UDP was not for this port, and cannot have come here.
            let packet = SlicedPacket::from_ethernet(frame);
            let payload = match &packet {
                Ok(SlicedPacket { transport: Some(TransportSlice::Udp(udp)), .. }) => udp.payload(),
                _ => &[],
            };
            each(Datagram { payload, cut: false, from: None });
        });
        match frames {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(0),
            frames => frames,
        }
    }

    fn dropped(&self) -> io::Result<u64> {
        self.socket.dropped()
    }
}
