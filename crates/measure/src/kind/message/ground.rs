//! The two hosts of a benchmark, and the connections between them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use netfathom_model::environment::Device;
use netfathom_model::layer::Side;
use netfathom_model::plan::{Carrier, Family, MessagePlan, Place};
use netfathom_model::record::TcpCounts;
use netfathom_sys::counters::TcpCounters;
use netfathom_sys::link;

use super::end;
use super::error::MessageError;
use super::far::Far;
use super::order::Cell;
use crate::ground::lab::{Lab, LabError, Role};
use crate::ground::rig::Rig;

/// What one end of a connection is made of.
#[derive(Debug)]
pub enum Socket {
    Tcp(TcpStream),
    Udp(UdpSocket),
    Unix(UnixStream),
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Udp(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        }
    }
}

impl Socket {
    /// The same socket once more.
    pub fn again(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(socket) => Self::Tcp(socket.try_clone()?),
            Self::Udp(socket) => Self::Udp(socket.try_clone()?),
            Self::Unix(socket) => Self::Unix(socket.try_clone()?),
        })
    }

    /// Ends whatever is blocked on it, here and at the peer.
    pub fn cut(&self) {
        // It may be over already.
        match self {
            Self::Tcp(socket) => drop(socket.shutdown(Shutdown::Both)),
            Self::Udp(socket) => netfathom_sys::socket::end_receiving(socket),
            Self::Unix(socket) => drop(socket.shutdown(Shutdown::Both)),
        }
    }
}

/// The ends of a connection that are on this host.
pub enum Connection {
    Whole {
        client: Socket,
        server: Socket,
    },
    /// The other one is on another host.
    Half(Socket),
}

impl Connection {
    /// That end, or the only one there is.
    pub fn end(&self, side: Side) -> &Socket {
        match (self, side) {
            (Self::Whole { client, .. }, Side::Client) => client,
            (Self::Whole { server, .. }, Side::Server) => server,
            (Self::Half(here), _) => here,
        }
    }

    pub fn cut(&self) {
        [Side::Client, Side::Server].into_iter().for_each(|side| self.end(side).cut());
    }
}

pub struct Ground {
    lab: Option<Lab>,
    /// The host of the other end, where that is not this one.
    far: Option<Far>,
}

impl Ground {
    /// Makes the lab where there is to be one.
    pub fn build(plan: &MessagePlan, stop: &AtomicBool) -> Result<Self, MessageError> {
        let lab = match (plan.place, &plan.path) {
            (Place::Lab, Some(path)) => Some(Lab::over(path, plan.seed)?),
            (Place::Lab, None) => Some(Lab::create()?),
            _ => None,
        };
        let far = match plan.place {
            Place::To(to) => Some(Far::dial(to, stop)?),
            _ => None,
        };
        Ok(Self { lab, far })
    }

    /// This host, as the server of a client on another one.
    pub fn serving(far: Far) -> Self {
        Self { lab: None, far: Some(far) }
    }

    pub fn far(&self) -> Option<&Far> {
        self.far.as_ref()
    }

    /// The host of that end, if it is not this one.
    pub fn elsewhere(&self, side: Side) -> Option<&Far> {
        self.far.as_ref().filter(|far| far.side == side)
    }

    /// The lab, if they are in one.
    pub fn lab(&self) -> Option<&Lab> {
        self.lab.as_ref()
    }

    /// The devices between the ends, as far as they are ours.
    pub fn devices(&self, place: Place) -> Vec<Device> {
        if self.far.is_some() {
            return Rig::build(place, Family::Ipv4).map_or_else(|_| Vec::new(), |rig| rig.devices());
        }
        let of = |lab: &Lab| [Role::Sender, Role::Reader].map(|role| lab.device(role)).to_vec();
        self.lab.as_ref().map_or_else(Vec::new, of)
    }

    /// Runs `work` where that end stands.
    pub fn at<T: Send>(&self, side: Side, work: impl FnOnce() -> T + Send) -> Result<T, LabError> {
        match &self.lab {
            Some(lab) => Ok(lab.host(role(side)).run(work)?),
            None => Ok(work()),
        }
    }

