//! Where the two ends of a measurement stand, and the sockets and counters of either.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::time::Duration;

use netfathom_model::environment::Device;
use netfathom_model::plan::{Family, Place, Transport};
use netfathom_sys::counters::{self, Counters};
use netfathom_sys::link;
use netfathom_sys::socket::{receive_whole, set_receive_buffer};

use super::lab::{Lab, LabError, Role};
use crate::ground::error::GroundError;

/// Room for about 10,000 small messages: 50 ms at 200,000 a second.
const RECEIVE_BUFFER_BYTES: i32 = 8 << 20;
/// How long one send call may wait for a device.
const LONGEST_SEND: Duration = Duration::from_millis(200);
/// On this machine a connection is made at once.
const LONGEST_CONNECT: Duration = Duration::from_secs(5);
/// Messages that find routes and warm caches before a trial; no trial's own.
const WARM_UP_MESSAGES: usize = 64;
const WARM_UP_BYTES: usize = 64;
/// How long the first of them may be under way.
const LONGEST_WARM_UP: Duration = Duration::from_secs(2);
/// After so long without another one, the rest are lost.
const LONGEST_GAP: Duration = Duration::from_millis(200);

/// The two ends of a measurement, as far as they are on this machine.
pub struct Rig {
    pub place: Place,
    pub family: Family,
    lab: Option<Lab>,
    /// The device that leads to another host, or that its messages come in by.
    far_device: Option<String>,
}

/// What others counted, on either side: so far, or in between. Of a side on another host
/// nothing is known here.
#[derive(Default)]
pub struct SideCounters {
    pub sender: Counters,
    pub reader: Counters,
}

impl Rig {
    pub fn build(place: Place, family: Family) -> Result<Self, GroundError> {
        let lab = (place == Place::Lab).then(Lab::create).transpose()?;
        if lab.as_ref().is_some_and(|lab| !lab.supports(family)) {
            return Err(GroundError::NoIpv6);
        }
        let far_device = match place {
            Place::To(to) => netfathom_sys::route::device_to(to.ip()).ok(),
            // None of `0.0.0.0`: messages may come in anywhere then.
            Place::Listen(on) => link::with_address(on.ip()).ok().flatten().map(|link| link.name),
            _ => None,
        };
        Ok(Self { place, family, lab, far_device })
    }

    pub fn lab(&self) -> Option<&Lab> {
        self.lab.as_ref()
    }

    pub fn devices(&self) -> Vec<Device> {
        if let Some(lab) = &self.lab {
            return vec![lab.device(Role::Sender), lab.device(Role::Reader)];
        }
        let (role, name) = match self.device_names() {
            (Some(lo), Some(_)) => ("both", lo),
            (Some(name), None) => ("sender", name),
            (None, Some(name)) => ("reader", name),
            (None, None) => return Vec::new(),
        };
        link::read(&name)
            .map(|l| Device { role: role.into(), name: l.name, mtu: l.mtu, qdisc: l.qdisc })
            .into_iter()
            .collect()
    }

    /// The name of the sender's and of the reader's device, where they are known.
    pub fn device_names(&self) -> (Option<String>, Option<String>) {
        let lo = || Some("lo".to_owned());
        match (&self.lab, self.place) {
            (Some(lab), _) => (Some(lab.device(Role::Sender).name), Some(lab.device(Role::Reader).name)),
            (None, Place::To(_)) => (self.far_device.clone(), None),
            (None, Place::Listen(_)) => (None, self.far_device.clone()),
            (None, _) => (lo(), lo()),
        }
    }

    /// A socket bound to the reader's address, with room for a burst.
    pub fn reader_socket(&self, port: u16) -> Result<UdpSocket, GroundError> {
        let address = match self.place {
            Place::Listen(address) => SocketAddr::new(address.ip(), port),
            _ => SocketAddr::new(self.reader_addr(), port),
        };
        let reader = self
            .at(Role::Reader, || UdpSocket::bind(address))?
            .map_err(|source| GroundError::Bind { address, source })?;
        set_receive_buffer(&reader, RECEIVE_BUFFER_BYTES).map_err(GroundError::Socket)?;
        Ok(reader)
    }

