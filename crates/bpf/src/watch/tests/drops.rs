//! What the kernel drops, by its own reason.

use std::net::UdpSocket;

use netfathom_model::record::WatchDrop;

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
    let room =
        WatchDrop { direction: Direction::Rx, reason: "SOCKET_RCVBUFF".into(), packets: SENT - received };
    assert_eq!(watch.drops().unwrap(), [room]);
}

#[test]
fn connections_that_begin_and_end_drop_nothing() {
    needs_root!();
    let (listener, watch) = listening();
    (0..20).for_each(|_| exchange(&listener, 3, || ()));
    assert_eq!(watch.drops().unwrap(), []);
}
