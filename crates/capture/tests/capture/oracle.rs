//! Other readers of the same bytes: pcap-parser for captures, etherparse for packets.

use std::io::Cursor;
use std::net::IpAddr;
use std::panic::catch_unwind;

use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use netfathom_capture::decode;
use netfathom_capture::packet::LinkType;
use pcap_parser::{Block, PcapBlockOwned};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::made::*;

/// Original length and data of the packets that pcap-parser reads, up to an error.
fn pcap_parser(file: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut packets = Vec::new();
    let Ok(mut reader) = pcap_parser::create_reader(1 << 14, Cursor::new(file.to_vec())) else {
        return packets;
    };
    loop {
        match reader.next() {
            Ok((bytes, block)) => {
                match block {
                    PcapBlockOwned::Legacy(packet) => packets.push((packet.origlen, packet.data.to_vec())),
                    // Its data are with what fills them up to a multiple of four.
                    PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                        packets.push((packet.origlen, packet.data[..packet.caplen as usize].to_vec()));
                    }
                    _ => {}
                }
                reader.consume(bytes);
            }
            // The end, or damage: all of the file has been read at once.
            Err(_) => return packets,
        }
    }
}

fn data() -> impl Strategy<Value = Vec<Vec<u8>>> {
    vec(vec(any::<u8>(), 0..200), 0..20)
}

fn pcap(is_big: bool, magic: u32, packets: &[Vec<u8>]) -> Vec<u8> {
    let file = Bytes::new(is_big).pcap(magic, 1);
    packets.iter().fold(file, |file, data| file.record(9, 999, data)).bytes
}

fn pcapng(is_big: bool, packets: &[Vec<u8>]) -> Vec<u8> {
    let file = Bytes::new(is_big).section().interface(1, 0, None).interface(101, 0, Some(9));
    let with_packet = |file: Bytes, (place, data): (usize, &Vec<u8>)| {
        let file = file.enhanced(place as u32 % 2, 7, data);
        // One that no reader knows; without a body pcap-parser 0.17 ends there.
        if place % 3 == 2 { file.block(0x8000_0001, |body| body.u32(0).raw(data)) } else { file }
    };
    packets.iter().enumerate().fold(file, with_packet).bytes
}

proptest! {
    #[test]
    fn captures_as_pcap_parser_reads_them(
        is_big: bool,
        kind in 0..3,
        packets in data(),
        (cut, flip) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        harm in 0..4,
    ) {
        let mut file = match kind {
            0 => pcap(is_big, MICROSECONDS, &packets),
            1 => pcap(is_big, NANOSECONDS, &packets),
            _ => pcapng(is_big, &packets),
        };
        if harm == 1 {
            file.truncate(cut.index(file.len()));
        } else if harm == 2 {
            let at = flip.index(file.len());
            file[at] ^= 0x41;
        }
        let (ours, error) = read(&file[..]);
        let ours: Vec<_> = ours.into_iter().map(|got| (got.original_bytes, got.data)).collect();
        match (harm, catch_unwind(|| pcap_parser(&file))) {
            // pcap-parser 0.17 panics over the length of some damaged process information blocks.
            (2, Err(_)) => {}
            // Ours is the stricter one: what it reads before it finds damage, both read.
            (2, Ok(theirs)) => {
                prop_assert!(theirs.starts_with(&ours), "{} {}, {error:?}", ours.len(), theirs.len());
            }
            (_, theirs) => prop_assert_eq!(&ours, &theirs.unwrap()),
        }
        if harm == 0 || harm == 3 {
            prop_assert!(error.is_none(), "{error:?}");
            let written: Vec<_> = packets.iter().map(|data| (data.len() as u32, data.clone())).collect();
            prop_assert_eq!(ours, written);
        }
    }
}

/// Source, destination, their ports, and the payload.
type Seen = ((IpAddr, u16), (IpAddr, u16), Vec<u8>);

fn etherparse(frame: &[u8]) -> Option<Seen> {
    let packet = LaxSlicedPacket::from_ethernet(frame).ok()?;
    let Some(TransportSlice::Udp(udp)) = packet.transport else { return None };
    let (source, destination) = match packet.net? {
        LaxNetSlice::Ipv4(ip) => (ip.header().source_addr().into(), ip.header().destination_addr().into()),
        LaxNetSlice::Ipv6(ip) => (ip.header().source_addr().into(), ip.header().destination_addr().into()),
        LaxNetSlice::Arp(_) => return None,
    };
    Some(((source, udp.source_port()), (destination, udp.destination_port()), udp.payload().to_vec()))
}