    /// A socket of the sender, connected to an address. In the lab its packets die at the
    /// first router: there is none.
    pub fn sender_socket(&self, to: SocketAddr) -> Result<UdpSocket, GroundError> {
        let from = self.any_port(to);
        let connected = self.at(Role::Sender, || -> io::Result<_> {
            let sender = UdpSocket::bind(from)?;
            sender.connect(to)?;
            Ok(sender)
        })?;
        self.bounded(connected.map_err(GroundError::Socket)?)
    }

    /// Where a socket of the sender is bound that is for messages to, or from, an address.
    pub fn any_port(&self, peer: SocketAddr) -> SocketAddr {
        SocketAddr::new(self.sender_addr(peer.ip()), 0)
    }

    fn bounded(&self, socket: UdpSocket) -> Result<UdpSocket, GroundError> {
        // A device that takes nothing must not hold a sender that is to stop.
        socket.set_write_timeout(Some(LONGEST_SEND)).map_err(GroundError::Socket)?;
        if self.lab.is_some() {
            netfathom_sys::socket::set_hop_limit(&socket, 1).map_err(GroundError::Socket)?;
        }
        Ok(socket)
    }

    /// New connections of TCP from the sender to the reader, each by its two ends. They are of the type of datagram
    /// sockets: what all engines and readers need of one is the same.
    pub fn connections(&self, port: u16, count: u32) -> Result<Vec<(UdpSocket, UdpSocket)>, GroundError> {
        let address = SocketAddr::new(self.reader_addr(), port);
        let listener = self
            .at(Role::Reader, || TcpListener::bind(address))?
            .map_err(|source| GroundError::Bind { address, source })?;
        let to = listener.local_addr().map_err(GroundError::Socket)?;
        let connect = |_| {
            let sender = self.at(Role::Sender, || TcpStream::connect_timeout(&to, LONGEST_CONNECT))?;
            let ends = sender.and_then(|sender| {
                sender.set_nodelay(true)?;
                let (reader, _) = listener.accept()?;
                Ok((UdpSocket::from(OwnedFd::from(sender)), UdpSocket::from(OwnedFd::from(reader))))
            });
            let (sender, reader) = ends.map_err(GroundError::Socket)?;
            Ok((self.bounded(sender)?, reader))
        };
        (0..count).map(connect).collect()
    }

    pub fn counters(&self) -> Result<SideCounters, GroundError> {
        let at = |role| self.at(role, counters::read)?.map_err(GroundError::Counters);
        Ok(SideCounters { sender: at(Role::Sender)?, reader: at(Role::Reader)? })
    }

    pub fn counted_since(&self, before: &SideCounters) -> Result<SideCounters, GroundError> {
        let now = self.counters()?;
        let since = |now: &Counters, before| now.since(before).map_err(GroundError::Counters);
        Ok(SideCounters {
            sender: since(&now.sender, &before.sender)?,
            reader: since(&now.reader, &before.reader)?,
        })
    }

    /// Runs `work` where that end stands.
    ///
    /// # Errors
    /// If its namespace cannot be entered; `work` did not run then.
    pub fn at<T: Send>(&self, role: Role, work: impl FnOnce() -> T + Send) -> Result<T, GroundError> {
        match &self.lab {
            Some(lab) => Ok(lab.host(role).run(work).map_err(LabError::from)?),
            None => Ok(work()),
        }
    }

    /// The address that answers go to, as the far end on this machine sees it.
    pub fn answers_go_to(&self) -> IpAddr {
        self.sender_addr(self.reader_addr())
    }

    fn sender_addr(&self, to: IpAddr) -> IpAddr {
        match (&self.lab, self.place) {
            (Some(lab), _) => lab.sender_addr(self.family),
            // The route to it decides.
            (None, Place::To(_)) if to.is_ipv6() => Ipv6Addr::UNSPECIFIED.into(),
            (None, Place::To(_)) => Ipv4Addr::UNSPECIFIED.into(),
            (None, _) => loopback(self.family),
        }
    }

