//! Down to UDP: IPv4 with options, IPv6 with extension headers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::link::Version;
use super::{Packet, Rest, Skipped};

/// The length of a packet with length field 0. Such a packet was captured before the card segments it
/// (segmentation offload), and is longer than the field can hold.
pub(super) const UNKNOWN: usize = usize::MAX;

/// Protocol numbers (IANA).
const HOP_BY_HOP: u8 = 0;
const UDP: u8 = 17;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;

/// More fragments, and the offset of this one, in the 16 bits that IPv4 has for them.
const V4_FRAGMENT: u16 = 0x3fff;
/// The same of IPv6.
const V6_FRAGMENT: u16 = 0xfff9;

#[inline]
pub(super) fn packet(version: Version, data: &[u8]) -> Result<Packet<'_>, Skipped> {
    match (data.first().ok_or(Skipped::CutOff)? >> 4, version) {
        (4, Version::V4 | Version::Any) => v4(data),
        (6, Version::V6 | Version::Any) => v6(data),
        _ => Err(Skipped::Malformed),
    }
}

#[inline]
fn v4(data: &[u8]) -> Result<Packet<'_>, Skipped> {
    let header = data.first_chunk::<20>().ok_or(Skipped::CutOff)?;
    let header_bytes = usize::from(header[0] & 0xf) * 4;
    if header_bytes < header.len() {
        return Err(Skipped::Malformed);
    }
    let mut rest = rest(data, usize::from(u16::from_be_bytes([header[2], header[3]])));
    rest.skip(header_bytes)?;
    let mut protocol = header[9];
    let is_fragment = u16::from_be_bytes([header[6], header[7]]) & V4_FRAGMENT != 0;
    if protocol == AUTHENTICATION && !is_fragment {
        protocol = authentication(&mut rest)?;
    }
    if protocol != UDP {
        return Err(Skipped::NotUdp);
    }
    if is_fragment {
        return Err(Skipped::Fragment);
    }
    let address =
        |at| IpAddr::V4(Ipv4Addr::from([header[at], header[at + 1], header[at + 2], header[at + 3]]));
    Ok(Packet { source: address(12), destination: address(16), payload: rest })
}

#[inline]
fn v6(data: &[u8]) -> Result<Packet<'_>, Skipped> {
    let mut rest = Rest { bytes: data, claimed: UNKNOWN };
    let header = rest.take::<40>()?;
    let mut rest = self::rest(rest.bytes, usize::from(u16::from_be_bytes([header[4], header[5]])));
    let mut next = header[6];
    while next != UDP {
        next = extension(next, &mut rest)?;
    }
    let (_, addresses) = header.split_at(8);
    let address = |at: usize| {
        let octets = addresses[at..].first_chunk::<16>().copied().unwrap_or_default();
        IpAddr::V6(Ipv6Addr::from(octets))
    };
    Ok(Packet { source: address(0), destination: address(16), payload: rest })
}

/// Goes past an extension header, which has 8 bytes at least; gives the kind of the next one.
fn extension(kind: u8, rest: &mut Rest<'_>) -> Result<u8, Skipped> {
    match kind {
        HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS => {
            let &[next, more, ..] = rest.take::<8>()?;
            rest.skip(usize::from(more) * 8)?;
            Ok(next)
        }
        AUTHENTICATION => authentication(rest),
        FRAGMENT => {
            let &[next, _, high, low, ..] = rest.take::<8>()?;
            let is_whole = u16::from_be_bytes([high, low]) & V6_FRAGMENT == 0;
            // Whether a fragment of something else has UDP in the end, only the first one knows.
            match next {
                _ if is_whole => Ok(next),
                UDP | HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | AUTHENTICATION => Err(Skipped::Fragment),
                _ => Err(Skipped::NotUdp),
            }
        }
        _ => Err(Skipped::NotUdp),
    }
}

/// Skips an authentication header (RFC 4302). Its length field counts 32-bit words, minus two.
fn authentication(rest: &mut Rest<'_>) -> Result<u8, Skipped> {
    let &[next, words, ..] = rest.take::<8>()?;
    // (words + 2) * 4 bytes; 8 of them are already taken.
    rest.skip(usize::from(words) * 4)?;
    Ok(next)
}

/// What belongs to a packet, by its length field.
#[inline]
fn rest(data: &[u8], length: usize) -> Rest<'_> {
    match length {
        0 => Rest { bytes: data, claimed: UNKNOWN },
        length => Rest { bytes: data.get(..length).unwrap_or(data), claimed: length },
    }
}
