use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::*;
use crate::endpoint;
use crate::socket::set_option;

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (sender, listener.accept().unwrap().0)
}

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
    let (mut sender, _peer) = pair();
    sender.write_all(&[0; 10_000]).unwrap();
    let going = read(sender.as_fd()).unwrap();
    assert!(!going.end_acknowledged && going.mss_bytes > 500 && going.cwnd > 0, "{going:?}");
    assert!(going.peer_window_bytes.is_some_and(|w| w > 10_000), "{going:?}");
    sender.shutdown(Shutdown::Write).unwrap();
    once(&sender, |info| info.end_acknowledged);
}

#[test]
fn what_one_end_counts_is_what_the_other_does() {
    let (mut sender, mut peer) = pair();
    for _ in 0..10 {
        sender.write_all(&[0; 10_000]).unwrap();
        peer.read_exact(&mut [0; 10_000]).unwrap();
    }
    // The start of the connection counts as one.
    let out = once(&sender, |info| info.acknowledged_bytes == Some(100_001));
    let there = read(peer.as_fd()).unwrap();
    assert_eq!((out.sent_bytes, out.retransmitted_bytes, out.timeouts), (Some(100_000), Some(0), Some(0)));
    assert_eq!((there.received_bytes, there.sent_bytes), (Some(100_000), Some(0)));
    assert_eq!(out.data_segments_out, there.data_segments_in);
    assert!(out.segments_out >= out.data_segments_out);
    assert!(out.data_segments_out.is_some_and(|n| n >= 10), "{out:?}");
    assert_eq!((out.congestion, out.ssthresh, out.lost), (Congestion::Open, None, 0));
    assert!(out.delivery_bytes_per_s.is_some() && out.application_limited == Some(true), "{out:?}");
    assert_eq!(out.peer_window_bytes, there.window_bytes);
    assert!(out.rto_us > out.rtt_us && there.peer_mss_bytes > 500 && there.ato_us > 0, "{out:?} {there:?}");
}

#[test]
fn a_rate_that_was_set_is_the_rate_it_leaves_at() {
    let (mut sender, mut peer) = pair();
    endpoint::set_pacing(sender.as_fd(), 1 << 20).unwrap();
    sender.write_all(&[0; 1000]).unwrap();
    peer.read_exact(&mut [0; 1000]).unwrap();
    once(&sender, |info| info.pacing_bytes_per_s == Some(1 << 20));
}

#[test]
fn a_peer_that_hears_nothing_makes_a_loss() {
    let (mut sender, peer) = pair();
    // BBR has no such threshold.
    endpoint::set_congestion(sender.as_fd(), "reno").unwrap();
    // A filter that takes no byte of any packet: the socket sees nothing from now on.
    let mut nothing = libc::sock_filter { code: 6, jt: 0, jf: 0, k: 0 };
    let program = libc::sock_fprog { len: 1, filter: &raw mut nothing };
    set_option(&peer, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program).unwrap();
    sender.write_all(&[0; 1000]).unwrap();
    let lost = once(&sender, |info| info.congestion == Congestion::Loss);
    assert!(lost.retransmitted_bytes >= Some(1000) && lost.timeouts >= Some(1), "{lost:?}");
    assert!(lost.timeouts_in_a_row >= 1 && lost.ssthresh.is_some() && lost.unacknowledged == 1, "{lost:?}");
    assert_eq!(lost.acknowledged_bytes, Some(1));
}

#[test]
fn what_an_older_kernel_does_not_write_is_missing() {
    let raw = Raw { min_rtt_us: 9, bytes_sent: 9, ..Raw::empty() };
    let old = from_raw(&raw, offset_of!(Raw, pacing_rate));
    assert_eq!((old.limits, old.peer_window_bytes, old.min_rtt_us), (None, None, None));
    assert_eq!((old.unsent_bytes, old.sent_bytes, old.pacing_bytes_per_s), (None, None, None));
    assert_eq!((old.application_limited, old.timeouts), (None, None));
    // Half a field is none.
    assert_eq!(from_raw(&raw, offset_of!(Raw, bytes_sent) + 4).sent_bytes, None);
    assert_eq!(from_raw(&raw, offset_of!(Raw, bytes_retrans)).sent_bytes, Some(9));
    assert!(from_raw(&raw, size_of::<Raw>()).limits.is_some());
}

#[test]
fn what_stands_for_nothing_is_missing() {
    let nothing =
        Raw { min_rtt_us: u32::MAX, snd_ssthresh: i32::MAX as u32, pacing_rate: u64::MAX, ..Raw::empty() };
    let info = from_raw(&nothing, size_of::<Raw>());
    assert_eq!((info.min_rtt_us, info.ssthresh, info.pacing_bytes_per_s), (None, None, None));
    assert_eq!((info.receiver_rtt_us, info.delivery_bytes_per_s), (None, None));
}
