//! What the kernel knows of a TCP connection (TCP_INFO).

use std::io;
use std::mem::{offset_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd};

/// `struct tcp_info` of linux/tcp.h as of 6.18; that of libc ends where it did in 2.6. The
/// kernel only ever adds to its end, and older ones write less.
#[repr(C)]
#[derive(Clone, Copy)]
struct Raw {
    state: u8,
    ca_state: u8,
    retransmits: u8,
    probes: u8,
    backoff: u8,
    options: u8,
    window_scales: u8,
    flags: u8,
    rto_us: u32,
    ato_us: u32,
    snd_mss: u32,
    rcv_mss: u32,
    unacked: u32,
    sacked: u32,
    lost: u32,
    retrans: u32,
    fackets: u32,
    last_data_sent_ms: u32,
    last_ack_sent_ms: u32,
    last_data_recv_ms: u32,
    last_ack_recv_ms: u32,
    pmtu: u32,
    rcv_ssthresh: u32,
    rtt_us: u32,
    rttvar_us: u32,
    snd_ssthresh: u32,
    snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt_us: u32,
    rcv_space: u32,
    total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt_us: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    delivery_rate: u64,
    busy_time_us: u64,
    rwnd_limited_us: u64,
    sndbuf_limited_us: u64,
    delivered: u32,
    delivered_ce: u32,
    bytes_sent: u64,
    bytes_retrans: u64,
    dsack_dups: u32,
    reord_seen: u32,
    rcv_ooopack: u32,
    snd_wnd: u32,
}

/// What the kernel knows of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    /// Whether this end has sent its end of the stream, and the peer has acknowledged it.
    pub end_acknowledged: bool,
    /// Largest segment that is sent, in bytes of payload.
    pub mss_bytes: u32,
    /// Segments that were sent and are not acknowledged.
    pub unacknowledged: u32,
    /// Segments that were sent again, ever.
    pub retransmits: u32,
    /// Smoothed round trip.
    pub rtt_us: u32,
    /// Its variation.
    pub rttvar_us: u32,
    /// Shortest round trip, since Linux 4.6.
    pub min_rtt_us: Option<u32>,
    /// Congestion window, in segments.
    pub cwnd: u32,
    /// The window that the peer offers, in bytes; since 5.4.
    pub peer_window_bytes: Option<u32>,
    /// What is in the send buffer and was not sent yet, since 4.6.
    pub unsent_bytes: Option<u32>,
    /// How long there was something to send, and why it was not: since 4.10.
    pub limits: Option<Limits>,
}

/// How long the sender was busy, and of that how long something held it up. The kernel counts
/// whole ticks of its timer, 1 to 10 ms: a short transfer was never busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Something was sent or waited to be.
    pub busy_us: u64,
    /// Of that, the peer's window was full.
    pub window_us: u64,
    /// Of that, the send buffer was full, and so not large enough.
    pub buffer_us: u64,
}

const FIN_WAIT_2: u8 = 5;
const TIME_WAIT: u8 = 6;
const CLOSED: u8 = 7;

/// Reads it.
///
/// # Errors
/// If the socket is none of TCP.
pub fn read(socket: BorrowedFd<'_>) -> io::Result<TcpInfo> {
    // SAFETY: Raw is made of integers alone, for which zero is a value.
    let mut raw: Raw = unsafe { zeroed() };
    let mut length = size_of::<Raw>() as libc::socklen_t;
    // SAFETY: pointer and length are those of `raw`; the kernel writes at most so much.
    let result = unsafe {
        let into = (&raw mut raw).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, into, &raw mut length)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(told(&raw, length as usize))
}

fn told(raw: &Raw, length: usize) -> TcpInfo {
    let has = |end: usize| length >= end;
    let limits = Limits {
        busy_us: raw.busy_time_us,
        window_us: raw.rwnd_limited_us,
        buffer_us: raw.sndbuf_limited_us,
    };
    TcpInfo {
        end_acknowledged: matches!(raw.state, FIN_WAIT_2 | TIME_WAIT | CLOSED),
        mss_bytes: raw.snd_mss,
        unacknowledged: raw.unacked,
        retransmits: raw.total_retrans,
        rtt_us: raw.rtt_us,
        rttvar_us: raw.rttvar_us,
        // The kernel says ~0 where it has not seen one yet.
        min_rtt_us: (has(offset_of!(Raw, data_segs_in)) && raw.min_rtt_us != u32::MAX)
            .then_some(raw.min_rtt_us),
        cwnd: raw.snd_cwnd,
        peer_window_bytes: has(offset_of!(Raw, snd_wnd) + 4).then_some(raw.snd_wnd),
        unsent_bytes: has(offset_of!(Raw, min_rtt_us)).then_some(raw.notsent_bytes),
        limits: has(offset_of!(Raw, delivered)).then_some(limits),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_connection_is_told_as_it_goes_on() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _peer = listener.accept().unwrap().0;
        sender.write_all(&[0; 10_000]).unwrap();
        let going = read(sender.as_fd()).unwrap();
        assert!(!going.end_acknowledged && going.mss_bytes > 500 && going.cwnd > 0, "{going:?}");
        assert!(going.peer_window_bytes.is_some_and(|w| w > 10_000), "{going:?}");
        sender.shutdown(Shutdown::Write).unwrap();
        // The peer's kernel may put off an acknowledgement for some 40 ms.
        let deadline = Instant::now() + Duration::from_secs(20);
        while !read(sender.as_fd()).unwrap().end_acknowledged {
            assert!(Instant::now() < deadline, "{:?}", read(sender.as_fd()));
        }
    }

    #[test]
    fn what_an_older_kernel_does_not_write_is_missing() {
        // SAFETY: Raw is made of integers alone.
        let raw: Raw = unsafe { zeroed() };
        let old = told(&raw, offset_of!(Raw, pacing_rate));
        assert_eq!(
            (old.limits, old.peer_window_bytes, old.min_rtt_us, old.unsent_bytes),
            (None, None, None, None)
        );
        assert!(told(&raw, size_of::<Raw>()).limits.is_some());
    }
}
