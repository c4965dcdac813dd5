//! AF_XDP: whole frames, before the stack. Only messages to one port are taken; a program in
//! the driver leaves all else to the stack.

use std::io;
use std::os::fd::AsFd;

use etherparse::{SlicedPacket, TransportSlice};
use netfathom_bpf::sink::XdpRedirect;
use netfathom_model::plan::Spin;
use netfathom_sys::socket::{ReceivedDatagram, Wait};
use netfathom_sys::xsk::XskReceiver;

use super::sockets::spun;
use super::{PATIENCE, Source};
use crate::load::error::FlightError;

/// Frames, a power of two: 10 ms at 400,000 a second.
const FRAMES: u32 = 4096;
/// The queue that a veth has.
const QUEUE: u32 = 0;

pub struct AfXdp {
    socket: XskReceiver,
    spin: Spin,
}

impl AfXdp {
    /// Takes what comes to a port of a device. The program that leads it here must outlive this source.
    pub fn attach(device: u32, port: u16, spin: Spin) -> Result<(XdpRedirect, Self), FlightError> {
        let program = XdpRedirect::attach(device, port)?;
        let socket = XskReceiver::open(device, QUEUE, FRAMES)?;
        program.insert(QUEUE, socket.as_fd())?;
        Ok((program, Self { socket, spin }))
    }
}

impl Source for AfXdp {
    fn receive(&mut self, each: &mut dyn FnMut(ReceivedDatagram<'_>)) -> io::Result<usize> {
        let mut take = |frame: &[u8]| {
            // What is no UDP was not for this port, and cannot have come here.
            let packet = SlicedPacket::from_ethernet(frame);
            let payload = match &packet {
                Ok(SlicedPacket { transport: Some(TransportSlice::Udp(udp)), .. }) => udp.payload(),
                _ => &[],
            };
            each(ReceivedDatagram { payload, truncated: false, from: None });
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
