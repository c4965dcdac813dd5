//! What the kernel writes.

use std::io;
use std::os::fd::BorrowedFd;

use crate::socket::read_option;

/// `struct tcp_info` of linux/tcp.h, up to what 6.7 has added; that of libc ends where it did in
/// 2.6. The kernel only ever adds to its end: older ones write less, newer ones as much as asked.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Raw {
    pub state: u8,
    pub ca_state: u8,
    pub retransmits: u8,
    pub probes: u8,
    pub backoff: u8,
    pub options: u8,
    pub window_scales: u8,
    /// Bit fields: the first tells that the delivery rate was limited by the application.
    pub flags: u8,
    pub rto_us: u32,
    pub ato_us: u32,
    pub snd_mss: u32,
    pub rcv_mss: u32,
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    pub fackets: u32,
    pub last_data_sent_ms: u32,
    pub last_ack_sent_ms: u32,
    pub last_data_recv_ms: u32,
    pub last_ack_recv_ms: u32,
    pub pmtu: u32,
    pub rcv_ssthresh: u32,
    pub rtt_us: u32,
    pub rttvar_us: u32,
    pub snd_ssthresh: u32,
    pub snd_cwnd: u32,
    pub advmss: u32,
    pub reordering: u32,
    pub rcv_rtt_us: u32,
    pub rcv_space: u32,
    pub total_retrans: u32,
    pub pacing_rate: u64,
    pub max_pacing_rate: u64,
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub segs_out: u32,
    pub segs_in: u32,
    pub notsent_bytes: u32,
    pub min_rtt_us: u32,
    pub data_segs_in: u32,
    pub data_segs_out: u32,
    pub delivery_rate: u64,
    pub busy_time_us: u64,
    pub rwnd_limited_us: u64,
    pub sndbuf_limited_us: u64,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub dsack_dups: u32,
    pub reord_seen: u32,
    pub rcv_ooopack: u32,
    pub snd_wnd: u32,
    pub rcv_wnd: u32,
    pub rehash: u32,
    pub total_rto: u16,
    pub total_rto_recoveries: u16,
    pub total_rto_time_ms: u32,
}

impl Raw {
    /// What the kernel writes, and how many bytes of it.
    pub fn read(socket: BorrowedFd<'_>) -> io::Result<(Self, usize)> {
        // An old kernel leaves zeros where it knows nothing.
        let mut raw = Self::default();
        let length = read_option(&socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut raw)?;
        Ok((raw, length))
    }
}
