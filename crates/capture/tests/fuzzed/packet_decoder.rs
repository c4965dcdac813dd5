//! Any bytes as a packet: the first is the link type, the others are the packet.

use netfathom_capture::decode::{self, Skipped};
use netfathom_capture::packet::LinkType;

const LINKS: [LinkType; 9] = [
    LinkType::Ethernet,
    LinkType::Sll,
    LinkType::Sll2,
    LinkType::Raw,
    LinkType::Ipv4,
    LinkType::Ipv6,
    LinkType::Null,
    LinkType::Loop,
    LinkType::Other(147),
];

pub fn run(data: &[u8]) {
    let Some((choice, packet)) = data.split_first() else { return };
    let link = LINKS[usize::from(*choice) % LINKS.len()];
    let whole = decode::udp(link, packet);
    match whole {
        Ok(datagram) => {
            super::is_part(datagram.payload, packet);
            assert_eq!(datagram.source.is_ipv4(), datagram.destination.is_ipv4());
        }
        Err(skipped) => assert_eq!(skipped == Skipped::UnknownLink, matches!(link, LinkType::Other(_))),
    }
    // Captured but for the last byte: less of the same, or cut off, or what it was anyway.
    let Some((_, shorter)) = packet.split_last() else { return };
    match (whole, decode::udp(link, shorter)) {
        (Ok(whole), Ok(less)) => {
            assert_eq!(
                (whole.source, whole.destination, whole.way),
                (less.source, less.destination, less.way)
            );
            assert!(whole.payload.starts_with(less.payload));
        }
        (Ok(_), Err(less)) => assert_eq!(less, Skipped::CutOff),
        (Err(_), Ok(_)) => panic!("less shows more"),
        (Err(whole), Err(less)) => assert!(less == whole || less == Skipped::CutOff),
    }
}
