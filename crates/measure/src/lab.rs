//! Two hosts on one machine: two network namespaces joined by a veth pair.
//!
//! Neither namespace has a name, so labs at the same time never collide, and nothing is left
//! of a lab whose program ended, however it ended.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use netfathom_model::environment::Device;
use netfathom_model::plan::Family;
use netfathom_sys::link::{self, Link, LinkError, VethEnd};
use netfathom_sys::netns::{Namespace, NamespaceError};

/// The network that RFC 2544 keeps for benchmarks: 198.18.0.0/15.
const IPV4: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2)];
const IPV4_PREFIX_BITS: u8 = 30;
/// The network that RFC 5180 keeps for benchmarks: 2001:2::/48.
const IPV6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2)];
const IPV6_PREFIX_BITS: u8 = 64;
/// The name of the device, on either host.
const DEVICE: &str = "veth0";
/// Their numbers. They differ, so that a hook that sees both hosts can tell them apart, and
/// lie above those of the tunnel devices that some kernels put into every namespace.
const INDEX: [u32; 2] = [1001, 1002];
const MTU: u32 = 1500;
/// It takes well under a millisecond; a machine that swaps may need more.
const IN_SERVICE: Duration = Duration::from_secs(2);

/// Why there is no lab.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A namespace could not be made or entered.
    #[error("no lab: {0}")]
    Namespace(#[from] NamespaceError),
    /// A device could not be made or set up.
    #[error("no lab: {0}")]
    Link(#[from] LinkError),
}

/// Which of the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one that sends the load.
    Sender,
    /// The one that reads it.
    Reader,
}

impl Role {
    /// As it is written in records.
    #[must_use]
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
    /// The host that sends the load.
    pub sender: Namespace,
    /// The host that reads it.
    pub reader: Namespace,
    links: [Link; 2],
    ipv6: bool,
}

impl Lab {
    /// Makes the two hosts, ready for traffic: addresses, neighbours and routes are there,
    /// and neither host sends anything of its own accord.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN or CAP_NET_ADMIN, or when the kernel has no namespaces or veth.
    pub fn create() -> Result<Self, LabError> {
        let ends = [Namespace::create()?, Namespace::create()?];
        ends[0].run(|| {
            let [near, far] = INDEX.map(|index| VethEnd { name: DEVICE, index });
            link::create_veth(near, far, &ends[1])
        })??;
        // Both must be up before either has a carrier.
        let links = [ends[0].run(start)??, ends[1].run(start)??];
        ends[0].run(|| settle(0, links[1].mac))??;
        ends[1].run(|| settle(1, links[0].mac))??;
        // Read again: only a running device shows the queueing discipline it has.
        let links = [ends[0].run(|| link::read(DEVICE))??, ends[1].run(|| link::read(DEVICE))??];
        let [sender, reader] = ends;
        Ok(Self { sender, reader, links, ipv6: link::ipv6_available() })
    }

    /// Whether the lab has addresses of this family: not IPv6 where the kernel runs without.
    #[must_use]
    pub fn supports(&self, family: Family) -> bool {
        family == Family::Ipv4 || self.ipv6
    }

    /// The address of the sender.
    #[must_use]
    pub fn sender_addr(&self, family: Family) -> IpAddr {
        address(0, family)
    }

    /// The address of the reader.
    #[must_use]
    pub fn reader_addr(&self, family: Family) -> IpAddr {
        address(1, family)
    }

    /// The network device of a host.
    #[must_use]
    pub fn link(&self, role: Role) -> &Link {
        &self.links[role as usize]
    }

    /// The network device of a host, as records have it.
    #[must_use]
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

/// In the namespace of one end: sets its devices up and returns the veth.
fn start() -> Result<Link, LinkError> {
    link::set_up(&link::read("lo")?)?;
    let veth = link::read(DEVICE)?;
    link::set_mtu(&veth, MTU)?;
    link::set_silent(&veth)?;
    link::set_up(&veth)?;
    Ok(veth)
}

/// In the namespace of one end, with both ends up: addresses and the way to the other end.
fn settle(end: usize, far_mac: [u8; 6]) -> Result<(), LinkError> {
    let veth = link::await_running(DEVICE, IN_SERVICE)?;
    link::add_address(&veth, address(end, Family::Ipv4), IPV4_PREFIX_BITS)?;
    link::add_neighbour(&veth, address(1 - end, Family::Ipv4), far_mac)?;
    if link::ipv6_available() {
        link::add_address(&veth, address(end, Family::Ipv6), IPV6_PREFIX_BITS)?;
        link::add_neighbour(&veth, address(1 - end, Family::Ipv6), far_mac)?;
    }
    Ok(())
}