    /// The device of that end; `None` over loopback.
    pub fn device(&self, side: Side) -> Option<&link::Link> {
        self.lab.as_ref().map(|lab| lab.link(role(side)))
    }

    /// The address of the server, as the client sees it.
    pub fn server_address(&self) -> IpAddr {
        let lab = |lab: &Lab| lab.reader_addr(Family::Ipv4);
        self.lab.as_ref().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), lab)
    }

    /// A fresh connection for a trial, and one for posts where the layer has that apart.
    pub fn connect(
        &self,
        plan: &MessagePlan,
        cell: &Cell,
        counted: bool,
    ) -> Result<(Connection, Option<Connection>), MessageError> {
        if let Some(far) = &self.far {
            far.begin(plan, cell, counted)?;
        }
        let connection = self.connection(plan.carrier)?;
        let apart = end::posts_apart(&cell.layer, plan.test);
        Ok((connection, apart.then(|| self.connection(plan.carrier)).transpose()?))
    }

    fn connection(&self, carrier: Carrier) -> Result<Connection, MessageError> {
        if let Some(far) = &self.far {
            return Ok(Connection::Half(far.connect(carrier)?));
        }
        let (client, server) = match carrier {
            Carrier::Tcp => self.tcp()?,
            Carrier::Udp => self.udp()?,
            Carrier::Unix => {
                let pair = UnixStream::pair();
                let (client, server) = pair.map_err(MessageError::connect("make a pair of Unix sockets"))?;
                (Socket::Unix(client), Socket::Unix(server))
            }
        };
        Ok(Connection::Whole { client, server })
    }

    fn any_port(&self) -> SocketAddr {
        SocketAddr::new(self.server_address(), 0)
    }

    fn tcp(&self) -> Result<(Socket, Socket), MessageError> {
        let at = self.any_port();
        let listener = self
            .at(Side::Server, || TcpListener::bind(at))?
            .map_err(MessageError::connect("listen at the server"))?;
        let at = listener.local_addr().map_err(MessageError::connect("read the server's address"))?;
        let client = self
            .at(Side::Client, || TcpStream::connect(at))?
            .map_err(MessageError::connect("connect to the server"))?;
        let (server, _) = listener.accept().map_err(MessageError::connect("take the client's connection"))?;
        Ok((Socket::Tcp(client), Socket::Tcp(server)))
    }

    fn udp(&self) -> Result<(Socket, Socket), MessageError> {
        let at = self.any_port();
        let server = self
            .at(Side::Server, || UdpSocket::bind(at))?
            .map_err(MessageError::connect("bind the server"))?;
        let at = server.local_addr().map_err(MessageError::connect("read the server's address"))?;
        let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        let connect = || UdpSocket::bind(any).and_then(|s| s.connect(at).map(|()| s));
        let client =
            self.at(Side::Client, connect)?.map_err(MessageError::connect("connect to the server"))?;
        let back = client.local_addr().map_err(MessageError::connect("read the client's address"))?;
        server.connect(back).map_err(MessageError::connect("connect to the client"))?;
        for socket in [&client, &server] {
            socket
                .set_read_timeout(Some(UDP_PATIENCE))
                .map_err(MessageError::connect("limit how long an end waits"))?;
        }
        Ok((Socket::Udp(client), Socket::Udp(server)))
    }

    /// What the kernel counts of TCP in both hosts; `None` where it does not tell.
    pub fn tcp_counts(&self) -> Option<TcpCounters> {
        let client = self.at(Side::Client, TcpCounters::read).ok()?.ok()?;
        if self.lab.is_none() {
            return Some(client);
        }
        Some(client.plus(&self.at(Side::Server, TcpCounters::read).ok()?.ok()?))
    }
}

/// The host of the lab that an end is on.
fn role(side: Side) -> Role {
    match side {
        Side::Client => Role::Sender,
        Side::Server => Role::Reader,
    }
}

/// How long an end waits for a datagram before it looks whether the other one has finished.
pub const UDP_PATIENCE: Duration = Duration::from_millis(50);

pub fn counts(of: TcpCounters) -> TcpCounts {
    let TcpCounters { delayed_acks, timeouts, retransmitted } = of;
    TcpCounts { delayed_acks, timeouts, retransmitted }
}
