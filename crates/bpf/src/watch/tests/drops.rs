//! What the kernel drops, by its own reason.

use std::net::UdpSocket;
use std::os::unix::net::UnixDatagram;

use netfathom_model::path::Direction::{Rx, Tx};
use netfathom_model::record::WatchDrop;
use netfathom_sys::netns::Namespace;
use netfathom_testkit::host;
use socket2::{Domain, Socket, Type};

use super::outgoing::done;
use super::send::set;
use super::*;
use crate::watch::drops::{HOOK, RECEIVER};

/// Linux 6.11; all reasons that the tests name are older.
pub(super) fn names_receivers() -> bool {
    tracepoint::arguments(HOOK).is_some_and(|n| n > RECEIVER)
}

#[test]
fn datagrams_that_find_no_room_are_dropped_for_that_reason() {
    needs_root!();
    if !names_receivers() {
        skip!("needs kfree_skb with the receiving socket: Linux 6.11");
    }
    const SENT: u64 = 500;
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    // The kernel's least.
    set(&server, libc::SOL_SOCKET, libc::SO_RCVBUF, 1);
    server.set_nonblocking(true).unwrap();
    let mut watch = attach(Some(server.local_addr().unwrap().port()));
    watch.follow_datagrams().unwrap();
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    (0..SENT).for_each(|_| assert_eq!(client.send_to(&[7; 64], server.local_addr().unwrap()).unwrap(), 64));
    let received = std::iter::from_fn(|| server.recv(&mut [0; 64]).ok()).count() as u64;
    assert!((1..SENT).contains(&received), "{received}");
    let room = WatchDrop { direction: Rx, reason: "SOCKET_RCVBUFF".into(), packets: SENT - received };
    assert_eq!(watch.drops().unwrap(), [room]);
}

/// False where that cannot be done.
fn drop_datagrams(of: &Namespace) -> bool {
    const RULES: [&str; 3] = [
        "nft add table inet t",
        "nft add chain inet t c { type filter hook input priority 0 ; }",
        "nft add rule inet t c meta l4proto udp drop",
    ];
    RULES.iter().all(|rule| done(of, rule))
}

fn dropped(packets: u64) -> WatchDrop {
    WatchDrop { direction: Rx, reason: "NETFILTER_DROP".into(), packets }
}

/// Before the kernel looks for a socket. Of a marked one, those of its host alone.
#[test]
fn datagrams_that_netfilter_drops_are_known_by_their_port() {
    needs_root!();
    const SENT: u64 = 20;
    let hosts = [host(), host()];
    if !hosts.iter().all(drop_datagrams) {
        return;
    }
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let bound = || UdpSocket::bind(address).unwrap();
        let server = hosts[0].run(bound).unwrap();
        let clients = hosts.each_ref().map(|host| host.run(bound).unwrap());
        let at = server.local_addr().unwrap();
        let other = SocketAddr::new(at.ip(), at.port() ^ 1);
        for by_port in [true, false] {
            let mut watch = attach(by_port.then_some(at.port()));
            if by_port {
                watch.follow_datagrams().unwrap();
            } else {
                watch.mark_datagrams(&server).unwrap();
            }
            let send = |client: &UdpSocket, to: SocketAddr| {
                assert_eq!(client.send_to(&[7; 64], to).unwrap(), 64);
            };
            for client in &clients[..if by_port { 1 } else { 2 }] {
                (0..SENT).for_each(|_| [at, other].into_iter().for_each(|to| send(client, to)));
            }
            thread::sleep(PAUSE);
            assert_eq!(watch.drops().unwrap(), [dropped(SENT)], "{address} {by_port}");
        }
    }
}

/// It had none when it was marked.
#[test]
fn the_port_that_a_client_gets_as_it_sends_is_known() {
    needs_root!();
    if tracepoint::is_missing(SENDING) {
        skip!("needs tcp_sendmsg_locked: Linux 6.16");
    }
    const SENT: u64 = 20;
    let host = host();
    if !drop_datagrams(&host) {
        return;
    }
    let server = host.run(|| UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap();
    let client = host.run(|| Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap()).unwrap();
    let client = UdpSocket::from(client);
    let mut watch = Watch::attach(Selection::Marked, &[Rx, Tx], Detail::default()).unwrap();
    watch.mark_datagrams(&client).unwrap();
    let at = server.local_addr().unwrap();
    assert_eq!(client.send_to(&[7; 64], at).unwrap(), 64);
    let client = SocketAddr::new(at.ip(), client.local_addr().unwrap().port());
    (0..SENT).for_each(|_| assert_eq!(server.send_to(&[7; 64], client).unwrap(), 64));
    thread::sleep(PAUSE);
    assert_eq!(watch.drops().unwrap(), [dropped(SENT)]);
}

#[test]
fn a_port_that_cannot_be_found_out_is_an_error() {
    needs_root!();
    let error = attach(None).mark_datagrams(&UnixDatagram::unbound().unwrap()).unwrap_err();
    assert!(error.to_string().starts_with("cannot find out the port of a socket for "), "{error}");
}

#[test]
fn connections_that_begin_and_end_drop_nothing() {
    needs_root!();
    let (listener, watch) = listening();
    (0..20).for_each(|_| exchange(&listener, 3, || ()));
    assert_eq!(watch.drops().unwrap(), []);
}
