//! What a sender on another host did, put together from the messages that arrived: each
//! carries when it was to leave and when it left, by the clock of that host.

use std::io;
use std::net::UdpSocket;

use netfathom_model::message::Header;

use crate::load::control::protocol::SendTotals;
use crate::load::sent::Sent;
use crate::load::tap::ReceiveTap;
use crate::load::window::Windows;

/// So long after twice its plan a load has ended, however late its messages are.
const LATE_NS: u64 = 60_000_000_000;
/// A sender may be that many times as slow as its plan.
const SLOWEST: u64 = 20;

/// A tap, and beside it what the messages tell of their senders.
pub struct Rebuilt<R> {
    tap: R,
    windows: Windows,
    lanes: Vec<Lane>,
    /// No message can have been sent later.
    latest_ns: u64,
    /// The first one that says it was sent before the load began, or long after its end.
    strange: Option<Header>,
}

struct Lane {
    sent: Sent,
    /// The previous message, until it is known when the next one was due.
    last: Option<Header>,
}

impl<R> Rebuilt<R> {
    /// For `lanes` senders of a load of that duration; for a plan with random intervals, their mean.
    pub fn new(
        tap: R,
        windows: Windows,
        lanes: u32,
        duration_ns: u64,
        mean_interval_ns: Option<i64>,
    ) -> Self {
        let lane = |_| Lane { sent: Sent::new(windows, 1, lanes, mean_interval_ns), last: None };
        let latest_ns = windows.start_ns + SLOWEST * duration_ns + LATE_NS;
        Self { tap, windows, lanes: (0..lanes).map(lane).collect(), latest_ns, strange: None }
    }

    /// What a message says of its sending that cannot be, in words.
    pub fn excess(&self) -> Option<String> {
        let Header { sequence, intended_ns, sent_ns, .. } = self.strange?;
        Some(format!(
            "message {sequence} was due at {intended_ns} ns and sent at {sent_ns} ns by its own account, but the load began \
             at {} ns",
            self.windows.start_ns
        ))
    }

    /// The tap, and what was sent: counts from the senders' reports, times from the messages.
    pub fn finish(self, totals: SendTotals, planned: u64) -> (R, Sent) {
        let lanes = self.lanes.into_iter().map(|mut lane| {
            if let Some(last) = lane.last {
                lane.sent.departed(&[last], None);
            }
            lane.sent
        });
        let mut sent = Sent::merged(lanes, self.windows);
        sent.accepted = totals.accepted;
        sent.unsent = planned.saturating_sub(totals.tried);
        if totals.refused > 0 {
            // The reason is not reported.
            sent.refused.insert(0, totals.refused);
        }
        (self.tap, sent)
    }
}

impl Lane {
    #[inline]
    fn arrived(&mut self, header: &Header, lanes: u64) {
        let Some(last) = self.last else {
            self.last = Some(*header);
            return;
        };
        if header.sequence <= last.sequence || header.sent_ns < last.sent_ns {
            // Overtaken on the way: between which two it left is not known any more.
            self.sent.lagged(header);
            return;
        }
        // Where messages are missing in between, the mean of their intervals.
        let steps = ((header.sequence - last.sequence) / lanes).max(1);
        let interval_ns = header.intended_ns.saturating_sub(last.intended_ns) / steps;
        self.sent.departed(&[last], Some(last.intended_ns + interval_ns));
        self.last = Some(*header);
    }
}

impl<R: ReceiveTap> ReceiveTap for Rebuilt<R> {
    fn begin(&mut self, socket: &UdpSocket) {
        self.tap.begin(socket);
    }

