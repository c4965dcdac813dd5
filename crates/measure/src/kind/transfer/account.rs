//! What a stream took: bytes, calls, time, processor.

use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;

use netfathom_bpf::contention::Followed;
use netfathom_model::record::{CpuWaits, TcpState, TransferEnd, TransferSample, TransferStream};
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::cpu::{Spent, spent_by_thread};
use netfathom_sys::tcp_info::TcpInfo;

use super::Live;
use super::ends::End;
use super::live::OnLane;
use super::timing::{Timing, Untimed};
use crate::load::contention;

/// Counts one stream, in the thread that moves it.
pub(super) struct Meter<'a, T = Untimed> {
    on: OnLane<'a>,
    /// Takes the times of its calls, or not.
    pub timing: T,
    followed: Option<Followed<'a>>,
    peer: Option<SocketAddr>,
    started_ns: u64,
    spent: Spent,
    pub bytes: u64,
    pub calls: u64,
}

impl<'a, T: Timing> Meter<'a, T> {
    /// Begins now, with a stream of this number over this socket.
    pub fn start(live: &'a Live, stream: usize, end: &End) -> Self {
        // Before its time begins: the thread sleeps until it is seen.
        let followed = live.follow();
        let on = live.begin(stream, &end.socket);
        let started_ns = monotonic_ns();
        live.started(started_ns);
        let (timing, spent) = (T::default(), spent_by_thread());
        Self { on, timing, followed, peer: end.peer, started_ns, spent, bytes: 0, calls: 0 }
    }

    pub fn restart(&mut self) {
        self.started_ns = monotonic_ns();
        (self.spent, self.bytes, self.calls) = (spent_by_thread(), 0, 0);
        self.on.live.restarted(self.started_ns);
    }

    #[inline]
    pub fn moved(&mut self, bytes: usize) {
        self.calls += 1;
        self.moved_rest(bytes);
    }

    /// A call moved the rest of what another had begun.
    #[inline]
    pub fn moved_rest(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        // Another thread looks seldom, and a store without order costs nothing.
        self.on.lane.bytes.store(self.bytes, Relaxed);
        self.on.lane.calls.store(self.calls, Relaxed);
    }

    pub fn elapsed_ns(&self) -> u64 {
        monotonic_ns() - self.started_ns
    }

    /// What others saw of it until now.
    pub fn seen(&self) -> Vec<TransferSample> {
        self.on.lane.seen.lock().samples.clone()
    }

    /// What its thread waited for processors until now. Reading it takes a moment, in which the peer should not wait.
    pub fn waits(&self) -> Option<CpuWaits> {
        self.followed.as_ref().and_then(contention::waits)
    }

    /// What it was, when it ended so long ago.
    pub fn stop(&self, ago_ns: u64) -> TransferStream {
        let spent = spent_by_thread().since(&self.spent);
        TransferStream {
            peer: self.peer.map(|peer| peer.to_string()),
            began_ns: self.started_ns.saturating_sub(self.on.live.started_ns()),
            end: TransferEnd::Whole,
            bytes: self.bytes,
            calls: self.calls,
            duration_ns: self.elapsed_ns().saturating_sub(ago_ns),
            user_ns: spent.user_ns,
            system_ns: spent.system_ns,
            calls_took: self.timing.took(),
            samples: self.seen(),
            ..TransferStream::default()
        }
    }
}

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
