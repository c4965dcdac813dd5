//! One question to the kernel's rtnetlink and its answer.

use std::io;

use netlink_packet_core::{NLM_F_ACK, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

/// More than any single link of this kernel takes, virtual functions included.
const ANSWER_BYTES: usize = 64 * 1024;

/// Asks for a change and waits for the kernel's word on it.
pub(super) fn change(message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
    ask(message, flags | NLM_F_ACK).map(|_| ())
}

/// Asks a question whose answer is one message.
pub(super) fn read(message: RouteNetlinkMessage) -> io::Result<RouteNetlinkMessage> {
    ask(message, 0)?.ok_or_else(|| io::Error::other("the kernel confirmed a question but did not answer it"))
}

fn ask(message: RouteNetlinkMessage, flags: u16) -> io::Result<Option<RouteNetlinkMessage>> {
    let socket = Socket::new(NETLINK_ROUTE)?;
    // rtnetlink works within send: the answer is there or never comes, so never wait for it.
    socket.set_non_blocking(true)?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | flags;
    header.sequence_number = 1;
    let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    answer(&socket)
}

fn answer(socket: &Socket) -> io::Result<Option<RouteNetlinkMessage>> {
    let mut bytes = Vec::with_capacity(ANSWER_BYTES);
    socket.recv(&mut bytes, 0)?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&bytes)
        .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))?;
    match answer.payload {
        NetlinkPayload::Error(error) => match error.code {
            None => Ok(None),
            Some(code) => Err(io::Error::from_raw_os_error(code.get().abs())),
        },
        NetlinkPayload::InnerMessage(message) => Ok(Some(message)),
        other => Err(io::Error::new(io::ErrorKind::InvalidData, format!("unexpected answer {other:?}"))),
    }
}
