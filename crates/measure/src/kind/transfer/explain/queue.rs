//! What a sender's queue was in at each look, and for how long.

use netfathom_model::record::TransferSample;

use super::facts::{acknowledged, sent, under_way};

/// Of the two windows, one that is this share of the other is as large.
const MET: f64 = 0.8;
/// The end of a window may seem to move a little. It stands still once this many times that amount is acknowledged.
const UNREAD: u64 = 8;

/// What a sender's queue is in at a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueState {
    Empty,
    AllSent,
    /// More is under way than waits, and nothing known keeps that back: bbr spreads it over the
    /// round trip. A path that is full leaves more waiting, as the kernel has buffers hold it.
    MostSent,
    WindowFull,
    WindowClosed,
    Congested,
    /// Less than a segment waits while another is under way.
    Remainder,
    Ready,
}

impl QueueState {
    /// Of a look, where the peer's window was that wide before.
    pub fn of(look: &TransferSample, mss: u32, widest: u32) -> Self {
        let segment = u64::from(mss.min(widest / 2));
        if look.queued_bytes == 0 {
            return Self::Empty;
        }
        if look.unsent_bytes == 0 {
            return Self::AllSent;
        }
        if under_way(look) + segment > u64::from(look.peer_window_bytes) {
            return if look.peer_window_bytes < widest / 2 { Self::WindowClosed } else { Self::WindowFull };
        }
        if look.in_flight >= look.cwnd {
            // Where the peer's window is hardly larger, a larger congestion window would meet it.
            let met = under_way(look) as f64 >= MET * f64::from(look.peer_window_bytes);
            return if met { Self::WindowFull } else { Self::Congested };
        }
        if look.unsent_bytes < mss && look.in_flight > 0 {
            return Self::Remainder;
        }
        if u64::from(look.unsent_bytes) <= under_way(look) { Self::MostSent } else { Self::Ready }
    }
}

/// For each look, whether a piece waited for an acknowledgment, and the program for the piece: it
/// gave nothing more until it went, and it went when all before it was acknowledged.
///
/// One look cannot show that a piece waited: with looks further apart than half a round trip each
/// is of another piece, which may just be on its way out.
pub(super) fn waiting(looks: &[TransferSample], states: &[QueueState]) -> Vec<bool> {
    let mut within = vec![false; looks.len()];
    let mut from = 0;
    while from < looks.len() {
        let same = |at: usize| states[at] == QueueState::Remainder && looks[at].bytes == looks[from].bytes;
        let until = (from..looks.len()).find(|&at| !same(at)).unwrap_or(looks.len());
        // Where more came first, it went because it then was a whole segment.
        let released = looks.get(until).is_none_or(|next| acknowledged(next) >= sent(&looks[from]));
        within[from..until].fill(released && until - from > 1);
        from = until.max(from + 1);
    }
    within
}

/// For each look, how long nothing moved around it: neither program nor ACK. A single look stands for
/// no time. A pause that ends with a retransmission was no delayed ACK: the ACK was lost, or its
/// segment.
pub(super) fn standing(looks: &[TransferSample], states: &[QueueState]) -> Vec<u64> {
    let mut stands = vec![0; looks.len()];
    let key = |at: usize| (looks[at].bytes, looks[at].queued_bytes, looks[at].retransmits, states[at]);
    let mut from = 0;
    while from < looks.len() {
        let until = (from..looks.len()).find(|&at| key(at) != key(from)).unwrap_or(looks.len());
        let sent_again = |next: &TransferSample| next.retransmits > looks[from].retransmits;
        let lost =
            looks[from..looks.len().min(until + 1)].iter().any(|look| look.recovering || sent_again(look));
        if !lost {
            stands[from..until].fill(looks[until - 1].at_ns - looks[from].at_ns);
        }
        from = until;
    }
    stands
}

/// For each look, whether it lies in a time in which the program at the peer did not read: bytes were acknowledged, but
/// the end of the window stood still. Who reads moves it with every acknowledgment. The kernel of a program that does
/// not read also delays its acknowledgments, so that the sender seems to wait for the path.
///
/// The end of the window is known to `slack` bytes: what a write that waits has in the queue is not counted yet.
pub(super) fn unread(looks: &[TransferSample], slack: u64, shortest_ns: u64) -> Vec<bool> {
    let mut within = vec![false; looks.len()];
    let end_of_window = |look: &TransferSample| acknowledged(look) + u64::from(look.peer_window_bytes);
    let mut from = 0;
    while from < looks.len() {
        let first = &looks[from];
        let moves = |look: &TransferSample| {
            let lost = look.recovering || look.retransmits > first.retransmits;
            lost || end_of_window(look) > end_of_window(first) + slack
        };
        let until = (from + 1..looks.len()).find(|&at| moves(&looks[at])).unwrap_or(looks.len());
        let last = &looks[until - 1];
        if last.at_ns - first.at_ns >= shortest_ns
            && acknowledged(last) >= acknowledged(first) + UNREAD * slack
        {
            // The time before a look is the look's.
            within[from + 1..until].fill(true);
        }
        from = until;
    }
    within
}
