//! Where a trial's two ends stand, and the sockets between them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use netfathom_bpf::delay::Delay;
use netfathom_model::environment::Device;
use netfathom_model::path::Direction;
use netfathom_model::plan::{Family, InsertedDelay, Place, StackPlan};
use netfathom_sys::counters::{self, Counters};
use netfathom_sys::link;
use netfathom_sys::netns::Namespace;
use netfathom_sys::socket::{enable_rx_stamps, set_receive_buffer};

use super::StackError;
use crate::lab::{Lab, Role};

/// Room for about 10,000 small messages: 50 ms at 200,000 a second.
const RECEIVE_BUFFER_BYTES: i32 = 8 << 20;
/// Messages that find routes and warm caches before a trial; no trial's own.
const WARM_UP_MESSAGES: usize = 64;
/// Receive stamps begin a little after they were asked for.
const STAMPS_BEGIN: Duration = Duration::from_millis(50);

/// The two ends of a measurement.
pub struct Rig {
    /// Before the lab, so that it goes first.
    _delay: Option<Delay>,
    lab: Option<Lab>,
    family: Family,
    port: u16,
    polls: bool,
}

/// The sockets of one trial.
pub struct Sockets {
    /// Connected to the reader.
    pub sender: UdpSocket,
    /// Bound to the reader's address.
    pub reader: UdpSocket,
}

/// What others counted, on either side: so far, or in between.
#[derive(Default)]
pub struct Counted {
    /// In the sender's namespace.
    pub sender: Counters,
    /// In the reader's.
    pub reader: Counters,
}

impl Rig {
    /// Makes the lab, if the plan wants one.
    ///
    /// # Errors
    /// If there can be no lab, or none with the plan's family.
    pub fn build(plan: &StackPlan) -> Result<Self, StackError> {
        let lab = (plan.place == Place::Lab).then(Lab::create).transpose()?;
        if lab.as_ref().is_some_and(|lab| !lab.supports(plan.family)) {
            return Err(StackError::NoIpv6);
        }
        let delay =
            lab.as_ref().zip(plan.inserted_delay).map(|(lab, delay)| insert(lab, delay)).transpose()?;
        Ok(Self { _delay: delay, lab, family: plan.family, port: plan.port, polls: plan.reader_polls })
    }

    /// The devices on the path.
    #[must_use]
    pub fn devices(&self) -> Vec<Device> {
        match &self.lab {
            Some(lab) => vec![lab.device(Role::Sender), lab.device(Role::Reader)],
            None => link::read("lo")
                .map(|lo| Device { role: "both".into(), name: lo.name, mtu: lo.mtu, qdisc: lo.qdisc })
                .into_iter()
                .collect(),
        }
    }

    /// Whether others may move the counters too.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.lab.is_none()
    }

    /// The name of the sender's and of the reader's device.
    #[must_use]
    pub fn device_names(&self) -> (String, String) {
        match &self.lab {
            Some(lab) => (lab.device(Role::Sender).name, lab.device(Role::Reader).name),
            None => ("lo".into(), "lo".into()),
        }
    }

    /// New sockets, with the path between them warmed up.
    ///
    /// # Errors
    /// If the port is taken, or messages do not cross.
    pub fn sockets(&self, stamps: bool) -> Result<Sockets, StackError> {
        let to = SocketAddr::new(self.reader_addr(), self.port);
        let reader = self
            .at(Role::Reader, || UdpSocket::bind(to))?
            .map_err(|source| StackError::Bind { address: to, source })?;
        let to = reader.local_addr().map_err(StackError::Socket)?;
        let from = SocketAddr::new(self.sender_addr(), 0);
        let sender = self.at(Role::Sender, || -> io::Result<_> {
            let sender = UdpSocket::bind(from)?;
            sender.connect(to)?;
            Ok(sender)
        })?;
        let sockets = Sockets { sender: sender.map_err(StackError::Socket)?, reader };
        set_receive_buffer(&sockets.reader, RECEIVE_BUFFER_BYTES).map_err(StackError::Socket)?;
        if stamps {
            enable_rx_stamps(&sockets.reader).map_err(StackError::Socket)?;
            std::thread::sleep(STAMPS_BEGIN);
        }
        sockets.warm_up()?;
        sockets.reader.set_nonblocking(self.polls).map_err(StackError::Socket)?;
        Ok(sockets)
    }

    /// What others count right now.
    ///
    /// # Errors
    /// If /proc cannot be read.
    pub fn counters(&self) -> Result<Counted, StackError> {
        let at = |role| self.at(role, counters::read)?.map_err(StackError::Counters);
        Ok(Counted { sender: at(Role::Sender)?, reader: at(Role::Reader)? })
    }

    /// What others have counted since.
    ///
    /// # Errors
    /// If /proc cannot be read, or a counter went backwards.
    pub fn counted_since(&self, before: &Counted) -> Result<Counted, StackError> {
        let now = self.counters()?;
        let since = |now: &Counters, before| now.since(before).map_err(StackError::Counters);
        Ok(Counted {
            sender: since(&now.sender, &before.sender)?,
            reader: since(&now.reader, &before.reader)?,
        })
    }

    fn at<T: Send>(&self, role: Role, work: impl FnOnce() -> T + Send) -> Result<T, StackError> {
        let namespace: Option<&Namespace> = self.lab.as_ref().map(|lab| match role {
            Role::Sender => &lab.sender,
            Role::Reader => &lab.reader,
        });
        match namespace {
            Some(namespace) => Ok(namespace.run(work).map_err(crate::lab::LabError::from)?),
            None => Ok(work()),
        }
    }

    fn sender_addr(&self) -> IpAddr {
        self.lab.as_ref().map_or_else(|| loopback(self.family), |lab| lab.sender_addr(self.family))
    }

    fn reader_addr(&self) -> IpAddr {
        self.lab.as_ref().map_or_else(|| loopback(self.family), |lab| lab.reader_addr(self.family))
    }
}

/// Puts the delay on the device that its direction passes.
fn insert(lab: &Lab, delay: InsertedDelay) -> Result<Delay, StackError> {
    let (namespace, role) = match delay.direction {
        Direction::Tx => (&lab.sender, Role::Sender),
        Direction::Rx => (&lab.reader, Role::Reader),
    };
    let index = lab.link(role).index;
    let attached = namespace.run(|| Delay::attach(index, delay.direction, delay.delay_ns));
    Ok(attached.map_err(crate::lab::LabError::from)??)
}

fn loopback(family: Family) -> IpAddr {
    match family {
        Family::Ipv4 => Ipv4Addr::LOCALHOST.into(),
        Family::Ipv6 => Ipv6Addr::LOCALHOST.into(),
    }
}

impl Sockets {
    fn warm_up(&self) -> Result<(), StackError> {
        self.reader.set_read_timeout(Some(Duration::from_secs(2))).map_err(StackError::Socket)?;
        let mut buffer = [0; 64];
        for _ in 0..WARM_UP_MESSAGES {
            self.sender.send(&[0; 64]).map_err(StackError::Socket)?;
            self.reader.recv(&mut buffer).map_err(|source| match source.kind() {
                io::ErrorKind::WouldBlock => StackError::NothingCrosses,
                _ => StackError::Socket(source),
            })?;
        }
        self.reader.set_read_timeout(None).map_err(StackError::Socket)
    }
}
