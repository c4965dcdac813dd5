use std::net::UdpSocket;
use std::time::{Duration, Instant};

use netfathom_testkit::{needs, needs_root};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::{RouteHeader, RouteProtocol, RouteScope};

use super::*;
use crate::lab::Lab;

/// `lo` has this number in every namespace.
const LOOPBACK: u32 = 1;

#[test]
fn our_own_addresses_have_no_hardware_addresses() {
    let way = to(Ipv4Addr::LOCALHOST.into()).unwrap();
    assert_eq!(way.index, LOOPBACK);
    assert_eq!((way.source_mac, way.destination_mac), ([0; 6], [0; 6]));
    assert_eq!(way.source, IpAddr::from(Ipv4Addr::LOCALHOST));
    if link::ipv6_available() {
        assert_eq!(to(Ipv6Addr::LOCALHOST.into()).unwrap().index, LOOPBACK);
    }
}

#[test]
fn a_static_neighbor_is_known() {
    needs_root!();
    let lab = Lab::create();
    let expected = Route {
        index: lab.links[0].index,
        source: Lab::address(0),
        source_mac: lab.links[0].mac,
        destination_mac: lab.links[1].mac,
    };
    let ways = lab.hosts[0].run(|| [to(Lab::address(1)).unwrap(), to(Lab::address(0)).unwrap()]).unwrap();
    assert_eq!(ways[0], expected);
    assert_eq!((ways[1].index, ways[1].destination_mac), (LOOPBACK, [0; 6]));
}

#[test]
fn an_ipv6_neighbour_is_found_beside_others() {
    needs_root!();
    needs!(link::ipv6_available(), "needs IPv6");
    let lab = Lab::create();
    let host = |number| IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, number));
    let ways = lab.hosts[0].run(|| {
        link::add_address(&lab.links[0], host(1), 64).unwrap();
        // More than one receive call brings, so the list has parts.
        (2..3000).for_each(|number| {
            let mac = [2, 0, 0, 0, (number >> 8) as u8, number as u8];
            link::add_neighbour(&lab.links[0], host(number), mac).unwrap();
        });
        [to(host(2)).unwrap(), to(host(2999)).unwrap()]
    });
    let [first, last] = ways.unwrap();
    assert_eq!((first.source, first.destination_mac), (host(1), [2, 0, 0, 0, 0, 2]));
    assert_eq!(last.destination_mac, [2, 0, 0, 0, 11, 183]);
}

/// A route on host 0 to 192.0.2.0/24 by way of host 1.
fn add_router(index: u32) {
    let mut message = RouteMessage::default();
    message.header.address_family = AddressFamily::Inet;
    message.header.destination_prefix_length = 24;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = RouteScope::Universe;
    message.header.kind = RouteType::Unicast;
    message.attributes = vec![
        RouteAttribute::Destination(RouteAddress::Inet(Ipv4Addr::new(192, 0, 2, 0))),
        RouteAttribute::Gateway(Lab::address(1).into()),
        RouteAttribute::Oif(index),
    ];
    rtnetlink::change(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL).unwrap();
}

#[test]
fn behind_a_router_it_is_the_router_that_is_asked_for() {
    needs_root!();
    let lab = Lab::create();
    let beyond = || {
        add_router(lab.links[0].index);
        to(Ipv4Addr::new(192, 0, 2, 77).into()).unwrap()
    };
    let way = lab.hosts[0].run(beyond).unwrap();
    assert_eq!(way.destination_mac, lab.links[1].mac);
}

#[test]
fn without_a_way_the_error_says_what_to_do() {
    needs_root!();
    let lab = Lab::create();
    let errors = lab.hosts[0]
        .run(|| ["203.0.113.9", "198.18.0.3"].map(|a| to(a.parse().unwrap()).unwrap_err().to_string()))
        .unwrap();
    assert!(errors[0].contains("give this host a route"), "{errors:?}");
    assert!(errors[1].contains("of kind broadcast"), "{errors:?}");
}

/// Without a static entry, the neighbor is unknown until the kernel resolves it for the first message.
#[test]
fn a_first_message_makes_the_neighbour_known() {
    needs_root!();
    let lab = Lab::with_arp();
    let way = || to(Lab::address(1));
    let error = lab.hosts[0].run(way).unwrap().unwrap_err();
    assert!(
        matches!(&error, RouteError::Neighbour { neighbour, .. } if *neighbour == Lab::address(1)),
        "{error}"
    );
    assert!(error.to_string().contains("send it one message"), "{error}");
    let socket = lab.hosts[0].run(|| UdpSocket::bind((Lab::address(0), 0)).unwrap()).unwrap();
    socket.send_to(&[0], (Lab::address(1), 9)).unwrap();
    let deadline = Instant::now() + Duration::from_secs(2);
    let found = loop {
        match lab.hosts[0].run(way).unwrap() {
            Err(RouteError::Neighbour { .. }) if Instant::now() < deadline => {}
            other => break other,
        }
    };
    assert_eq!(found.unwrap().destination_mac, lab.links[1].mac);
}