    #[inline]
    fn receive(&mut self, socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<usize> {
        self.tap.receive(socket, buffer)
    }

    #[inline]
    fn delivered(&mut self, header: &Header, received_ns: u64) {
        let then = self.windows.start_ns..=self.latest_ns;
        if !(then.contains(&header.intended_ns) && then.contains(&header.sent_ns)) {
            self.strange.get_or_insert(*header);
            return;
        }
        self.tap.delivered(header, received_ns);
        let lanes = self.lanes.len() as u64;
        self.lanes[(header.sequence % lanes) as usize].arrived(header, lanes);
    }

    fn skipped(&mut self, sequence: u64) {
        self.tap.skipped(sequence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START_NS: u64 = 1_000_000_000_000;

    /// The n-th message, due every 1000 ns and so late.
    fn message(sequence: u64, lag_ns: u64) -> Header {
        let intended_ns = START_NS + 1000 * sequence;
        Header { flow: 5, sequence, intended_ns, sent_ns: intended_ns + lag_ns }
    }

    fn rebuilt(lanes: u32, messages: &[Header], totals: SendTotals, planned: u64) -> Sent {
        let windows = Windows { start_ns: START_NS, shift: Windows::shift_for(1_000_000) };
        let mut rebuilt = Rebuilt::new((), windows, lanes, 1_000_000, None);
        messages.iter().for_each(|m| rebuilt.delivered(m, 7));
        rebuilt.finish(totals, planned).1
    }

    #[test]
    fn the_load_is_what_the_messages_say() {
        let messages: Vec<Header> = (0..10).map(|n| message(n, 100 * (n % 2))).collect();
        let sent = rebuilt(1, &messages, SendTotals { tried: 11, accepted: 10, refused: 1 }, 12);
        assert_eq!((sent.accepted, sent.unsent, sent.refused[&0]), (10, 1, 1));
        assert_eq!((sent.span_ns(), sent.lateness.missed_slots), (9100, 0));
        let lag = &sent.lag.distribution.moments;
        assert_eq!((lag.n, lag.min, lag.max), (10, 0, 100));
        assert_eq!(sent.intervals.moments.n, 9);
    }

    #[test]
    fn a_gap_does_not_hide_a_missed_slot() {
        // 1500 ns late, and three messages after it are lost.
        let messages = [message(0, 1500), message(4, 0)];
        let sent = rebuilt(1, &messages, SendTotals { tried: 5, accepted: 5, refused: 0 }, 5);
        assert_eq!(sent.lateness.missed_slots, 1);
    }

    #[test]
    fn times_that_no_message_of_the_load_can_have_are_left_out_and_counted() {
        let windows = Windows { start_ns: START_NS, shift: Windows::shift_for(1_000_000) };
        let mut rebuilt = Rebuilt::new((), windows, 1, 1_000_000, None);
        rebuilt.delivered(&message(0, 100), 7);
        assert_eq!(rebuilt.excess(), None);
        for strange in [0, START_NS - 1, u64::MAX, 1 << 63] {
            rebuilt.delivered(&Header { sent_ns: strange, ..message(1, 0) }, 7);
            rebuilt.delivered(&Header { intended_ns: strange, ..message(2, 0) }, 7);
        }
        assert!(
            rebuilt.excess().unwrap().starts_with("message 1 was due at 1000000001000 ns and sent at 0 ns")
        );
        let (_, sent) = rebuilt.finish(SendTotals { tried: 3, accepted: 3, refused: 0 }, 3);
        assert_eq!((sent.lag.distribution.moments.n, sent.lag.distribution.moments.max), (1, 100));
    }

    #[test]
    fn each_sender_has_its_own_order() {
        // One arrives whole before the other; of the second one message is overtaken.
        let order = [0, 2, 4, 1, 5, 3];
        let messages: Vec<Header> = order.iter().map(|&n| message(n, 0)).collect();
        let sent = rebuilt(2, &messages, SendTotals { tried: 6, accepted: 6, refused: 0 }, 6);
        assert_eq!((sent.lag.distribution.moments.n, sent.span_ns()), (6, 5000));
        assert_eq!(sent.intervals.moments.n, 3);
    }
}
