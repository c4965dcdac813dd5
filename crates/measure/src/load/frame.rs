//! A message as a whole frame, for engines that leave the stack out: headers that never
//! change are written once, and the checksum is completed from what does.

use std::net::{IpAddr, SocketAddr};

use etherparse::PacketBuilder;
use netfathom_model::message::{HEADER_BYTES, Header};

/// Ethernet and UDP; IP lies between.
const ETHERNET_BYTES: usize = 14;
const UDP_BYTES: usize = 8;
/// Where the checksum lies in a UDP header (RFC 768).
const UDP_CHECKSUM: usize = 6;
/// The first field of a message that changes: magic and flow before it do not.
const SEQUENCE: usize = 8;

/// The two ends of a way between neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameAddresses {
    pub source_mac: [u8; 6],
    /// That of the next host on the way.
    pub destination_mac: [u8; 6],
    pub source: SocketAddr,
    pub destination: SocketAddr,
    /// Routers that it may pass, and one more.
    pub hop_limit: u8,
}

/// A frame with everything in it that all messages of a trial share.
#[derive(Clone, Debug)]
pub struct Frame {
    bytes: Vec<u8>,
    message_at: usize,
    /// Ones' complement sum of all that the UDP checksum covers and that does not change.
    constant: u64,
}

impl Frame {
    /// A frame for messages of one flow with `size` bytes of UDP payload.
    ///
    /// # Panics
    /// If the ends are not of one family, or the size is not one of a message.
    pub fn new(ends: &FrameAddresses, flow: u32, size: usize) -> Self {
        let ethernet = PacketBuilder::ethernet2(ends.source_mac, ends.destination_mac);
        let (udp, ip_bytes) = match (ends.source.ip(), ends.destination.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                (ethernet.ipv4(from.octets(), to.octets(), ends.hop_limit), 20)
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                (ethernet.ipv6(from.octets(), to.octets(), ends.hop_limit), 40)
            }
            _ => panic!("a frame has ends of one family"),
        };
        let mut payload = vec![0; size];
        Header { flow, sequence: 0, intended_ns: 0, sent_ns: 0 }.write(&mut payload);
        let mut bytes = Vec::new();
        udp.udp(ends.source.port(), ends.destination.port())
            .write(&mut bytes, &payload)
            .expect("a message fits a packet, and memory takes it");
        let message_at = ETHERNET_BYTES + ip_bytes + UDP_BYTES;
        let at = message_at - UDP_BYTES + UDP_CHECKSUM;
        let constant = u64::from(!u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        Self { bytes, message_at, constant }
    }

    /// The frame, of a message with zeros in its changing fields.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Writes what changes into a frame that began as [`Frame::bytes`].
    ///
    /// # Panics
    /// If it is shorter.
    #[inline]
    pub fn fill(&self, header: &Header, frame: &mut [u8]) {
        header.write(&mut frame[self.message_at..]);
        let changing = &frame[self.message_at + SEQUENCE..self.message_at + HEADER_BYTES];
        let word = |half: &[u8]| u64::from(u32::from_be_bytes([half[0], half[1], half[2], half[3]]));
        let sum = changing.chunks_exact(4).map(word).fold(self.constant, |sum, word| sum + word);
        let at = self.message_at - UDP_BYTES + UDP_CHECKSUM;
        frame[at..at + 2].copy_from_slice(&complete(sum).to_be_bytes());
    }
}

/// The checksum of a sum (RFC 1071); one that is zero is written as all ones, for zero means
/// that there is none (RFC 768).
#[inline]
fn complete(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    match !(sum as u16) {
        0 => 0xffff,
        checksum => checksum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{SlicedPacket, TransportSlice};
    use proptest::prelude::*;

    fn ends(v6: bool) -> FrameAddresses {
        let (source, destination) = if v6 {
            ("[2001:2::1]:4000", "[2001:2::2]:5000")
        } else {
            ("198.18.0.1:4000", "198.18.0.2:5000")
        };
        FrameAddresses {
            source_mac: [2, 0, 0, 0, 0, 1],
            destination_mac: [2, 0, 0, 0, 0, 2],
            source: source.parse().unwrap(),
            destination: destination.parse().unwrap(),
            hop_limit: 1,
        }
    }

    /// The checksum that the library computes of the same packet, and the message in it.
    fn dissected(frame: &[u8]) -> (u16, u16, Option<Header>) {
        let packet = SlicedPacket::from_ethernet(frame).unwrap();
        let Some(TransportSlice::Udp(udp)) = packet.transport else { panic!("no UDP") };
        let computed = match packet.net.unwrap() {
            etherparse::NetSlice::Ipv4(ip) => {
                assert_eq!(ip.header().header_checksum(), ip.header().to_header().calc_header_checksum());
                let (from, to) = (ip.header().source(), ip.header().destination());
                udp.to_header().calc_checksum_ipv4_raw(from, to, udp.payload()).unwrap()
            }
            etherparse::NetSlice::Ipv6(ip) => {
                let (from, to) = (ip.header().source(), ip.header().destination());
                udp.to_header().calc_checksum_ipv6_raw(from, to, udp.payload()).unwrap()
            }
            _ => panic!("no IP"),
        };
        (udp.checksum(), computed, Header::read(udp.payload()))
    }

    proptest! {
        #[test]
        fn the_checksum_is_that_of_the_message(
            v6: bool, flow: u32, sequence: u64, intended_ns: u64, sent_ns: u64, size in 32usize..1400
        ) {
            let header = Header { flow, sequence, intended_ns, sent_ns };
            let template = Frame::new(&ends(v6), flow, size);
            let mut frame = template.bytes().to_vec();
            // What an earlier message left there must not matter.
            template.fill(&Header { sequence: !sequence, ..header }, &mut frame);
            template.fill(&header, &mut frame);
            let (written, computed, read) = dissected(&frame);
            prop_assert_eq!(written, computed);
            prop_assert_eq!(read, Some(header));
        }
    }

    #[test]
    fn no_checksum_is_never_written() {
        assert_eq!(complete(0xffff), 0xffff);
        assert_eq!(complete(0), 0xffff);
    }
}
