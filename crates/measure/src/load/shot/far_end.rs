//! The far end of a flight on this machine: a bound socket, and whatever takes the messages
//! that come to its port.

use std::net::UdpSocket;

use netfathom_bpf::sink::{SinkFlow, XdpPass, XdpRedirect, XdpSink};
use netfathom_bpf::xdp::Mode;
use netfathom_model::engine::{Engine, Receive};
use netfathom_sys::link;

use super::Shot;
use crate::ground::error::GroundError;
use crate::ground::lab::{LabError, Role};
use crate::load::error::FlightError;
use crate::load::flight::FarEnd;
use crate::load::receive::{AfXdp, Echo, Kernel, Receiver, Socket, Source};
use crate::load::tally::Tally;

/// A far end that is ready, and what must stay while it is.
pub struct Local {
    pub end: Box<dyn FarEnd>,
    /// Lets frames in that were put straight into the driver's queue.
    _pass: Option<XdpPass>,
    /// Takes messages from the driver to the socket.
    _redirect: Option<XdpRedirect>,
}

impl Shot<'_> {
    /// Makes a far end of a socket in the reader's place, for that many messages at most. Frames of the xdp engine arrive
    /// only at a device with a program on it.
    pub fn far_end(&self, socket: UdpSocket, planned: u64) -> Result<Local, FlightError> {
        let Self { rig, flow, spin, .. } = *self;
        let address = socket.local_addr().map_err(GroundError::Socket)?;
        let tally = Tally::new(flow, self.lanes(), planned);
        let answering = || Ok(Echo { socket: socket.try_clone()?, to: rig.answers_go_to() });
        let echo = self.echo.then(answering).transpose().map_err(GroundError::Socket)?;
        let counted =
            |source: Box<dyn Source>| -> Box<dyn FarEnd> { Box::new(Receiver { source, tally, echo }) };
        let device = || -> Result<u32, FlightError> {
            let (_, name) = rig.device_names();
            let name = name.ok_or(FlightError::NoDevice(address.ip()))?;
            Ok(rig.at(Role::Reader, || link::read(&name))?.map_err(LabError::from)?.index)
        };
        let (mut pass, mut redirect) = (None, None);
        let end = match self.receive {
            Receive::Recv | Receive::Recvmmsg | Receive::Gro => {
                counted(Box::new(Socket::new(socket, self.receive, spin).map_err(GroundError::Socket)?))
            }
            Receive::AfXdp => {
                let index = device()?;
                let attach = || AfXdp::attach(index, address.port(), spin);
                let (program, source) = rig.at(Role::Reader, attach)??;
                redirect = Some(program);
                counted(Box::new(source))
            }
            Receive::Xdp => {
                let index = device()?;
                let sink =
                    rig.at(Role::Reader, || XdpSink::attach(index, address.port(), Mode::Native))??;
                // Before the first message leaves: it takes some milliseconds.
                sink.begin(SinkFlow { flow, lanes: self.lanes(), planned })?;
                // The socket stays: a closed port would answer by ICMP.
                Box::new(Kernel { sink, _port: socket })
            }
        };
        if self.engine == Engine::Xdp && !matches!(self.receive, Receive::AfXdp | Receive::Xdp) {
            let index = device()?;
            pass = Some(rig.at(Role::Reader, || XdpPass::attach(index))??);
        }
        Ok(Local { end, _pass: pass, _redirect: redirect })
    }
}
