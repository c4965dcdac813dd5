//! Datagrams out of packets of every link type, header by header.

use netfathom_capture::decode::{Datagram, Skipped, udp};
use netfathom_capture::packet::{LinkType, PacketDirection};

use LinkType::{Ethernet, Ipv4, Ipv6, Loop, Null, Raw, Sll, Sll2};

const PAYLOAD: &[u8] = b"payload";

fn datagram() -> Vec<u8> {
    [&[3, 232, 7, 208, 0, 15, 0, 0][..], PAYLOAD].concat()
}

/// An IPv4 packet around what follows its options.
fn v4(protocol: u8, options: &[u8], fragment: u16, inside: &[u8]) -> Vec<u8> {
    let bytes = 20 + options.len();
    let mut packet = vec![0x40 | (bytes / 4) as u8, 0];
    packet.extend(((bytes + inside.len()) as u16).to_be_bytes());
    packet.extend([0, 1]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    [&packet, options, inside].concat()
}

fn v6(next: u8, inside: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((inside.len() as u16).to_be_bytes());
    packet.extend([next, 64]);
    packet.extend([&[0xfd; 15][..], &[1], &[0xfd; 15], &[2]].concat());
    [&packet, inside].concat()
}

fn ethernet(kinds: &[u16], inside: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    for (place, kind) in kinds.iter().enumerate() {
        if place > 0 {
            frame.extend([0, 5]);
        }
        frame.extend(kind.to_be_bytes());
    }
    [&frame, inside].concat()
}

/// Linux cooked, version 1.
fn sll(packet_type: u8, hardware: u16, kind: u16, inside: &[u8]) -> Vec<u8> {
    let mut head = vec![0, packet_type];
    head.extend(hardware.to_be_bytes());
    head.extend([0; 10]);
    head.extend(kind.to_be_bytes());
    [&head, inside].concat()
}

/// Linux cooked, version 2.
fn sll2(packet_type: u8, hardware: u16, kind: u16, inside: &[u8]) -> Vec<u8> {
    let mut head = kind.to_be_bytes().to_vec();
    head.extend([0, 0, 0, 0, 0, 2]);
    head.extend(hardware.to_be_bytes());
    head.extend([packet_type, 0]);
    head.extend([0; 8]);
    [&head, inside].concat()
}

fn found(link: LinkType, packet: &[u8]) -> Datagram<'_> {
    let datagram = udp(link, packet).unwrap_or_else(|skipped| panic!("{link:?}: {skipped:?} {packet:02x?}"));
    assert_eq!((datagram.source.port(), datagram.destination.port()), (1000, 2000));
    let expected = if datagram.source.is_ipv4() { ["10.0.0.1", "10.0.0.2"] } else { V6_ENDS };
    assert_eq!([datagram.source.ip(), datagram.destination.ip()].map(|ip| ip.to_string()), expected);
    datagram
}

const V6_ENDS: [&str; 2] =
    ["fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fd01", "fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fd02"];

#[test]
fn every_link_type() {
    let (four, six) = (v4(17, &[], 0, &datagram()), v6(17, &datagram()));
    let family = |bytes: [u8; 4], inside: &[u8]| [&bytes, inside].concat();
    for (link, packet, way) in [
        (Ethernet, ethernet(&[0x800], &four), None),
        (Ethernet, ethernet(&[0x86dd], &six), None),
        (Ethernet, ethernet(&[0x8100, 0x800], &four), None),
        (Ethernet, ethernet(&[0x88a8, 0x8100, 0x86dd], &six), None),
        (Ethernet, ethernet(&[0x9100, 0x9100, 0x8100, 0x800], &four), None),
        (Sll, sll(0, 1, 0x800, &four), Some(PacketDirection::In)),
        (Sll, sll(4, 65534, 0x86dd, &six), Some(PacketDirection::Out)),
        (Sll, sll(3, 1, 0x8100, &[&[0, 5, 8, 0], &four[..]].concat()), Some(PacketDirection::In)),
        (Sll, sll(9, 1, 0x800, &four), None),
        (Sll2, sll2(4, 1, 0x800, &four), Some(PacketDirection::Out)),
        (Sll2, sll2(1, 1, 0x86dd, &six), Some(PacketDirection::In)),
        (Sll2, sll2(2, 1, 0x8100, &[&[0, 5, 8, 0], &four[..]].concat()), Some(PacketDirection::In)),
        (Raw, four.clone(), None),
        (Raw, six.clone(), None),
        (Ipv4, four.clone(), None),
        (Ipv6, six.clone(), None),
        (Null, family([2, 0, 0, 0], &four), None),
        (Null, family([0, 0, 0, 2], &four), None),
        (Null, family([24, 0, 0, 0], &six), None),
        (Null, family([0, 0, 0, 28], &six), None),
        (Null, family([30, 0, 0, 0], &six), None),
        (Null, family([10, 0, 0, 0], &six), None),
        (Loop, family([0, 0, 0, 2], &four), None),
        (Loop, family([0, 0, 0, 24], &six), None),
    ] {
        let datagram = found(link, &packet);
        assert_eq!((datagram.payload, datagram.cut, datagram.way), (PAYLOAD, false, way), "{link:?}");
        // However much of it was captured, it is never taken for anything else.
        for captured in 0..packet.len() {
            match udp(link, &packet[..captured]) {
                Ok(less) => {
                    assert!(less.cut && packet.len() - captured <= PAYLOAD.len());
                    assert_eq!(less.payload, &PAYLOAD[..PAYLOAD.len() - (packet.len() - captured)]);
                }
                Err(skipped) => assert_eq!(skipped, Skipped::CutOff, "{link:?}, {captured} bytes"),
            }
        }
    }
}

