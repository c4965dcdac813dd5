//! What a stream took: bytes, calls, time, processor.

use std::sync::atomic::Ordering::Relaxed;

use netfathom_model::record::{TcpState, TransferStream, UdpCounts};
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::cpu::{Spent, spent_by_thread};
use netfathom_sys::tcp_info::TcpInfo;

use super::Live;

/// Counts one stream, in the thread that moves it.
pub(super) struct Meter<'a> {
    live: &'a Live,
    started_ns: u64,
    spent: Spent,
    pub bytes: u64,
    pub calls: u64,
}

impl<'a> Meter<'a> {
    /// Begins now.
    pub fn start(live: &'a Live) -> Self {
        let started_ns = monotonic_ns();
        live.started_ns.store(started_ns, Relaxed);
        Self { live, started_ns, spent: spent_by_thread(), bytes: 0, calls: 0 }
    }

    /// Begins anew.
    pub fn restart(&mut self) {
        *self = Self::start(self.live);
    }

    /// One call has moved so many bytes.
    #[inline]
    pub fn moved(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.calls += 1;
        // Another thread looks seldom, and a store without order costs nothing.
        self.live.bytes.store(self.bytes, Relaxed);
    }

    /// A call moved the rest of what another had begun.
    #[inline]
    pub fn moved_rest(&mut self, bytes: usize) {
        self.moved(bytes);
        self.calls -= 1;
    }

    pub fn elapsed_ns(&self) -> u64 {
        monotonic_ns() - self.started_ns
    }

    /// What it was, when it ended so long ago.
    pub fn stop(&self, ago_ns: u64) -> TransferStream {
        let spent = spent_by_thread().since(&self.spent);
        TransferStream {
            bytes: self.bytes,
            calls: self.calls,
            duration_ns: self.elapsed_ns().saturating_sub(ago_ns),
            closed_ns: None,
            user_ns: spent.user_ns,
            system_ns: spent.system_ns,
            tcp: None,
            udp: None,
        }
    }
}

/// A stream over which nothing went.
pub(super) fn nothing(udp: Option<UdpCounts>) -> TransferStream {
    TransferStream { udp, ..Meter::start(&Live::default()).stop(u64::MAX) }
}

/// As a record has it.
pub(super) fn state(info: &TcpInfo) -> TcpState {
    TcpState {
        mss_bytes: info.mss_bytes,
        retransmits: info.retransmits,
        rtt_us: info.rtt_us,
        rttvar_us: info.rttvar_us,
        min_rtt_us: info.min_rtt_us,
        cwnd: info.cwnd,
        peer_window_bytes: info.peer_window_bytes,
        busy_us: info.limits.map(|l| l.busy_us),
        window_limited_us: info.limits.map(|l| l.window_us),
        buffer_limited_us: info.limits.map(|l| l.buffer_us),
    }
}