    fn reader_addr(&self) -> IpAddr {
        self.lab.as_ref().map_or_else(|| loopback(self.family), |lab| lab.reader_addr(self.family))
    }
}

fn loopback(family: Family) -> IpAddr {
    match family {
        Family::Ipv4 => Ipv4Addr::LOCALHOST.into(),
        Family::Ipv6 => Ipv6Addr::LOCALHOST.into(),
    }
}

/// Sends a few messages that are no trial's own, and reads those that come: a path may lose some. One that is later has no
/// header, so no trial takes it for its own.
pub fn warm_up(sender: &UdpSocket, reader: &UdpSocket, transport: Transport) -> Result<(), GroundError> {
    reader.set_read_timeout(Some(LONGEST_WARM_UP)).map_err(GroundError::Socket)?;
    match transport {
        Transport::Udp => warm_up_at_once(sender, reader)?,
        // A small window may have no room for all of them.
        Transport::Tcp => (0..WARM_UP_MESSAGES).try_for_each(|_| warm_up_once(sender, reader))?,
    }
    reader.set_read_timeout(None).map_err(GroundError::Socket)
}

fn warm_up_at_once(sender: &UdpSocket, reader: &UdpSocket) -> Result<(), GroundError> {
    let send = |_| sender.send(&[0; WARM_UP_BYTES]).err();
    let refused = (0..WARM_UP_MESSAGES).filter_map(send).fold(None, |first, e| first.or(Some(e)));
    let mut buffer = [0; WARM_UP_BYTES];
    receive_whole(reader, &mut buffer).map_err(|e| nothing_came(refused, e))?;
    reader.set_read_timeout(Some(LONGEST_GAP)).map_err(GroundError::Socket)?;
    for _ in 1..WARM_UP_MESSAGES {
        match receive_whole(reader, &mut buffer) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
            outcome => outcome.map_err(GroundError::Socket)?,
        };
    }
    Ok(())
}

fn warm_up_once(sender: &UdpSocket, reader: &UdpSocket) -> Result<(), GroundError> {
    sender.send(&[0; WARM_UP_BYTES]).map_err(GroundError::Socket)?;
    receive_whole(reader, &mut [0; WARM_UP_BYTES]).map(drop).map_err(|e| nothing_came(None, e))
}

/// The reader is bound to the port: only a firewall can make it look closed.
fn nothing_came(refused: Option<io::Error>, why: io::Error) -> GroundError {
    match refused {
        Some(e) if e.kind() != io::ErrorKind::ConnectionRefused => GroundError::Socket(e),
        _ if why.kind() == io::ErrorKind::WouldBlock => GroundError::NothingCrosses,
        _ => GroundError::Socket(why),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use netfathom_model::message::Header;

    use super::*;

    /// Warms up a path that forwards some of the messages, by their numbers.
    fn over_path(forwards: fn(usize) -> bool) -> Result<(), GroundError> {
        let [sender, path, reader] = ["127.0.0.1:0"; 3].map(|any| UdpSocket::bind(any).unwrap());
        sender.connect(path.local_addr().unwrap()).unwrap();
        let to = reader.local_addr().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut message = [1; WARM_UP_BYTES];
                for number in 0..WARM_UP_MESSAGES {
                    path.recv(&mut message).unwrap();
                    if forwards(number) {
                        path.send_to(&message, to).unwrap();
                    }
                }
            });
            warm_up(&sender, &reader, Transport::Udp)
        })
    }

    #[test]
    fn a_path_may_lose_some_messages_but_not_all() {
        assert!(over_path(|number| number % 10 != 0).is_ok());
        assert!(over_path(|number| number == WARM_UP_MESSAGES - 1).is_ok());
        let none = over_path(|_| false);
        assert!(matches!(none, Err(GroundError::NothingCrosses)), "{none:?}");
    }

    #[test]
    fn a_late_message_is_of_no_trial() {
        assert!(Header::read(&[0; WARM_UP_BYTES]).is_none());
    }
}
