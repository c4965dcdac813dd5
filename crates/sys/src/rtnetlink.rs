//! One question to the kernel's rtnetlink and its answer, or its many.

use std::io;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

/// More than any single link of this kernel takes, virtual functions included.
const ANSWER_BYTES: usize = 64 * 1024;

/// Asks for a change and waits for the kernel's word on it.
pub(crate) fn change(message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
    ask(message, flags | NLM_F_ACK).map(|_| ())
}

/// Sends a request that the kernel answers with one message.
pub(crate) fn read(message: RouteNetlinkMessage) -> io::Result<RouteNetlinkMessage> {
    ask(message, 0)?.ok_or_else(|| io::Error::other("the kernel confirmed a question but did not answer it"))
}

/// Asks for all that there is of a kind.
pub(crate) fn list(message: RouteNetlinkMessage) -> io::Result<Vec<RouteNetlinkMessage>> {
    let socket = send(message, NLM_F_DUMP)?;
    let mut answers = Vec::new();
    loop {
        for answer in receive(&socket)? {
            match answer {
                NetlinkPayload::Done(_) => return Ok(answers),
                other => answers.extend(accept(other)?),
            }
        }
    }
}

pub(crate) fn unexpected(answer: &impl std::fmt::Debug) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("unexpected answer {answer:?}"))
}

fn ask(message: RouteNetlinkMessage, flags: u16) -> io::Result<Option<RouteNetlinkMessage>> {
    let first = receive(&send(message, flags)?)?.into_iter().next();
    first.map_or_else(|| Err(io::ErrorKind::UnexpectedEof.into()), accept)
}

fn send(message: RouteNetlinkMessage, flags: u16) -> io::Result<Socket> {
    let socket = Socket::new(NETLINK_ROUTE)?;
    // rtnetlink works within send, and lists within receive: the answer is there or never
    // comes, so never wait for it.
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
    Ok(socket)
}

type Payload = NetlinkPayload<RouteNetlinkMessage>;

/// What one receive call brings: one answer, or several of a list.
fn receive(socket: &Socket) -> io::Result<Vec<Payload>> {
    let mut bytes = Vec::with_capacity(ANSWER_BYTES);
    socket.recv(&mut bytes, 0)?;
    let mut payloads = Vec::new();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
            .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))?;
        // Messages begin at multiples of four.
        let length = (answer.header.length as usize).next_multiple_of(4);
        rest = rest.get(length..).unwrap_or_default();
        payloads.push(answer.payload);
    }
    Ok(payloads)
}

fn accept(payload: Payload) -> io::Result<Option<RouteNetlinkMessage>> {
    match payload {
        NetlinkPayload::Error(error) => match error.code {
            None => Ok(None),
            Some(code) => Err(io::Error::from_raw_os_error(code.get().abs())),
        },
        NetlinkPayload::InnerMessage(message) => Ok(Some(message)),
        other => Err(unexpected(&other)),
    }
}
