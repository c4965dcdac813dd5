//! Network devices of the calling thread's namespace, through rtnetlink.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::thread;
use std::time::{Duration, Instant};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage};
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, InfoData, InfoKind, InfoVeth, LinkAttribute, LinkExtentMask,
    LinkFlags, LinkInfo, LinkMessage, State,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::RouteType;
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use crate::{route, rtnetlink};

refusal! {
    /// What could not be done with a network device, why, and what to do.
    LinkError:
    libc::EPERM => "; this needs CAP_NET_ADMIN: run as root, or measure over loopback",
    libc::EOPNOTSUPP => "; this kernel lacks it: load the module veth, or measure over loopback",
    libc::EEXIST => "; it is there already",
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub name: String,
    pub index: u32,
    /// Largest packet, in bytes, without the link-layer header.
    pub mtu: u32,
    /// Kind of its root queueing discipline, such as `noqueue`.
    pub qdisc: String,
    /// Its hardware address; all zero for `lo`.
    pub mac: [u8; 6],
    /// Whether packets can pass: administratively up, with a carrier, its queues active.
    pub running: bool,
}

/// One end of a veth pair that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VethEnd<'a> {
    pub name: &'a str,
    /// Its number; 0 leaves the choice to the kernel.
    pub index: u32,
}

/// Makes a veth pair, both ends down: `near` in the calling thread's namespace, `far` in
/// `far_namespace`.
///
/// # Errors
/// Without CAP_NET_ADMIN in both namespaces, when a name or number is taken, or when the
/// kernel has no veth.
pub fn create_veth(near: VethEnd<'_>, far: VethEnd<'_>, far_namespace: &impl AsFd) -> Result<(), LinkError> {
    let mut peer = LinkMessage::default();
    peer.header.index = far.index;
    peer.attributes = vec![
        LinkAttribute::IfName(far.name.into()),
        LinkAttribute::NetNsFd(far_namespace.as_fd().as_raw_fd()),
    ];
    let mut pair = LinkMessage::default();
    pair.header.index = near.index;
    pair.attributes = vec![
        LinkAttribute::IfName(near.name.into()),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]),
    ];
    rtnetlink::change(RouteNetlinkMessage::NewLink(pair), NLM_F_CREATE | NLM_F_EXCL)
        .map_err(LinkError::new("create a pair of veth devices"))
}

pub fn read(name: &str) -> Result<Link, LinkError> {
    ask(0, vec![LinkAttribute::IfName(name.into())]).map_err(LinkError::new(format!("read device {name}")))
}

pub fn read_index(index: u32) -> Result<Link, LinkError> {
    ask(index, Vec::new()).map_err(LinkError::new(format!("read device number {index}")))
}

/// The device of the calling thread's namespace that has an address; `None` if none has.
pub fn with_address(address: IpAddr) -> Result<Option<Link>, LinkError> {
    let mut question = AddressMessage::default();
    question.header.family = family(address);
    let answers = rtnetlink::list(RouteNetlinkMessage::GetAddress(question))
        .map_err(LinkError::new(format!("find the device that has the address {address}")))?;
    let has = |message: &AddressMessage| {
        message.attributes.iter().any(
            |a| matches!(a, AddressAttribute::Address(own) | AddressAttribute::Local(own) if *own == address),
        )
    };
    let index = answers.into_iter().find_map(|answer| match answer {
        RouteNetlinkMessage::NewAddress(found) if has(&found) => Some(found.header.index),
        _ => None,
    });
    index.map(read_index).transpose()
}

fn ask(index: u32, mut attributes: Vec<LinkAttribute>) -> io::Result<Link> {
    attributes.push(LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats]));
    let mut question = LinkMessage::default();
    question.header.index = index;
    question.attributes = attributes;
    match rtnetlink::read(RouteNetlinkMessage::GetLink(question))? {
        RouteNetlinkMessage::NewLink(found) => Ok(parse(found)),
        other => Err(rtnetlink::unexpected(&other)),
    }
}

fn parse(message: LinkMessage) -> Link {
    let up = message.header.flags.contains(LinkFlags::Up);
    let mut link = Link {
        name: String::new(),
        index: message.header.index,
        mtu: 0,
        qdisc: String::new(),
        mac: [0; 6],
        running: false,
    };
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name = name,
            LinkAttribute::Mtu(mtu) => link.mtu = mtu,
            LinkAttribute::Qdisc(kind) => link.qdisc = kind,
            LinkAttribute::Address(mac) => link.mac = mac.try_into().unwrap_or_default(),
            // The loopback device is forever in state `unknown`.
            LinkAttribute::OperState(state) => {
                link.running = up && matches!(state, State::Up | State::Unknown)
            }
            _ => {}
        }
    }
    link
}

/// Sets the largest packet of a device, in bytes.
///
/// # Errors
/// Without CAP_NET_ADMIN, or when the device does not take that size.
pub fn set_mtu(link: &Link, mtu: u32) -> Result<(), LinkError> {
    let action = format!("set the MTU of device {} to {mtu}", link.name);
    change(link, LinkFlags::empty(), vec![LinkAttribute::Mtu(mtu)], action)
}

