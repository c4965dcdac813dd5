//! UDP out of packets, read in place.
//!
//! Written by hand, since every packet of a join comes through here: a few nanoseconds each, where
//! etherparse takes forty. In a test that reads the same packets (`tests/capture/oracle.rs`).
//!
//! Lengths are those of the headers, not of the capture: what follows a datagram (Ethernet's
//! padding, a checksum) does not belong to it, and a missing part of it is reported ([`Datagram::cut`]).

mod ip;
mod link;

use std::net::{IpAddr, SocketAddr};

use crate::packet::{LinkType, PacketDirection};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    pub source: SocketAddr,
    pub destination: SocketAddr,
    /// Its payload, as far as it was captured.
    pub payload: &'a [u8],
    /// Whether less was captured than its header says.
    pub cut: bool,
    /// Which way it went, where the link type says so (Linux cooked).
    pub way: Option<PacketDirection>,
}

/// Why a packet has no datagram to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Skipped {
    /// It is something else.
    NotUdp,
    Fragment,
    /// Its headers were not captured to their end.
    CutOff,
    /// Its headers contradict each other.
    Malformed,
    /// How it begins is not known.
    UnknownLink,
}

#[inline]
pub fn udp(link: LinkType, data: &[u8]) -> Result<Datagram<'_>, Skipped> {
    let inside = link::inside(link, data)?;
    let packet = ip::packet(inside.version, inside.data)?;
    let mut rest = packet.payload;
    let header = rest.take::<8>()?;
    let source_port = u16::from_be_bytes([header[0], header[1]]);
    let destination_port = u16::from_be_bytes([header[2], header[3]]);
    let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let payload_bytes = match length.checked_sub(8) {
        Some(bytes) if bytes <= rest.claimed => bytes,
        // More than 65,535 bytes; then the length field of the packet is 0, too.
        None if length == 0 && rest.claimed == ip::UNKNOWN => rest.bytes.len(),
        _ => return Err(Skipped::Malformed),
    };
    let cut = payload_bytes > rest.bytes.len();
    Ok(Datagram {
        source: SocketAddr::new(packet.source, source_port),
        destination: SocketAddr::new(packet.destination, destination_port),
        payload: rest.bytes.get(..payload_bytes).unwrap_or(rest.bytes),
        cut,
        way: inside.way,
    })
}

/// An IP packet with UDP in it.
#[derive(Clone, Copy, Debug)]
struct Packet<'a> {
    source: IpAddr,
    destination: IpAddr,
    payload: Rest<'a>,
}

#[derive(Clone, Copy, Debug)]
struct Rest<'a> {
    /// What was captured of it, and belongs to it.
    bytes: &'a [u8],
    /// How long it is by the headers before it.
    claimed: usize,
}

impl<'a> Rest<'a> {
    #[inline]
    fn take<const N: usize>(&mut self) -> Result<&'a [u8; N], Skipped> {
        let header = self.bytes.first_chunk::<N>();
        self.skip(N)?;
        header.ok_or(Skipped::CutOff)
    }

    #[inline]
    fn skip(&mut self, bytes: usize) -> Result<(), Skipped> {
        if self.claimed != ip::UNKNOWN {
            self.claimed = self.claimed.checked_sub(bytes).ok_or(Skipped::Malformed)?;
        }
        self.bytes = self.bytes.get(bytes..).ok_or(Skipped::CutOff)?;
        Ok(())
    }
}
