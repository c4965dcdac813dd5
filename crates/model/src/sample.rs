//! One message in full: the raw stream.

use serde::{Deserialize, Serialize};

use crate::path::{Direction, Stage};

/// Every time that was taken of one message, CLOCK_MONOTONIC ns; `None` where the hook did
/// not see it. Of a message that another host sent, `intended_ns` and `sent_ns` are by that
/// host's clock: their difference is its lag, but nothing else can be held against them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The trial's place in the record.
    pub trial: u32,
    /// Number within the trial.
    pub sequence: u64,
    /// Intended departure.
    pub intended_ns: u64,
    /// The application's stamp before the send call.
    pub sent_ns: u64,
    /// `net_dev_queue`.
    pub net_dev_queue_ns: Option<u64>,
    /// `qdisc_enqueue`.
    pub qdisc_enqueue_ns: Option<u64>,
    /// `qdisc_dequeue`.
    pub qdisc_dequeue_ns: Option<u64>,
    /// `net_dev_start_xmit`: the link layer on the way out.
    pub net_dev_start_xmit_ns: Option<u64>,
    /// `net_dev_xmit`.
    pub net_dev_xmit_ns: Option<u64>,
    /// `netif_rx` or `napi_gro_receive_entry`.
    pub arrival_ns: Option<u64>,
    /// `netif_receive_skb`: the link layer on the way in.
    pub netif_receive_skb_ns: Option<u64>,
    /// `sk_data_ready`.
    pub sk_data_ready_ns: Option<u64>,
    /// `sched_wakeup` of the reader, where it was later than `sk_data_ready`.
    pub sched_wakeup_ns: Option<u64>,
    /// `sched_switch` to the reader, where it was later than `sk_data_ready`.
    pub sched_switch_ns: Option<u64>,
    /// The reader's receive call.
    pub receive_call_ns: Option<u64>,
    /// `sock_recv_length`.
    pub sock_recv_length_ns: Option<u64>,
    /// The application's stamp after the receive call; `None` if the message was lost,
    /// or went to another host.
    pub received_ns: Option<u64>,
    /// 0 if it is one of the undisturbed messages on the way out, 1 if not; `None` where that was not judged.
    pub tx_disturbed: Option<u64>,
    /// The same on the way in.
    pub rx_disturbed: Option<u64>,
}

/// A stage of a message, from when to when; a stamp of another CPU may have it end before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageSpan {
    /// What it went through.
    pub stage: Stage,
    /// CLOCK_MONOTONIC ns.
    pub begin: u64,
    /// The next hook.
    pub end: u64,
}

impl StageSpan {
    /// Signed, as nothing is clamped.
    pub fn ns(&self) -> i64 {
        self.end.wrapping_sub(self.begin) as i64
    }
}

impl Sample {
    /// The stages of a direction that both of their hooks saw, in order. The device's stage is two spans where a queueing
    /// discipline lies within it.
    pub fn stages(&self, direction: Direction) -> Vec<StageSpan> {
        let spans = match direction {
            Direction::Tx => self.stages_out(),
            Direction::Rx => self.stages_in(),
        };
        let seen = |(stage, begin, end)| Some(StageSpan { stage, begin: begin?, end: end? });
        spans.into_iter().filter_map(seen).collect()
    }

    fn stages_out(&self) -> Vec<Span> {
        let (queue, start) = (self.net_dev_queue_ns, self.net_dev_start_xmit_ns);
        let mut spans = vec![(Stage::Socket, Some(self.sent_ns), queue)];
        match (self.qdisc_enqueue_ns, self.qdisc_dequeue_ns) {
            // One part of the device's time without the other would look like all of it.
            (Some(enqueue), Some(dequeue)) => spans.extend([
                (Stage::Device, start.and(queue), Some(enqueue)),
                (Stage::Qdisc, Some(enqueue), Some(dequeue)),
                (Stage::Device, queue.and(Some(dequeue)), start),
            ]),
            _ => spans.push((Stage::Device, queue, start)),
        }
        spans.push((Stage::Driver, start, self.net_dev_xmit_ns));
        spans
    }

    /// From hook to hook: a sample does not show how often its reader was interrupted in between.
    ///
    /// A hook of the scheduler has a stamp only where the reader went through it after `sk_data_ready`; without one the
    /// stage takes no time, and the next begins where it would have. A reader that waited in its call before the message
    /// came has a call older than that: the message then did not wait for the call, and `Read` begins as the reader runs.
    fn stages_in(&self) -> Vec<Span> {
        let ready = self.sk_data_ready_ns;
        let woken = self.sched_wakeup_ns.or(ready);
        let running = self.sched_switch_ns.or(woken);
        let called = self.receive_call_ns.filter(|&call| Some(call) > running);
        vec![
            (Stage::Backlog, self.arrival_ns, self.netif_receive_skb_ns),
            (Stage::Protocol, self.netif_receive_skb_ns, ready),
            (Stage::Wakeup, ready, self.sched_wakeup_ns),
            (Stage::Runqueue, woken, self.sched_switch_ns),
            (Stage::Sockqueue, running, called),
            (Stage::Read, called.or(running), self.sock_recv_length_ns),
            (Stage::Return, self.sock_recv_length_ns, self.received_ns),
        ]
    }
}

/// Where a hook did not see the message, `None`.
type Span = (Stage, Option<u64>, Option<u64>);

#[cfg(test)]
mod tests {
    use super::*;

    fn stages(sample: &Sample, direction: Direction) -> Vec<(Stage, u64, u64)> {
        sample.stages(direction).into_iter().map(|span| (span.stage, span.begin, span.end)).collect()
    }

    #[test]
    fn a_reader_that_was_busy_lets_the_message_wait_in_the_socket() {
        let busy = Sample {
            sk_data_ready_ns: Some(100),
            receive_call_ns: Some(180),
            sock_recv_length_ns: Some(200),
            ..Sample::default()
        };
        let waiting = Sample { receive_call_ns: Some(50), sched_switch_ns: Some(130), ..busy.clone() };
        let read = |begin| (Stage::Read, begin, 200);
        assert_eq!(stages(&busy, Direction::Rx), [(Stage::Sockqueue, 100, 180), read(180)]);
        assert_eq!(stages(&waiting, Direction::Rx), [(Stage::Runqueue, 100, 130), read(130)]);
    }

    #[test]
    fn half_of_the_device_is_not_its_time() {
        let seen = Sample {
            net_dev_queue_ns: Some(10),
            qdisc_enqueue_ns: Some(12),
            qdisc_dequeue_ns: Some(20),
            net_dev_start_xmit_ns: Some(25),
            ..Sample::default()
        };
        let socket = (Stage::Socket, 0, 10);
        let (qdisc, device) = ((Stage::Qdisc, 12, 20), |begin, end| (Stage::Device, begin, end));
        assert_eq!(stages(&seen, Direction::Tx), [socket, device(10, 12), qdisc, device(20, 25)]);
        let unqueued = Sample { net_dev_queue_ns: None, ..seen.clone() };
        assert_eq!(stages(&unqueued, Direction::Tx), [qdisc]);
        let unsent = Sample { net_dev_start_xmit_ns: None, ..seen };
        assert_eq!(stages(&unsent, Direction::Tx), [socket, qdisc]);
    }
}
