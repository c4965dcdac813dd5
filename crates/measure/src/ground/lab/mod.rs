//! Two hosts on one machine: two network namespaces joined by a veth pair, or by a path with a chosen
//! delay, loss and rate.
//!
//! The namespaces have no names, so labs that run at the same time never collide. Nothing remains of a
//! lab after its program has ended, for whatever reason.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use netfathom_model::environment::Device;
use netfathom_model::plan::{Family, Wire};
use netfathom_sys::link::{self, Link, LinkError, VethEnd};
use netfathom_sys::netns::{Namespace, NamespaceError};
use netfathom_sys::tun::{Packets, Tun};

pub mod setup;
pub mod wire;

use wire::{Relay, WireCounts, WireError};

/// The network that RFC 2544 keeps for benchmarks: 198.18.0.0/15.
const IPV4: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2)];
const IPV4_PREFIX_BITS: u8 = 30;
/// The network that RFC 5180 keeps for benchmarks: 2001:2::/48.
const IPV6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2)];
const IPV6_PREFIX_BITS: u8 = 64;
/// The name of the device, on either host.
const DEVICE: &str = "veth0";
/// The same, over a path with chosen properties.
const WIRED_DEVICE: &str = "tun0";
/// Where a connection's round trip and threshold are kept for the next one to the same host, which would begin where
/// another one has ended.
const NO_METRICS: &str = "/proc/sys/net/ipv4/tcp_no_metrics_save";
/// Their numbers. They differ, so that a hook that sees both hosts can tell them apart, and
/// lie above those of the tunnel devices that some kernels put into every namespace.
const INDEX: [u32; 2] = [1001, 1002];
/// Bytes of the longest packet between them.
pub const MTU: u32 = 1500;
/// It takes well under a millisecond; a machine that swaps may need more.
const IN_SERVICE: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("no lab: {0}")]
    Namespace(#[from] NamespaceError),
    #[error("no lab: {0}")]
    Link(#[from] LinkError),
    #[error("the command of --setup failed in the lab's {0}")]
    Setup(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Sender,
    Reader,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Reader => "reader",
        }
    }
}

/// Two hosts, removed when this value is dropped and the sockets made in them are closed, or
/// when the process ends.
#[derive(Debug)]
pub struct Lab {
    pub sender: Namespace,
    pub reader: Namespace,
    links: [Link; 2],
    ipv6: bool,
    relay: Option<Relay>,
}

impl Drop for Lab {
    fn drop(&mut self) {
        [&self.sender, &self.reader].into_iter().for_each(setup::end_what_is_left);
    }
}

impl Lab {
    /// Makes the two hosts, ready for traffic: addresses, neighbours and routes are there,
    /// and neither host sends anything of its own accord.
    pub fn create() -> Result<Self, LabError> {
        let ends = [new_host()?, new_host()?];
        ends[0].run(|| {
            let [near, far] = INDEX.map(|index| VethEnd { name: DEVICE, index });
            link::create_veth(near, far, &ends[1])
        })??;
        // Both must be up before either has a carrier.
        let links = [ends[0].run(|| start(DEVICE))??, ends[1].run(|| start(DEVICE))??];
        ends[0].run(|| settle(DEVICE, 0, Some(links[1].mac)))??;
        ends[1].run(|| settle(DEVICE, 1, Some(links[0].mac)))??;
        Self::of(ends, DEVICE, None)
    }

    /// Makes the two hosts with a path of these properties between them. Packets of it pass
    /// this process: its threads take processor time, more of it where packets are lost or
    /// have a rate, for then they pass one by one. Devices are TUN, without hardware addresses
    /// and without a link-layer header. The plan is a validated one; the seed decides which
    /// packets are lost.
    pub fn over(wire: &Wire, seed: u64) -> Result<Self, WireError> {
        let ends = [new_host()?, new_host()?];
        let packets = wire::packets(wire);
        let devices = [wired_end(&ends[0], 0, packets)?, wired_end(&ends[1], 1, packets)?];
        let relay = Relay::start(devices, wire, seed).map_err(WireError::Thread)?;
        Ok(Self::of(ends, WIRED_DEVICE, Some(relay))?)
    }

