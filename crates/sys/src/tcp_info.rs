//! What the kernel knows of a TCP connection (TCP_INFO).
//!
//! `Option` fields are `None` on a kernel older than the stated version, and before the kernel has
//! a value.

use std::io;
use std::mem::offset_of;
use std::os::fd::BorrowedFd;

mod raw;
#[cfg(test)]
mod tests;

use raw::Raw;

/// What the kernel knows of a connection. Counts go back to its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    /// Whether this end has sent its end of the stream, and the peer has acknowledged it.
    pub end_acknowledged: bool,
    pub congestion: Congestion,
    /// Largest segment that is sent, in bytes of payload.
    pub mss_bytes: u32,
    /// Largest segment that the peer sent lately, in bytes of payload: an estimate, which the kernel uses for delayed
    /// ACKs.
    pub peer_mss_bytes: u32,
    /// Segments that were sent and are not acknowledged; of a listening socket, connections that
    /// wait to be accepted.
    pub unacknowledged: u32,
    /// Of these, segments that the peer has selectively acknowledged.
    pub sacked: u32,
    /// Of these, segments that are taken for lost.
    pub lost: u32,
    /// Of these, segments that were sent again.
    pub retransmits_under_way: u32,
    /// Segments that were sent again, ever.
    pub retransmits: u32,
    /// Retransmission timeouts in a row, with no acknowledgement between them.
    pub timeouts_in_a_row: u8,
    /// Probes of a closed window, or of whether the peer lives, that were not answered.
    pub probes: u8,
    /// Smoothed round trip.
    pub rtt_us: u32,
    pub rttvar_us: u32,
    /// Shortest round trip, in a window of five minutes; since Linux 4.6.
    pub min_rtt_us: Option<u32>,
    /// Round trip as a receiver estimates it; `None` before it could.
    pub receiver_rtt_us: Option<u32>,
    /// Time without an acknowledgement after which the kernel sends again.
    pub rto_us: u32,
    /// Longest time by which an ACK is delayed; 0 if nothing was received yet.
    pub ato_us: u32,
    /// Time since data was last sent, in milliseconds.
    pub last_data_sent_ms: u32,
    /// Time since data was last received, in milliseconds.
    pub last_data_received_ms: u32,
    /// Time since an acknowledgement was last received, in milliseconds.
    pub last_ack_received_ms: u32,
    /// Congestion window, in segments.
    pub cwnd: u32,
    /// Congestion window up to which it grows fast, in segments; `None` before the first loss,
    /// and for a congestion control that knows no such thing (BBR).
    pub ssthresh: Option<u32>,
    /// By how many segments packets may overtake each other before one is taken for lost.
    pub reordering: u32,
    /// The window that the peer offers, in bytes; since 5.4.
    pub peer_window_bytes: Option<u32>,
    /// The window that this end offers, in bytes; since 6.2.
    pub window_bytes: Option<u32>,
    /// What this end's reader takes in a round trip, by which the kernel sizes its receive
    /// buffer, in bytes.
    pub receive_space_bytes: u32,
    /// Up to where the offered window may grow for now, in bytes.
    pub receive_ssthresh_bytes: u32,
    /// At what rate segments leave, in bytes a second; `None` where nothing paces them.
    pub pacing_bytes_per_s: Option<u64>,
    /// The latest measurement of the rate at which the peer gets data, in bytes a second;
    /// since 4.9.
    pub delivery_bytes_per_s: Option<u64>,
    /// Whether that rate was what the application had to send, and not what the network can
    /// carry; since 4.9.
    pub application_limited: Option<bool>,
    /// What the peer has acknowledged, in bytes; since 4.1. One more for the start of the
    /// connection at the end that made it, and one more for the end of the stream.
    pub acknowledged_bytes: Option<u64>,
    /// Payload that was received in order, in bytes; since 4.1.
    pub received_bytes: Option<u64>,
    /// Payload that was sent, repetitions included, in bytes; since 4.19.
    pub sent_bytes: Option<u64>,
    /// Payload that was sent again, in bytes; since 4.19.
    pub retransmitted_bytes: Option<u64>,
    /// Segments that were sent, bare acknowledgements included; since 4.2.
    pub segments_out: Option<u32>,
    /// Segments with payload that were sent, repetitions included; since 4.6.
    pub data_segments_out: Option<u32>,
    /// Segments with payload that were received; since 4.6.
    pub data_segments_in: Option<u32>,
    /// Duplicate segments that the peer reported, which were retransmitted in vain;
    /// since 4.19.
    pub duplicates: Option<u32>,
    /// How often reordering was seen; since 4.19.
    pub reorderings: Option<u32>,
    /// Segments that were received out of order; since 5.4.
    pub received_out_of_order: Option<u32>,
    /// Retransmission timeouts, ever; since 6.7.
    pub timeouts: Option<u16>,
    /// What is in the send buffer and was not sent yet, since 4.6.
    pub unsent_bytes: Option<u32>,
    /// How long there was something to send, and why it was not: since 4.10.
    pub limits: Option<Limits>,
}

