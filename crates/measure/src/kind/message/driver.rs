//! Ends in the drivers of the lab's devices (XDP), for datagrams.
//!
//! Echoes and sinks are programs at the device of their end. A client that sends one way is a program that
//! writes frames, many a call of user space ([`Frames`]). Where such frames come to a socket, a program at
//! its device does nothing but make the device take them.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};

use netfathom_bpf::generator::Generator;
use netfathom_bpf::message::{Flow, KernelEnd, Work};
use netfathom_bpf::sink::XdpPass;
use netfathom_model::layer::{Form, Layer, Side};
use netfathom_model::message::HEADER_BYTES as NUMBERED_BYTES;
use netfathom_model::plan::{MessagePlan, MessageTest, Placement};
use netfathom_sys::link::Link;

use super::end::{Frames, HEADER_BYTES, MessageLoad};
use super::error::EndError;
use super::ground::{Ground, Socket};
use super::kernel;
use super::order::Cell;
use crate::ground::lab::MTU;
use crate::load::frame::{Frame, FrameAddresses};

/// Headers of IPv4 and UDP.
const PACKET_HEADERS: usize = 28;
/// The shortest message body for frames that a program writes: it numbers them.
const LEAST_WRITTEN: u64 = (NUMBERED_BYTES - HEADER_BYTES) as u64;
/// The longest body of a message that is one frame.
const MOST_IN_FRAME: u64 = (MTU as usize - PACKET_HEADERS - HEADER_BYTES) as u64;
/// There are no routers in the lab.
const HOP_LIMIT: u8 = 1;
/// The messages of a trial are identified by their addresses.
const FLOW: u32 = 0;

/// Whether the ends in the kernel are in the driver.
pub fn has(layer: &Layer) -> bool {
    matches!(layer, Layer::Bare { form: Form::Xdp, .. })
}

/// Whether the client is a program that writes frames.
pub fn writes_frames(test: MessageTest, cell: &Cell) -> bool {
    has(&cell.layer) && test == MessageTest::Oneway && cell.placement.kernel_client()
}

/// Whether this end is a socket that frames of XDP come to.
pub fn takes_frames(test: MessageTest, side: Side, cell: &Cell) -> bool {
    let (here, there) = match side {
        Side::Client => (cell.placement.kernel_client(), cell.placement.kernel_server()),
        Side::Server => (cell.placement.kernel_server(), cell.placement.kernel_client()),
    };
    has(&cell.layer) && !here && there && (test == MessageTest::Pingpong || side == Side::Server)
}

/// Puts an end into the driver of its device, for the datagrams that would come to its socket.
pub fn attach(
    ground: &Ground,
    test: MessageTest,
    side: Side,
    socket: &Socket,
) -> Result<KernelEnd, EndError> {
    let [here, there] = addresses(datagrams(socket)?)?;
    let index = device(ground, side)?.index;
    Ok(ground.at(side, || KernelEnd::at_driver(work(test), Flow { here, there }, index))??)
}

fn work(test: MessageTest) -> Work {
    if test == MessageTest::Oneway { Work::Sink } else { Work::Echo { until: None } }
}

/// Makes the device of an end take frames of XDP, until what it returns is dropped.
pub fn have_taken(ground: &Ground, side: Side) -> Result<XdpPass, EndError> {
    let index = device(ground, side)?.index;
    Ok(ground.at(side, || XdpPass::attach(index))??)
}

/// The client that writes frames, in the name of its socket.
pub fn frames(ground: &Ground, socket: &Socket, load: MessageLoad) -> Result<Frames, EndError> {
    let socket = datagrams(socket)?;
    let generator = generator(ground, addresses(socket)?, load.message_bytes)?;
    Ok(Frames::new(generator, FLOW, socket.try_clone()?, load))
}

fn generator(ground: &Ground, of: [SocketAddrV4; 2], message_bytes: usize) -> Result<Generator, EndError> {
    let [source, destination] = of.map(SocketAddr::from);
    let (near, far) = (device(ground, Side::Client)?, device(ground, Side::Server)?);
    let ends = FrameAddresses {
        source_mac: near.mac,
        destination_mac: far.mac,
        source,
        destination,
        hop_limit: HOP_LIMIT,
    };
    let frame = Frame::new(&ends, FLOW, HEADER_BYTES + message_bytes);
    Ok(ground.at(Side::Client, || Generator::load(frame.bytes(), near.index))??)
}

