//! Down to IP: what packets of each link type begin with.

use super::Skipped;
use crate::packet::{LinkType, PacketDirection};

/// EtherTypes (IEEE 802 numbers).
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// 802.1Q, 802.1ad, and what was used before it.
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// Address families, as BSD loopback has them: IPv6 has another number on each system.
const AF_INET: u32 = 2;
const AF_INET6: [u32; 4] = [10, 24, 28, 30];

/// Hardware types of Linux with a protocol field that is no EtherType
/// (<https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL.html>): frame relay, GRE, monitored
/// radio, netlink.
const OTHER_PROTOCOLS: [u16; 5] = [770, 778, 802, 803, 824];
/// `PACKET_OUTGOING`, and what came in: to us, to all, to several, to another host.
const OUTGOING: u16 = 4;
const INCOMING: std::ops::RangeInclusive<u16> = 0..=3;

/// The version of IP that a link layer says it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V4,
    V6,
    /// It does not say.
    Any,
}

/// What is in a packet of the link layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inside<'a> {
    pub version: Version,
    pub data: &'a [u8],
    pub way: Option<PacketDirection>,
}

#[inline]
pub(super) fn inside(link: LinkType, data: &[u8]) -> Result<Inside<'_>, Skipped> {
    match link {
        LinkType::Ethernet => ethertype(u16_at(data, 12)?, &data[14..], None),
        LinkType::Sll => cooked_1(data),
        LinkType::Sll2 => cooked_2(data),
        LinkType::Raw => Ok(Inside { version: Version::Any, data, way: None }),
        LinkType::Ipv4 => Ok(Inside { version: Version::V4, data, way: None }),
        LinkType::Ipv6 => Ok(Inside { version: Version::V6, data, way: None }),
        LinkType::Null | LinkType::Loop => loopback(link, data),
        LinkType::Other(_) => Err(Skipped::UnknownLink),
    }
}

/// What follows an EtherType, any number of VLAN tags first.
#[inline]
fn ethertype(mut kind: u16, mut data: &[u8], way: Option<PacketDirection>) -> Result<Inside<'_>, Skipped> {
    loop {
        let version = match kind {
            IPV4 => Version::V4,
            IPV6 => Version::V6,
            tag if TAGS.contains(&tag) => {
                kind = u16_at(data, 2)?;
                data = &data[4..];
                continue;
            }
            _ => return Err(Skipped::NotUdp),
        };
        return Ok(Inside { version, data, way });
    }
}

/// Packet type, hardware type, length of the address, address (8), protocol.
fn cooked_1(data: &[u8]) -> Result<Inside<'_>, Skipped> {
    let header = data.first_chunk::<16>().ok_or(Skipped::CutOff)?;
    let of = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    if OTHER_PROTOCOLS.contains(&of(2)) {
        return Err(Skipped::NotUdp);
    }
    ethertype(of(14), &data[16..], way(of(0)))
}

/// Protocol, two unused bytes, interface (4), hardware type, packet type (1), length of the
/// address (1), address (8).
fn cooked_2(data: &[u8]) -> Result<Inside<'_>, Skipped> {
    let header = data.first_chunk::<20>().ok_or(Skipped::CutOff)?;
    if OTHER_PROTOCOLS.contains(&u16::from_be_bytes([header[8], header[9]])) {
        return Err(Skipped::NotUdp);
    }
    let kind = u16::from_be_bytes([header[0], header[1]]);
    ethertype(kind, &data[20..], way(u16::from(header[10])))
}

fn way(packet_type: u16) -> Option<PacketDirection> {
    match packet_type {
        OUTGOING => Some(PacketDirection::Out),
        kind if INCOMING.contains(&kind) => Some(PacketDirection::In),
        _ => None,
    }
}

/// An address family. That of BSD loopback is in the byte order of the capturing host, which
/// need not be that of the file; families are small numbers.
fn loopback(link: LinkType, data: &[u8]) -> Result<Inside<'_>, Skipped> {
    let family = data.first_chunk::<4>().ok_or(Skipped::CutOff)?;
    let network = u32::from_be_bytes(*family);
    let family = if link == LinkType::Null { network.min(network.swap_bytes()) } else { network };
    let version = match family {
        AF_INET => Version::V4,
        family if AF_INET6.contains(&family) => Version::V6,
        _ => return Err(Skipped::NotUdp),
    };
    Ok(Inside { version, data: &data[4..], way: None })
}

#[inline]
fn u16_at(data: &[u8], at: usize) -> Result<u16, Skipped> {
    let chunk = data.get(at..).and_then(<[u8]>::first_chunk).ok_or(Skipped::CutOff)?;
    Ok(u16::from_be_bytes(*chunk))
}
