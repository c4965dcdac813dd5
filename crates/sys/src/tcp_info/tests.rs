use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::*;
use crate::endpoint::tests::{deafen, streams};

/// Waits for the condition and returns the information then; the peer's kernel may delay an ACK for 40 ms.
fn once(socket: &TcpStream, so: impl Fn(&TcpInfo) -> bool) -> TcpInfo {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let info = read(socket.as_fd()).unwrap();
        if so(&info) {
            return info;
        }
        assert!(Instant::now() < deadline, "{info:?}");
    }
}

#[test]
fn the_state_of_a_connection_is_updated() {
    let (mut sender, _peer) = streams();
    sender.write_all(&[0; 10_000]).unwrap();
    let going = read(sender.as_fd()).unwrap();
    assert!(!going.end_acknowledged && going.mss_bytes > 500 && going.cwnd > 0, "{going:?}");
    assert!(going.peer_window_bytes.is_some_and(|w| w > 10_000), "{going:?}");
    sender.shutdown(Shutdown::Write).unwrap();
    once(&sender, |info| info.end_acknowledged);
}

#[test]
fn what_one_end_counts_is_what_the_other_does() {
    let (mut sender, mut peer) = streams();
    for _ in 0..10 {
        sender.write_all(&[0; 10_000]).unwrap();
        peer.read_exact(&mut [0; 10_000]).unwrap();
    }
    // The start of the connection counts as one.
    let out = once(&sender, |info| info.acknowledged_bytes == Some(100_001));
    let there = read(peer.as_fd()).unwrap();
    assert_eq!((out.retransmits, there.received_bytes), (0, Some(100_000)));
    assert!(out.segments_out.is_some_and(|n| n >= 10), "{out:?}");
    assert_eq!(out.congestion, Congestion::Other);
    assert_eq!(out.peer_window_bytes, there.window_bytes);
}

#[test]
fn a_peer_that_hears_nothing_makes_a_loss() {
    let (mut sender, peer) = streams();
    deafen(&peer);
    sender.write_all(&[0; 1000]).unwrap();
    let lost = once(&sender, |info| info.congestion == Congestion::Loss);
    assert!(lost.retransmits >= 1, "{lost:?}");
    assert_eq!((lost.unacknowledged, lost.acknowledged_bytes), (1, Some(1)));
}

#[test]
fn what_an_older_kernel_does_not_write_is_missing() {
    let raw = Raw { min_rtt_us: 9, bytes_received: 9, ..Raw::default() };
    let old = from_raw(&raw, offset_of!(Raw, pacing_rate));
    assert_eq!((old.limits, old.peer_window_bytes, old.min_rtt_us), (None, None, None));
    assert_eq!((old.unsent_bytes, old.received_bytes), (None, None));
    // Half a field is none.
    assert_eq!(from_raw(&raw, offset_of!(Raw, bytes_received) + 4).received_bytes, None);
    assert_eq!(from_raw(&raw, offset_of!(Raw, segs_out)).received_bytes, Some(9));
    assert!(from_raw(&raw, size_of::<Raw>()).limits.is_some());
}

#[test]
fn what_stands_for_nothing_is_missing() {
    let info = from_raw(&Raw { min_rtt_us: u32::MAX, ..Raw::default() }, size_of::<Raw>());
    assert_eq!((info.min_rtt_us, info.receiver_rtt_us), (None, None));
}
