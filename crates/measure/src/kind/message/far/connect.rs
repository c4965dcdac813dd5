//! The connections for messages, beside that for control.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};

use netfathom_model::plan::Carrier;
use netfathom_sys::random;
use serde_json::json;

use super::protocol::{ControlMessage, Hello};
use super::{Far, Reached};
use crate::kind::message::error::MessageError;
use crate::kind::message::ground::{Socket, UDP_PATIENCE};
use crate::load::control::{CONNECT_WITHIN, Listener};

impl Far {
    /// A fresh connection: this host's end of it.
    pub fn connect(&self, carrier: Carrier) -> Result<Socket, MessageError> {
        match (&self.reached, carrier) {
            (Reached::Dialed { to, .. }, Carrier::Udp) => {
                self.opened()?;
                let socket = self.dial_udp(*to).map_err(MessageError::connect("connect to the server"))?;
                self.taken().map(|()| Socket::Udp(socket))
            }
            (Reached::Dialed { to, .. }, _) => {
                let key = self.opened()?;
                let dial = || {
                    let mut stream = TcpStream::connect_timeout(to, CONNECT_WITHIN)?;
                    stream.write_all(format!("{}\n", json!({ "key": key })).as_bytes())?;
                    Ok(stream)
                };
                let stream = dial().map_err(MessageError::connect("connect to the server"))?;
                self.taken().map(|()| Socket::Tcp(stream))
            }
            (Reached::Listened { .. }, Carrier::Udp) => self.take_udp(),
            (Reached::Listened { listener }, _) => self.take_tcp(listener),
        }
    }

    fn opened(&self) -> Result<u64, MessageError> {
        let awaited = "that it takes a connection";
        match self.hear(awaited)? {
            ControlMessage::Open { key } => Ok(key),
            _ => Err(self.out_of_turn(awaited)),
        }
    }

    fn taken(&self) -> Result<(), MessageError> {
        let awaited = "that it has the connection";
        if self.hear(awaited)? == ControlMessage::Taken { Ok(()) } else { Err(self.out_of_turn(awaited)) }
    }

    fn dial_udp(&self, to: SocketAddr) -> io::Result<UdpSocket> {
        let any: IpAddr =
            if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect(to)?;
        socket.set_read_timeout(Some(UDP_PATIENCE))?;
        let port = socket.local_addr()?.port();
        self.talk.say(&ControlMessage::Bound { port }).map_err(io::Error::other)?;
        Ok(socket)
    }

    fn take_tcp(&self, listener: &Listener<Hello>) -> Result<Socket, MessageError> {
        // Not to be guessed: the port is open to all.
        let key = random::bytes()
            .map(u64::from_ne_bytes)
            .map_err(MessageError::connect("draw a key (getrandom)"))?;
        let expected = listener.expect(key);
        self.say(&ControlMessage::Open { key })?;
        let awaited = "its connection for messages";
        let stream =
            expected.recv_timeout(CONNECT_WITHIN).map_err(|_| self.silent(awaited, CONNECT_WITHIN))?;
        self.say(&ControlMessage::Taken)?;
        Ok(Socket::Tcp(stream))
    }

    fn take_udp(&self) -> Result<Socket, MessageError> {
        // The address that the client knows.
        let bind = || UdpSocket::bind(self.talk.local_addr()?);
        let socket = bind().map_err(MessageError::connect("bind the server's UDP port"))?;
        self.say(&ControlMessage::Open { key: 0 })?;
        let ControlMessage::Bound { port } = self.hear("its port")? else {
            return Err(self.out_of_turn("its port"));
        };
        let connect = || {
            // With its scope.
            let mut client = self.talk.peer();
            client.set_port(port);
            socket.connect(client)?;
            // What came before is anybody's; the client waits.
            socket.set_nonblocking(true)?;
            while socket.recv(&mut [0]).is_ok() {}
            socket.set_nonblocking(false)?;
            socket.set_read_timeout(Some(UDP_PATIENCE))
        };
        connect().map_err(MessageError::connect("connect to the client"))?;
        self.say(&ControlMessage::Taken)?;
        Ok(Socket::Udp(socket))
    }
}