/// What congestion control makes of the acknowledgements (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// Nothing is amiss.
    Open,
    /// Some are missing or doubled: packets were lost, or overtook each other.
    Disorder,
    /// The window is being reduced on the network's word (ECN) or that of a local queue.
    Reduced,
    /// Something was lost and is sent again at once.
    Recovery,
    /// The retransmission timer ran out.
    Loss,
    /// One that kernels up to 6.18 do not have.
    Other,
}

impl Congestion {
    fn of(state: u8) -> Self {
        match state {
            0 => Self::Open,
            1 => Self::Disorder,
            2 => Self::Reduced,
            3 => Self::Recovery,
            4 => Self::Loss,
            _ => Self::Other,
        }
    }
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
/// TCP_INFINITE_SSTHRESH of net/tcp.h
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// The first bit field, which compilers lay from the other end where bytes are.
const APPLICATION_LIMITED: u8 = if cfg!(target_endian = "little") { 1 } else { 0x80 };

pub fn read(socket: BorrowedFd<'_>) -> io::Result<TcpInfo> {
    let (raw, length) = Raw::read(socket)?;
    Ok(from_raw(&raw, length))
}

/// The field, if the kernel wrote as far as that.
macro_rules! written {
    ($raw:ident, $length:ident, $field:ident) => {
        ($length >= offset_of!(Raw, $field) + size_of_val(&$raw.$field)).then_some($raw.$field)
    };
}

fn from_raw(raw: &Raw, length: usize) -> TcpInfo {
    let delivery = written!(raw, length, delivery_rate);
    TcpInfo {
        end_acknowledged: matches!(raw.state, FIN_WAIT_2 | TIME_WAIT | CLOSED),
        congestion: Congestion::of(raw.ca_state),
        mss_bytes: raw.snd_mss,
        peer_mss_bytes: raw.rcv_mss,
        unacknowledged: raw.unacked,
        sacked: raw.sacked,
        lost: raw.lost,
        retransmits_under_way: raw.retrans,
        retransmits: raw.total_retrans,
        timeouts_in_a_row: raw.retransmits,
        probes: raw.probes,
        rtt_us: raw.rtt_us,
        rttvar_us: raw.rttvar_us,
        // The kernel says ~0 where it has not seen one yet.
        min_rtt_us: written!(raw, length, min_rtt_us).filter(|&us| us != u32::MAX),
        receiver_rtt_us: Some(raw.rcv_rtt_us).filter(|&us| us != 0),
        rto_us: raw.rto_us,
        ato_us: raw.ato_us,
        last_data_sent_ms: raw.last_data_sent_ms,
        last_data_received_ms: raw.last_data_recv_ms,
        last_ack_received_ms: raw.last_ack_recv_ms,
        cwnd: raw.snd_cwnd,
        ssthresh: Some(raw.snd_ssthresh).filter(|&segments| segments < INFINITE_SSTHRESH),
        reordering: raw.reordering,
        peer_window_bytes: written!(raw, length, snd_wnd),
        window_bytes: written!(raw, length, rcv_wnd),
        receive_space_bytes: raw.rcv_space,
        receive_ssthresh_bytes: raw.rcv_ssthresh,
        pacing_bytes_per_s: written!(raw, length, pacing_rate).filter(|&rate| rate != u64::MAX),
        // 0 before the first acknowledgement of data.
        delivery_bytes_per_s: delivery.filter(|&rate| rate != 0),
        application_limited: delivery.map(|_| raw.flags & APPLICATION_LIMITED != 0),
        acknowledged_bytes: written!(raw, length, bytes_acked),
        received_bytes: written!(raw, length, bytes_received),
        sent_bytes: written!(raw, length, bytes_sent),
        retransmitted_bytes: written!(raw, length, bytes_retrans),
        segments_out: written!(raw, length, segs_out),
        data_segments_out: written!(raw, length, data_segs_out),
        data_segments_in: written!(raw, length, data_segs_in),
        duplicates: written!(raw, length, dsack_dups),
        reorderings: written!(raw, length, reord_seen),
        received_out_of_order: written!(raw, length, rcv_ooopack),
        timeouts: written!(raw, length, total_rto),
        unsent_bytes: written!(raw, length, notsent_bytes),
        limits: limits(raw, length),
    }
}

fn limits(raw: &Raw, length: usize) -> Option<Limits> {
    let buffer_us = written!(raw, length, sndbuf_limited_us)?;
    Some(Limits { busy_us: raw.busy_time_us, window_us: raw.rwnd_limited_us, buffer_us })
}