    fn of(ends: [Namespace; 2], device: &str, relay: Option<Relay>) -> Result<Self, LabError> {
        // Read anew: only a running device shows the queueing discipline it has.
        let read = |ends: [&Namespace; 2]| -> Result<[Link; 2], LabError> {
            Ok([ends[0].run(|| link::read(device))??, ends[1].run(|| link::read(device))??])
        };
        let links = read([&ends[0], &ends[1]])?;
        let [sender, reader] = ends;
        let mut lab = Self { sender, reader, links, ipv6: link::ipv6_available(), relay };
        setup::run(&lab, device)?;
        lab.links = read([&lab.sender, &lab.reader])?;
        Ok(lab)
    }

    /// What became of the packets that this host sent so far; `None` over a veth pair, which loses
    /// none. A device drops packets of its own if its relay is too slow, and counts them in
    /// `tx_dropped`.
    pub fn wire_counts(&self, from: Role) -> Option<WireCounts> {
        self.relay.as_ref().map(|relay| relay.counts()[from as usize])
    }

    /// Whether the lab has addresses of this family: not IPv6 where the kernel runs without.
    pub fn supports(&self, family: Family) -> bool {
        family == Family::Ipv4 || self.ipv6
    }

    pub fn sender_addr(&self, family: Family) -> IpAddr {
        address(0, family)
    }

    pub fn reader_addr(&self, family: Family) -> IpAddr {
        address(1, family)
    }

    pub fn host(&self, role: Role) -> &Namespace {
        match role {
            Role::Sender => &self.sender,
            Role::Reader => &self.reader,
        }
    }

    pub fn link(&self, role: Role) -> &Link {
        &self.links[role as usize]
    }

    /// The network device of a host, as records have it.
    pub fn device(&self, role: Role) -> Device {
        let link = self.link(role);
        Device { role: role.name().into(), name: link.name.clone(), mtu: link.mtu, qdisc: link.qdisc.clone() }
    }
}

fn address(end: usize, family: Family) -> IpAddr {
    match family {
        Family::Ipv4 => IPV4[end].into(),
        Family::Ipv6 => IPV6[end].into(),
    }
}

fn new_host() -> Result<Namespace, LabError> {
    let host = Namespace::create()?;
    // Where /proc/sys cannot be written, connections go on from each other, as everywhere.
    let _ = host.run(|| std::fs::write(NO_METRICS, "1"))?;
    Ok(host)
}

/// Makes the device of one end of a path, ready for traffic.
fn wired_end(host: &Namespace, end: usize, packets: Packets) -> Result<Tun, WireError> {
    let make = || Tun::create(WIRED_DEVICE, INDEX[end], packets);
    let device = host.run(make).map_err(LabError::from)??;
    let ready = || start(WIRED_DEVICE).and_then(|_| settle(WIRED_DEVICE, end, None));
    host.run(ready).map_err(LabError::from)?.map_err(LabError::from)?;
    Ok(device)
}

/// In the namespace of one end: sets its devices up and returns the one that leads to the other.
fn start(device: &str) -> Result<Link, LinkError> {
    link::set_up(&link::read("lo")?)?;
    let link = link::read(device)?;
    link::set_mtu(&link, MTU)?;
    link::set_silent(&link)?;
    link::set_up(&link)?;
    Ok(link)
}

/// In the namespace of one end, with both ends up: addresses and the way to the other end,
/// which has no hardware address where there is no link layer.
fn settle(device: &str, end: usize, far_mac: Option<[u8; 6]>) -> Result<(), LinkError> {
    let link = link::await_running(device, IN_SERVICE)?;
    let families = [(Family::Ipv4, IPV4_PREFIX_BITS), (Family::Ipv6, IPV6_PREFIX_BITS)];
    for (family, prefix_bits) in families {
        if family == Family::Ipv6 && !link::ipv6_available() {
            continue;
        }
        link::add_address(&link, address(end, family), prefix_bits)?;
        link::await_address(address(end, family), IN_SERVICE)?;
        if let Some(mac) = far_mac {
            link::add_neighbour(&link, address(1 - end, family), mac)?;
        }
    }
    Ok(())
}