/// What the kernel or the driver says to ends of its own, if they are asked for and it refuses them.
pub fn refusal(plan: &MessagePlan, ground: &Ground) -> Option<String> {
    let in_driver = plan.placements.iter().any(|&p| p != Placement::UU);
    let asked = in_driver && plan.layers.iter().any(has);
    let error = asked.then(|| attempt(plan, ground).err()).flatten()?;
    Some(format!("{error}{}", kernel::want_of_privilege()))
}

/// Loads and attaches each kind of end that the plan has, for datagrams that there are none of.
fn attempt(plan: &MessagePlan, ground: &Ground) -> Result<(), EndError> {
    let nowhere = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
    let index = device(ground, Side::Server)?.index;
    let flow = Flow { here: nowhere, there: nowhere };
    ground.at(Side::Server, || KernelEnd::at_driver(work(plan.test), flow, index))??;
    have_taken(ground, Side::Server)?;
    if plan.test == MessageTest::Oneway && plan.placements.iter().any(|p| p.kernel_client()) {
        generator(ground, [nowhere; 2], LEAST_WRITTEN as usize)?;
    }
    Ok(())
}

fn datagrams(socket: &Socket) -> Result<&UdpSocket, EndError> {
    match socket {
        Socket::Udp(socket) => Ok(socket),
        _ => Err(EndError::Unexpected("an end in the driver takes datagrams only".into())),
    }
}

fn device(ground: &Ground, side: Side) -> Result<&Link, EndError> {
    ground.device(side).ok_or_else(|| EndError::Unexpected("an end in the driver needs the lab".into()))
}

fn addresses(socket: &UdpSocket) -> Result<[SocketAddrV4; 2], EndError> {
    match (socket.local_addr()?, socket.peer_addr()?) {
        (SocketAddr::V4(here), SocketAddr::V4(there)) => Ok([here, there]),
        _ => Err(EndError::Unexpected("an end in the driver takes IPv4 only".into())),
    }
}

/// Why there is no such cell with ends in the driver, and what is nearest to it.
pub fn why_not(test: MessageTest, placement: Placement, bytes: u64) -> Option<(&'static str, &'static str)> {
    if placement == Placement::UU {
        return Some(("no end is in the driver", "write: the same sockets"));
    }
    if bytes > MOST_IN_FRAME {
        return Some((
            "a program in the driver sees frames, and such a message takes several",
            "write: the program is at the socket, where messages are whole",
        ));
    }
    if test == MessageTest::Oneway && placement.kernel_client() && bytes < LEAST_WRITTEN {
        return Some((
            "the frames that a program writes are numbered, which takes 28 bytes beside the length",
            "28 bytes",
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stated_frame_limits_are_right() {
        assert_eq!(LEAST_WRITTEN, 28);
        assert_eq!(MOST_IN_FRAME, 1468);
    }

    #[test]
    fn sockets_take_frames_where_the_other_end_sends_them() {
        use MessageTest::{Oneway, Pingpong};
        let takes = |test, placement| {
            let cell = Cell { layer: "xdp".parse().unwrap(), bytes: 64, placement, pair: 0 };
            [Side::Client, Side::Server].map(|side| takes_frames(test, side, &cell))
        };
        assert_eq!(takes(Oneway, Placement::KU), [false, true]);
        assert_eq!(takes(Oneway, Placement::UK), [false, false]);
        assert_eq!(takes(Pingpong, Placement::UK), [true, false]);
        assert_eq!(takes(Pingpong, Placement::KU), [false, true]);
        assert_eq!(takes(Pingpong, Placement::KK), [false, false]);
        let cell = Cell { layer: "write".parse().unwrap(), bytes: 64, placement: Placement::KU, pair: 0 };
        assert!(!takes_frames(Pingpong, Side::Server, &cell));
    }
}