#[test]
fn headers_between() {
    let udp = datagram();
    let eight = |next: u8, more: u8| [&[next, more][..], &vec![0; 6 + 8 * usize::from(more)]].concat();
    let authentication = |next: u8| [&[next, 4][..], &[0; 22]].concat();
    let options = v4(17, &[1; 40], 0, &udp);
    let whole = v6(44, &[&[17, 0, 0, 0, 0, 0, 0, 9], &udp[..]].concat());
    let chain = [eight(43, 1), eight(60, 0), eight(51, 2), authentication(44), eight(17, 0), udp.clone()];
    for packet in [
        options,
        v4(51, &[], 0, &[authentication(17), udp.clone()].concat()),
        v4(17, &[], 0x4000, &udp),
        whole,
        v6(0, &chain.concat()),
    ] {
        assert_eq!(found(Raw, &packet).payload, PAYLOAD);
        assert!(!found(Raw, &packet).cut);
    }
}

#[test]
fn what_follows_a_datagram_is_not_of_it() {
    let mut padded = ethernet(&[0x800], &v4(17, &[], 0, &datagram()));
    padded.extend([0xee; 20]);
    assert_eq!(found(Ethernet, &padded).payload, PAYLOAD);
    let with_rest = v4(17, &[], 0, &[datagram(), vec![0xee; 9]].concat());
    assert_eq!(found(Ipv4, &with_rest).payload, PAYLOAD);
}

#[test]
fn lengths_that_offload_leaves_open() {
    let mut four = v4(17, &[], 0, &datagram());
    four[2..4].fill(0);
    let mut six = v6(17, &datagram());
    six[4..6].fill(0);
    for (mut packet, udp_length) in [(four, 24), (six, 44)] {
        assert_eq!(found(Raw, &packet).payload, PAYLOAD);
        packet[udp_length..udp_length + 2].fill(0);
        assert_eq!(found(Raw, &packet).payload, PAYLOAD);
    }
}

#[test]
fn what_is_skipped() {
    use Skipped::*;
    let udp_of = |length: u8| [&[3, 232, 7, 208, 0, length, 0, 0][..], PAYLOAD].concat();
    let four = v4(17, &[], 0, &datagram());
    let fragment = |next: u8, bits: u8| v6(44, &[&[next, 0, 0, bits, 0, 0, 0, 9], &datagram()[..]].concat());
    let changed = |at: usize, byte: u8| {
        let mut packet = four.clone();
        packet[at] = byte;
        packet
    };
    for (name, link, packet, why) in [
        ("nothing", Ethernet, vec![], CutOff),
        ("ARP", Ethernet, ethernet(&[0x806], &[0; 28]), NotUdp),
        ("802.3", Ethernet, ethernet(&[40], &[0; 40]), NotUdp),
        ("TCP", Ipv4, v4(6, &[], 0, &[0; 20]), NotUdp),
        ("a fragment of TCP", Ipv4, v4(6, &[], 0x2000, &[0; 20]), NotUdp),
        ("the first fragment", Ipv4, v4(17, &[], 0x2000, &datagram()), Fragment),
        ("the last fragment", Ipv4, v4(17, &[], 185, &datagram()), Fragment),
        ("ICMPv6", Ipv6, v6(58, &[0; 8]), NotUdp),
        ("no next header", Ipv6, v6(59, &[]), NotUdp),
        ("the first fragment, 6", Ipv6, fragment(17, 1), Fragment),
        ("the last fragment, 6", Ipv6, fragment(17, 8), Fragment),
        ("a fragment with options", Ipv6, fragment(60, 8), Fragment),
        ("a fragment of TCP, 6", Ipv6, fragment(6, 8), NotUdp),
        ("version 6 as 4", Ipv4, v6(17, &datagram()), Malformed),
        ("version 4 as 6", Ethernet, ethernet(&[0x86dd], &four), Malformed),
        ("version 5", Raw, changed(0, 0x55), Malformed),
        ("a header of 16 bytes", Ipv4, changed(0, 0x44), Malformed),
        ("shorter than its header", Ipv4, changed(3, 19), Malformed),
        ("no room for UDP", Ipv4, changed(3, 27), Malformed),
        ("UDP longer than IP", Ipv4, v4(17, &[], 0, &udp_of(16)), Malformed),
        ("UDP of 7 bytes", Ipv4, v4(17, &[], 0, &udp_of(7)), Malformed),
        ("UDP of 0 bytes", Ipv6, v6(17, &udp_of(0)), Malformed),
        ("an extension beyond IPv6", Ipv6, v6(0, &[17, 1, 0, 0, 0, 0, 0, 0]), Malformed),
        ("netlink", Sll, sll(4, 824, 0x800, &four), NotUdp),
        ("GRE", Sll2, sll2(4, 778, 0x800, &four), NotUdp),
        ("AppleTalk", Null, [&[16, 0, 0, 0], &four[..]].concat(), NotUdp),
        ("little loop", Loop, [&[2, 0, 0, 0], &four[..]].concat(), NotUdp),
        ("USB", LinkType::Other(220), four.clone(), UnknownLink),
    ] {
        assert_eq!(udp(link, &packet), Err(why), "{name}");
    }
}
