//! How connections come about: both sides say hello, and hear what the other is ready to take.

use std::{
    io,
    net::{TcpStream, ToSocketAddrs},
    os::unix::net::UnixStream,
    path::Path,
    sync::Arc,
};

use super::{Connection, Handle, Shared, Wait, mover, role::Receiving};
use crate::{
    Config, Error,
    protocol::{Event, Incoming, Outgoing, Want},
    transport::{Tcp, Transport, Unix},
    wire::{HELLO, Hello},
};

impl Connection {
    /// Connects over TCP, to a peer that accepts with [`Connection::tcp`].
    ///
    /// # Errors
    /// If no peer is there, or none that speaks this protocol.
    pub fn connect_tcp(address: impl ToSocketAddrs, config: &Config) -> Result<Self, Error> {
        let stream = TcpStream::connect(address).map_err(Error::io("connect"))?;
        Self::tcp(stream, config)
    }

    /// Connects over a Unix socket, to a peer that accepts with [`Connection::unix`].
    ///
    /// # Errors
    /// If no peer is there, or none that speaks this protocol.
    pub fn connect_unix(path: impl AsRef<Path>, config: &Config) -> Result<Self, Error> {
        let stream = UnixStream::connect(path).map_err(Error::io("connect"))?;
        Self::unix(stream, config)
    }

    /// Makes a connection of a TCP stream, accepted or connected. Waits for the peer's hello.
    ///
    /// # Errors
    /// [`Error::Limits`], [`Error::Handshake`], [`Error::Protocol`] and what the system says.
    pub fn tcp(stream: TcpStream, config: &Config) -> Result<Self, Error> {
        Self::open(Tcp::new(stream).map_err(Error::io("set up the socket"))?, config)
    }

    /// Makes a connection of a Unix stream, accepted or connected. Waits for the peer's hello.
    ///
    /// # Errors
    /// As [`Connection::tcp`].
    pub fn unix(stream: UnixStream, config: &Config) -> Result<Self, Error> {
        Self::open(Unix::new(stream).map_err(Error::io("set up the socket"))?, config)
    }

    /// Makes a connection of any transport. Waits for the peer's hello.
    ///
    /// # Errors
    /// As [`Connection::tcp`].
    pub fn open(transport: impl Transport, config: &Config) -> Result<Self, Error> {
        let ours = config.limits.hello();
        ours.check().map_err(Error::Limits)?;
        let mut incoming = Incoming::new(&config.limits);
        let theirs = greet(&transport, &ours, &mut incoming, config)?;
        let mut out = Outgoing::new(&config.limits);
        out.set_peer(theirs);
        let receiving = Receiving::new(incoming);
        let shared = Arc::new(Shared::new(Box::new(transport), config.clone(), out, receiving));
        mover::start(&shared)?;
        Ok(Self { handle: Arc::new(Handle { shared }) })
    }
}

/// Says hello and waits for the peer's; what comes right behind it stays in `incoming`.
fn greet(
    transport: &impl Transport,
    ours: &Hello,
    incoming: &mut Incoming,
    config: &Config,
) -> Result<Hello, Error> {
    // A socket that was just connected has room for a hello.
    let sent = transport.send(&[&ours.encode()]).map_err(Error::io("send the hello"))?;
    debug_assert_eq!(sent, HELLO);
    let wait = Wait::within(config.handshake);
    loop {
        if let Some(Event::Hello(theirs)) = incoming.next(Want::Any).map_err(Error::Protocol)? {
            return Ok(theirs);
        }
        let ready = transport.wait(true, false, wait.left()).map_err(Error::io("wait for the hello"))?;
        if wait.over() {
            return Err(Error::Handshake(config.handshake));
        }
        if !ready.read {
            continue;
        }
        let space = incoming.space();
        match transport.recv([space.header, space.posted, space.buffer], false) {
            Ok(0) => return Err(Error::PeerVanished { inside_frame: incoming.inside_frame() }),
            Ok(bytes) => incoming.filled(bytes),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(Error::io("read the hello")(error)),
        }
    }
}
