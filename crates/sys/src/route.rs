//! The way to a host: through which device, from which address, to which hardware address.
//! Who writes whole frames needs to know what the kernel otherwise fills in.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteType, RouteVia};

use crate::link::{self, LinkError};
use crate::rtnetlink;

/// How the kernel would send to an address now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Number of the device it leaves through, in the calling thread's namespace.
    pub index: u32,
    /// The own address that a socket gets which is bound to none.
    pub source: IpAddr,
    /// Hardware address of the device; zero for the loopback device.
    pub source_mac: [u8; 6],
    /// Hardware address of the router, or of the host itself; zero for an address of our own.
    pub destination_mac: [u8; 6],
}

/// Why the way to an address is not known, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum RouteError {
    #[error("cannot find the way to {address}: {source}{}", remedy(.source))]
    Unknown {
        address: IpAddr,
        #[source]
        source: io::Error,
    },
    #[error("cannot send frames to {address}: its route is of kind {kind}; name a single host that answers")]
    NotOneHost { address: IpAddr, kind: String },
    #[error("cannot find the way to {address}: {source}")]
    Device {
        address: IpAddr,
        #[source]
        source: LinkError,
    },
    #[error(
        "the hardware address of {neighbour}, next on the way to {address} through {device}, is not known \
         yet: send it one message through a socket, so that the kernel asks for it, and try again"
    )]
    Neighbour {
        address: IpAddr,
        /// The next hop with the unknown hardware address: the router, or the destination itself.
        neighbour: IpAddr,
        device: String,
    },
}

fn remedy(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::ENETUNREACH | libc::EHOSTUNREACH) => {
            "; give this host a route there, or check the address"
        }
        Some(libc::EACCES) => "; a rule of this host prohibits it",
        Some(libc::EAFNOSUPPORT | libc::EOPNOTSUPP) => "; does this kernel run with IPv6?",
        _ => "",
    }
}

/// Finds the way from the calling thread's namespace to an address.
///
/// # Errors
/// When there is none, when it is not one to a single host, or when the hardware address of
/// the next host on it is not known, see [`RouteError::Neighbour`].
pub fn to(address: IpAddr) -> Result<Route, RouteError> {
    let unknown = |source| RouteError::Unknown { address, source };
    let way = look_up(address).map_err(unknown)?;
    // An address of our own goes through the loopback device, whatever device has it.
    if !matches!(way.kind, RouteType::Unicast | RouteType::Local) {
        return Err(RouteError::NotOneHost { address, kind: format!("{:?}", way.kind).to_lowercase() });
    }
    let device = link::read_index(way.index).map_err(|source| RouteError::Device { address, source })?;
    let neighbour = way.gateway.unwrap_or(address);
    let destination_mac = match way.kind {
        RouteType::Local => [0; 6],
        _ => hardware_address(way.index, neighbour)
            .map_err(unknown)?
            .ok_or_else(|| RouteError::Neighbour { address, neighbour, device: device.name.clone() })?,
    };
    Ok(Route { index: way.index, source: way.source, source_mac: device.mac, destination_mac })
}

/// Name of the device through which the calling thread's namespace sends to an address;
/// whether the next host answers does not matter.
pub fn device_to(address: IpAddr) -> Result<String, RouteError> {
    let way = look_up(address).map_err(|source| RouteError::Unknown { address, source })?;
    let device = link::read_index(way.index).map_err(|source| RouteError::Device { address, source })?;
    Ok(device.name)
}

/// Whether the kernel takes packets to this address in.
pub(crate) fn is_local(address: IpAddr) -> bool {
    // No route at all is an error.
    look_up(address).is_ok_and(|way| way.kind == RouteType::Local)
}

struct RouteReply {
    kind: RouteType,
    index: u32,
    source: IpAddr,
    /// The router on the way; `None` for a host of the own network.
    gateway: Option<IpAddr>,
}

fn look_up(address: IpAddr) -> io::Result<RouteReply> {
    let mut question = RouteMessage::default();
    question.header.address_family = link::family(address);
    question.header.destination_prefix_length = if address.is_ipv4() { 32 } else { 128 };
    question.attributes = vec![RouteAttribute::Destination(address.into())];
    match rtnetlink::read(RouteNetlinkMessage::GetRoute(question))? {
        RouteNetlinkMessage::NewRoute(found) => parse(found),
        other => Err(rtnetlink::unexpected(&other)),
    }
}

fn parse(message: RouteMessage) -> io::Result<RouteReply> {
    let (mut index, mut source, mut gateway) = (None, None, None);
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Oif(number) => index = Some(*number),
            RouteAttribute::PrefSource(address) => source = ip(address),
            RouteAttribute::Gateway(address) => gateway = ip(address),
            // An IPv4 network behind an IPv6 router, since Linux 5.2.
            RouteAttribute::Via(RouteVia::Inet(address)) => gateway = Some((*address).into()),
            RouteAttribute::Via(RouteVia::Inet6(address)) => gateway = Some((*address).into()),
            _ => {}
        }
    }
    let index = index.ok_or_else(|| rtnetlink::unexpected(&message))?;
    // Without an own address on any device, packets leave from none.
    let none: IpAddr = match message.header.address_family {
        netlink_packet_route::AddressFamily::Inet6 => Ipv6Addr::UNSPECIFIED.into(),
        _ => Ipv4Addr::UNSPECIFIED.into(),
    };
    Ok(RouteReply { kind: message.header.kind, index, source: source.unwrap_or(none), gateway })
}

fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(v4) => Some((*v4).into()),
        RouteAddress::Inet6(v6) => Some((*v6).into()),
        _ => None,
    }
}

/// The hardware address of a neighbour, as far as the kernel believes in it.
fn hardware_address(index: u32, neighbour: IpAddr) -> io::Result<Option<[u8; 6]>> {
    let mut question = NeighbourMessage::default();
    question.header.family = link::family(neighbour);
    let answers = rtnetlink::list(RouteNetlinkMessage::GetNeighbour(question))?;
    Ok(answers.into_iter().find_map(|answer| match answer {
        RouteNetlinkMessage::NewNeighbour(entry) if entry.header.ifindex == index => known(&entry, neighbour),
        _ => None,
    }))
}

fn known(entry: &NeighbourMessage, neighbour: IpAddr) -> Option<[u8; 6]> {
    use NeighbourState::{Delay, Permanent, Probe, Reachable, Stale};
    // Stale is no less true: the kernel uses it, and asks again beside.
    if !matches!(entry.header.state, Permanent | Reachable | Stale | Delay | Probe) {
        return None;
    }
    let is_it = |attribute: &NeighbourAttribute| match attribute {
        NeighbourAttribute::Destination(NeighbourAddress::Inet(v4)) => neighbour == IpAddr::V4(*v4),
        NeighbourAttribute::Destination(NeighbourAddress::Inet6(v6)) => neighbour == IpAddr::V6(*v6),
        _ => false,
    };
    let mac = |attribute: &NeighbourAttribute| match attribute {
        NeighbourAttribute::LinkLayerAddress(bytes) => bytes.as_slice().try_into().ok(),
        _ => None,
    };
    entry.attributes.iter().any(is_it).then(|| entry.attributes.iter().find_map(mac)).flatten()
}

#[cfg(test)]
mod tests;
