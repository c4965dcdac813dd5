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
    /// Segments that were sent and are not acknowledged; of a listening socket, connections that
    /// wait to be accepted.
    pub unacknowledged: u32,
    /// Segments that were sent again, ever.
    pub retransmits: u32,
    /// Smoothed round trip.
    pub rtt_us: u32,
    pub rttvar_us: u32,
    /// Shortest round trip, in a window of five minutes; since Linux 4.6.
    pub min_rtt_us: Option<u32>,
    /// Round trip as a receiver estimates it; `None` before it could.
    pub receiver_rtt_us: Option<u32>,
    /// Congestion window, in segments.
    pub cwnd: u32,
    /// The window that the peer offers, in bytes; since 5.4.
    pub peer_window_bytes: Option<u32>,
    /// The window that this end offers, in bytes; since 6.2.
    pub window_bytes: Option<u32>,
    /// What the peer has acknowledged, in bytes; since 4.1. One more for the start of the
    /// connection at the end that made it, and one more for the end of the stream.
    pub acknowledged_bytes: Option<u64>,
    /// Payload that was received in order, in bytes; since 4.1.
    pub received_bytes: Option<u64>,
    /// Segments that were sent, bare acknowledgments included; since 4.2.
    pub segments_out: Option<u32>,
    /// What is in the send buffer and was not sent yet, since 4.6.
    pub unsent_bytes: Option<u32>,
    /// How long there was something to send, and why it was not: since 4.10.
    pub limits: Option<Limits>,
}

/// What congestion control makes of the acknowledgments (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// Something was lost and is sent again at once.
    Recovery,
    /// The retransmission timer ran out.
    Loss,
    /// Nothing is taken for lost.
    Other,
}

impl Congestion {
    fn of(state: u8) -> Self {
        match state {
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
    TcpInfo {
        end_acknowledged: matches!(raw.state, FIN_WAIT_2 | TIME_WAIT | CLOSED),
        congestion: Congestion::of(raw.ca_state),
        mss_bytes: raw.snd_mss,
        unacknowledged: raw.unacked,
        retransmits: raw.total_retrans,
        rtt_us: raw.rtt_us,
        rttvar_us: raw.rttvar_us,
        // The kernel says ~0 where it has not seen one yet.
        min_rtt_us: written!(raw, length, min_rtt_us).filter(|&us| us != u32::MAX),
        receiver_rtt_us: Some(raw.rcv_rtt_us).filter(|&us| us != 0),
        cwnd: raw.snd_cwnd,
        peer_window_bytes: written!(raw, length, snd_wnd),
        window_bytes: written!(raw, length, rcv_wnd),
        acknowledged_bytes: written!(raw, length, bytes_acked),
        received_bytes: written!(raw, length, bytes_received),
        segments_out: written!(raw, length, segs_out),
        unsent_bytes: written!(raw, length, notsent_bytes),
        limits: limits(raw, length),
    }
}

fn limits(raw: &Raw, length: usize) -> Option<Limits> {
    let buffer_us = written!(raw, length, sndbuf_limited_us)?;
    Some(Limits { busy_us: raw.busy_time_us, window_us: raw.rwnd_limited_us, buffer_us })
}