fn ours(frame: &[u8]) -> Option<Seen> {
    let datagram = decode::udp(LinkType::Ethernet, frame).ok()?;
    let end = |end: std::net::SocketAddr| (end.ip(), end.port());
    Some((end(datagram.source), end(datagram.destination), datagram.payload.to_vec()))
}

/// What may stand between the headers of a frame.
#[derive(Clone, Debug)]
struct Shape {
    tags: Vec<u16>,
    is_v6: bool,
    /// Words of IPv4 options.
    options: u8,
    fragment: u16,
    /// Kinds of IPv6 extension headers, and how long they are.
    extensions: Vec<(u8, u8)>,
    protocol: u8,
    ends: [u8; 32],
    ports: [u8; 4],
    payload: Vec<u8>,
    padding: usize,
}

impl Shape {
    fn frame(&self) -> Vec<u8> {
        let udp = [&self.ports[..], &(8 + self.payload.len() as u16).to_be_bytes(), &[0, 0], &self.payload];
        let udp = udp.concat();
        let mut frame = vec![2; 12];
        for tag in &self.tags {
            frame.extend(tag.to_be_bytes());
            frame.extend([0, 7]);
        }
        frame.extend(if self.is_v6 { [0x86, 0xdd] } else { [8, 0] });
        frame.extend(if self.is_v6 { self.v6(&udp) } else { self.v4(&udp) });
        frame.resize(frame.len() + self.padding, 0xee);
        frame
    }

    fn v4(&self, inside: &[u8]) -> Vec<u8> {
        let length = 20 + 4 * usize::from(self.options) + inside.len();
        let mut packet = vec![0x45 + self.options, 0];
        packet.extend((length as u16).to_be_bytes());
        packet.extend([0, 1]);
        packet.extend(self.fragment.to_be_bytes());
        packet.extend([64, self.protocol, 0, 0]);
        packet.extend(&self.ends[..8]);
        packet.resize(20 + 4 * usize::from(self.options), 1);
        [&packet, inside].concat()
    }

    fn v6(&self, inside: &[u8]) -> Vec<u8> {
        let (mut next, mut inside) = (self.protocol, inside.to_vec());
        for &(kind, more) in self.extensions.iter().rev() {
            let mut header = vec![next, more];
            header.resize(8 + 8 * usize::from(more), 0);
            match kind {
                44 => {
                    header = vec![next, 0, (self.fragment >> 8) as u8, self.fragment as u8, 0, 0, 0, 1];
                }
                // Its length counts words, less two.
                51 => header[1] = more * 2,
                _ => {}
            }
            next = kind;
            inside = [header, inside].concat();
        }
        let mut packet = vec![0x60, 0, 0, 0];
        packet.extend((inside.len() as u16).to_be_bytes());
        packet.extend([next, 64]);
        packet.extend(self.ends);
        [packet, inside].concat()
    }
}

prop_compose! {
    fn shape()(
        tags in vec(prop::sample::select(vec![0x8100u16, 0x88a8, 0x9100]), 0..3),
        is_v6: bool,
        options in 0u8..11,
        fragment in prop::sample::select(vec![0u16, 0, 0, 0, 0x2000, 0x08]),
        extensions in vec((prop::sample::select(vec![43u8, 60, 44, 51]), 1u8..4), 0..4),
        protocol in prop::sample::select(vec![17u8, 17, 17, 17, 6, 58]),
        ends: [u8; 32],
        ports: [u8; 4],
        payload in vec(any::<u8>(), 0..60),
        padding in 0usize..8,
    ) -> Shape {
        Shape { tags, is_v6, options, fragment, extensions, protocol, ends, ports, payload, padding }
    }
}

proptest! {
    #[test]
    fn packets_as_etherparse_reads_them(
        shape in shape(),
        (cut, flip) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        harm in 0..3,
    ) {
        let mut frame = shape.frame();
        if harm == 1 {
            frame.truncate(cut.index(frame.len()));
        } else if harm == 2 {
            let at = flip.index(frame.len());
            frame[at] ^= 0x11;
        }
        let (ours, theirs) = (ours(&frame), etherparse(&frame));
        match (&ours, &theirs) {
            // A flipped bit makes headers contradict each other, which etherparse lets pass here.
            (None, Some(_)) if harm == 2 => {}
            (Some(_), None) if harm == 2 => prop_assert!(false, "etherparse has none"),
            _ => prop_assert_eq!(&ours, &theirs),
        }
        let is_fragment = shape.fragment != 0 && (!shape.is_v6 || shape.extensions.iter().any(|e| e.0 == 44));
        if harm == 0 {
            prop_assert_eq!(ours.is_some(), shape.protocol == 17 && !is_fragment);
        }
    }
}