/// Makes a device send nothing of its own accord: no ARP, no neighbor discovery, no
/// duplicate address detection, no multicast listener reports, no router solicitations.
/// The hardware addresses of its neighbors must then be set with [`add_neighbour`].
///
/// # Errors
/// Without CAP_NET_ADMIN.
pub fn set_silent(link: &Link) -> Result<(), LinkError> {
    // Without ARP the kernel joins no solicited-node group either. The listener reports of that group
    // would come seconds after the device is up, in the middle of a measurement.
    change(link, LinkFlags::Noarp, Vec::new(), format!("set device {} silent", link.name))?;
    if !ipv6_available() {
        return Ok(());
    }
    // No link-local address: nothing to solicit routers from. This must come before `up`.
    let generation = AfSpecInet6::AddrGenMode(In6AddrGenMode::None);
    let attributes = vec![LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet6(vec![generation])])];
    let action = format!("keep device {} from choosing an IPv6 address", link.name);
    change(link, LinkFlags::empty(), attributes, action)
}

/// Whether this kernel runs with IPv6; booted with `ipv6.disable=1` it does not.
pub fn ipv6_available() -> bool {
    std::path::Path::new("/proc/thread-self/net/if_inet6").exists()
}

/// Sets a device up, without waiting until it runs.
///
/// # Errors
/// Without CAP_NET_ADMIN.
pub fn set_up(link: &Link) -> Result<(), LinkError> {
    change(link, LinkFlags::Up, Vec::new(), format!("set device {} up", link.name))
}

fn change(
    link: &Link,
    flag: LinkFlags,
    attributes: Vec<LinkAttribute>,
    action: String,
) -> Result<(), LinkError> {
    let mut message = LinkMessage::default();
    message.header.index = link.index;
    message.header.flags = flag;
    message.header.change_mask = flag;
    message.attributes = attributes;
    rtnetlink::change(RouteNetlinkMessage::SetLink(message), 0).map_err(LinkError::new(action))
}

/// Waits until packets can pass a device. If the peer of a veth came up later, a kernel worker activates
/// the queues asynchronously.
///
/// # Errors
/// When it does not run after `most`, or is gone.
pub fn await_running(name: &str, most: Duration) -> Result<Link, LinkError> {
    in_service(most, &format!("device {name}"), || Ok(Some(read(name)?).filter(|link| link.running)))
}

/// Waits until packets to an own address are taken in. A kernel worker enters one of IPv6 in the routing table
/// (addrconf_dad_work), also without duplicate address detection; until then they are dropped.
///
/// # Errors
/// When they are not after `most`.
pub fn await_address(address: IpAddr, most: Duration) -> Result<(), LinkError> {
    in_service(most, &format!("address {address}"), || Ok(route::is_local(address).then_some(())))
}

fn in_service<T>(
    most: Duration,
    what: &str,
    look: impl Fn() -> Result<Option<T>, LinkError>,
) -> Result<T, LinkError> {
    let deadline = Instant::now() + most;
    loop {
        if let Some(link) = look()? {
            return Ok(link);
        }
        if Instant::now() >= deadline {
            let source = io::Error::new(io::ErrorKind::TimedOut, format!("still not after {most:?}"));
            return Err(LinkError::new(format!("bring {what} into service"))(source));
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Gives a device an address, without duplicate address detection.
///
/// # Errors
/// Without CAP_NET_ADMIN, or when the device has the address already.
pub fn add_address(link: &Link, address: IpAddr, prefix_bits: u8) -> Result<(), LinkError> {
    let mut message = AddressMessage::default();
    message.header.family = family(address);
    message.header.prefix_len = prefix_bits;
    message.header.index = link.index;
    message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
    if address.is_ipv6() {
        message.attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
    }
    rtnetlink::change(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
        .map_err(LinkError::new(format!("give device {} the address {address}/{prefix_bits}", link.name)))
}

/// Adds a permanent neighbor entry, so that the kernel need not resolve the address.
///
/// # Errors
/// Without CAP_NET_ADMIN.
pub fn add_neighbour(link: &Link, address: IpAddr, mac: [u8; 6]) -> Result<(), LinkError> {
    let mut message = NeighbourMessage::default();
    message.header.family = family(address);
    message.header.ifindex = link.index;
    message.header.state = NeighbourState::Permanent;
    message.header.kind = RouteType::Unicast;
    let destination = match address {
        IpAddr::V4(v4) => NeighbourAddress::Inet(v4),
        IpAddr::V6(v6) => NeighbourAddress::Inet6(v6),
    };
    message.attributes = vec![
        NeighbourAttribute::Destination(destination),
        NeighbourAttribute::LinkLayerAddress(mac.to_vec()),
    ];
    rtnetlink::change(RouteNetlinkMessage::NewNeighbour(message), NLM_F_CREATE | NLM_F_REPLACE)
        .map_err(LinkError::new(format!("tell device {} where its neighbour {address} is", link.name)))
}

pub(crate) fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_is_read() {
        let lo = read("lo").unwrap();
        assert_eq!((lo.name.as_str(), lo.index, lo.mac), ("lo", 1, [0; 6]));
        assert!(lo.mtu >= 1500 && !lo.qdisc.is_empty());
        assert_eq!(read_index(1).unwrap(), lo);
    }

    #[test]
    fn a_missing_device_is_named() {
        let error = read("no-such-dev").unwrap_err();
        assert!(error.to_string().starts_with("cannot read device no-such-dev: No such device"), "{error}");
    }
}
