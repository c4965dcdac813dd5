//! The far end of a flight on this machine: a bound socket, and whatever takes the messages
//! that come to its port.

use std::net::{IpAddr, UdpSocket};

use netfathom_bpf::sink::{SinkFlow, XdpPass, XdpRedirect, XdpSink};
use netfathom_bpf::xdp::Mode;
use netfathom_model::engine::{Engine, Receive};
use netfathom_model::plan::Spin;
use netfathom_sys::link;

use super::flight::FarEnd;
use super::receive::{AfXdp, Echo, Kernel, Receiver, Source, from_socket};
use super::tally::Tally;
use crate::ground::error::GroundError;
use crate::ground::lab::Role;
use crate::ground::rig::Rig;
use crate::load::error::FlightError;

#[derive(Clone, Copy, Debug)]
pub struct ExpectedFlow {
    pub flow: u32,
    pub lanes: u32,
    /// Its messages, at most.
    pub planned: u64,
    /// Whether the receiver may spin before it sleeps.
    pub spin: Spin,
}

/// A far end that is ready, and what must stay while it is.
pub struct Local {
    pub end: Box<dyn FarEnd>,
    /// Lets frames in that were put straight into the driver's queue.
    _pass: Option<XdpPass>,
    /// Takes messages from the driver to the socket.
    _redirect: Option<XdpRedirect>,
}

/// Makes a far end of a socket in the reader's place of a rig.
///
/// `echo` answers that address. `engine` is that of the sender: frames of the xdp engine
/// arrive only at a device with a program on it.
pub fn local(
    rig: &Rig,
    socket: UdpSocket,
    receive: Receive,
    engine: Engine,
    expected: ExpectedFlow,
    echo: Option<IpAddr>,
) -> Result<Local, FlightError> {
    let address = socket.local_addr().map_err(GroundError::Socket)?;
    let tally = Tally::new(expected.flow, expected.lanes, expected.planned);
    let echo = echo
        .map(|to| Ok(Echo { socket: socket.try_clone()?, to }))
        .transpose()
        .map_err(GroundError::Socket)?;
    let counted = |source: Box<dyn Source>| -> Box<dyn FarEnd> { Box::new(Receiver { source, tally, echo }) };
    let device = || -> Result<u32, FlightError> {
        let (_, name) = rig.device_names();
        let name = name.ok_or(FlightError::NoDevice(address.ip()))?;
        Ok(rig.at(Role::Reader, || link::read(&name))?.map_err(crate::ground::lab::LabError::from)?.index)
    };
    let (mut pass, mut redirect) = (None, None);
    let end = match receive {
        Receive::Recv | Receive::Recvmmsg | Receive::Gro => {
            counted(from_socket(socket, receive, expected.spin).map_err(GroundError::Socket)?)
        }
        Receive::AfXdp => {
            let index = device()?;
            let attach = || AfXdp::attach(index, address.port(), expected.spin);
            let (program, source) = rig.at(Role::Reader, attach)??;
            redirect = Some(program);
            counted(Box::new(source))
        }
        Receive::Xdp => {
            let index = device()?;
            let sink = rig.at(Role::Reader, || XdpSink::attach(index, address.port(), Mode::Native))??;
            // Before the first message leaves: it takes some milliseconds.
            sink.begin(SinkFlow { flow: expected.flow, lanes: expected.lanes, planned: expected.planned })?;
            // The socket stays: a closed port would answer by ICMP.
            Box::new(Kernel { sink, _port: socket })
        }
    };
    if engine == Engine::Xdp && !matches!(receive, Receive::AfXdp | Receive::Xdp) {
        let index = device()?;
        pass = Some(rig.at(Role::Reader, || XdpPass::attach(index))??);
    }
    Ok(Local { end, _pass: pass, _redirect: redirect })
}
