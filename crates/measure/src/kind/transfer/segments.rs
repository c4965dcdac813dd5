//! Calls that end where segments end.
//!
//! A call that ends within a segment leaves a part of one behind. Nagle's algorithm holds such a part until the one
//! before it is acknowledged, so that acknowledgments set the pace and a stream that fills its CPU is less than half as
//! fast. A call therefore stops at the last whole segment, and the next one takes the rest along: there are as many
//! calls as buffers, and the bytes of the stream are the same.

use std::os::fd::BorrowedFd;

use netfathom_model::plan::TransferPlan;
use netfathom_sys::tcp_info;

/// No segment is longer than a packet of IP.
pub(super) const LONGEST: usize = u16::MAX as usize;

/// How long the calls of a stream are.
pub(super) struct Segments<'a> {
    /// `None` where each call is one buffer.
    socket: Option<BorrowedFd<'a>>,
    buffer_bytes: usize,
    segment_bytes: usize,
    /// What the call before left of its buffer.
    rest_bytes: usize,
    sent_bytes: u64,
    look_after: u64,
}

impl<'a> Segments<'a> {
    /// Options that decide when something is sent get it exactly as they say, and so does an explanation.
    pub fn of(plan: &TransferPlan, socket: BorrowedFd<'a>) -> Self {
        let exactly = plan.no_delay || plan.explain || plan.zero_copy;
        let exactly = exactly || plan.socket_buffer_bytes.is_some() || plan.pace_bits_per_s.is_some();
        Self {
            socket: (!exactly).then_some(socket),
            buffer_bytes: plan.buffer_bytes as usize,
            segment_bytes: 1,
            rest_bytes: 0,
            sent_bytes: 0,
            look_after: 0,
        }
    }

    /// How many bytes the next call takes: up to [`LONGEST`] more than a buffer. The last one takes all that is left.
    #[inline]
    pub fn next(&mut self, is_last: bool) -> usize {
        if self.sent_bytes >= self.look_after {
            self.look();
        }
        let all = self.buffer_bytes + self.rest_bytes;
        let whole = is_last || self.buffer_bytes < self.segment_bytes;
        self.rest_bytes = if whole { 0 } else { all % self.segment_bytes };
        let bytes = all - self.rest_bytes;
        self.sent_bytes += bytes as u64;
        bytes
    }

    /// The size changes while the peer's window grows: over loopback it doubles after the first acknowledgments.
    fn look(&mut self) {
        let info = self.socket.and_then(|socket| tcp_info::read(socket).ok());
        self.segment_bytes = info.map_or(1, |info| (info.mss_bytes as usize).clamp(1, LONGEST));
        self.look_after = 2 * self.sent_bytes + 1;
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use netfathom_model::plan::Role;

    use super::*;

    #[test]
    fn calls_are_as_many_as_buffers_and_end_where_segments_end() {
        for (buffer_bytes, segment_bytes) in [(8192, 1448), (131_072, 1448), (131_072, 65_483), (1448, 1448)]
        {
            let mut segments = Segments {
                socket: None,
                buffer_bytes,
                segment_bytes,
                rest_bytes: 0,
                sent_bytes: 0,
                look_after: u64::MAX,
            };
            let calls: Vec<usize> = (1..=100).map(|n| segments.next(n == 100)).collect();
            assert_eq!(calls.iter().sum::<usize>(), 100 * buffer_bytes);
            assert!(calls[..99].iter().all(|bytes| bytes % segment_bytes == 0));
            assert!(calls.iter().all(|bytes| (1..=buffer_bytes + LONGEST).contains(bytes)), "{calls:?}");
        }
    }

    #[test]
    fn buffers_below_a_segment_and_those_of_options_stay_whole() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let first = |change: fn(&mut TransferPlan)| {
            let mut plan = TransferPlan::classic(Role::Transmit);
            plan.buffer_bytes = 100_000;
            change(&mut plan);
            Segments::of(&plan, sender.as_fd()).next(false)
        };
        assert!(first(|_| {}) < 100_000);
        assert_eq!(first(|plan| plan.buffer_bytes = 8192), 8192);
        assert_eq!(first(|plan| plan.no_delay = true), 100_000);
        assert_eq!(first(|plan| plan.explain = true), 100_000);
        assert_eq!(first(|plan| plan.zero_copy = true), 100_000);
        assert_eq!(first(|plan| plan.socket_buffer_bytes = Some(4096)), 100_000);
        assert_eq!(first(|plan| plan.pace_bits_per_s = Some(1000)), 100_000);
    }
}
