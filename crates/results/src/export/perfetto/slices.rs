//! The stages of a sampled message, each from when to when.

use netfathom_model::path::Direction;
use netfathom_model::sample::{Sample, StageSpan};

/// A message as it is drawn.
#[derive(Debug)]
pub struct Drawn {
    /// When it was sent.
    pub begin: u64,
    /// When it was received, or last seen on its way.
    pub whole_end: u64,
    /// When all of its stages are over: the driver's call may end after the message was received.
    pub end: u64,
    /// Its stages on the way out, in order, none over another.
    pub out: Vec<StageSpan>,
    pub into: Vec<StageSpan>,
}

impl Drawn {
    /// And how many of its stages cannot be drawn, since they end before they begin.
    pub fn of(sample: &Sample) -> (Self, usize) {
        let (out, out_left) = drawable(sample.stages(Direction::Tx));
        let (into, in_left) = drawable(sample.stages(Direction::Rx));
        let last = [&out, &into].into_iter().filter_map(|stages| Some(stages.last()?.end)).max();
        let end = sample.received_ns.into_iter().chain(last).fold(sample.sent_ns, u64::max);
        // An answer that came back before it was sent is a stage that cannot be drawn, too.
        let whole_end = sample.received_ns.unwrap_or(end).max(sample.sent_ns);
        (Self { begin: sample.sent_ns, whole_end, end, out, into }, out_left + in_left)
    }
}

/// None over another, and how many are left out.
fn drawable(mut spans: Vec<StageSpan>) -> (Vec<StageSpan>, usize) {
    let (all, mut last) = (spans.len(), 0);
    spans.retain(|span| {
        let fits = last <= span.begin && span.begin <= span.end;
        if fits {
            last = span.end;
        }
        fits
    });
    let left_out = all - spans.len();
    (spans, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_follow_each_other_and_what_runs_backwards_is_counted() {
        let sample = Sample {
            sent_ns: 1000,
            net_dev_queue_ns: Some(1500),
            qdisc_enqueue_ns: Some(1520),
            qdisc_dequeue_ns: Some(1570),
            net_dev_start_xmit_ns: Some(1600),
            net_dev_xmit_ns: Some(2200),
            arrival_ns: Some(1900),
            netif_receive_skb_ns: Some(2100),
            sk_data_ready_ns: Some(2300),
            sched_switch_ns: Some(3000),
            receive_call_ns: Some(800),
            sock_recv_length_ns: Some(3500),
            received_ns: Some(3400),
            ..Sample::default()
        };
        let (drawn, left_out) = Drawn::of(&sample);
        let names = |spans: &[StageSpan]| -> Vec<(&str, i64)> {
            spans.iter().map(|s| (s.stage.name(), s.ns())).collect()
        };
        let out = [("socket", 500), ("device", 20), ("qdisc", 50), ("device", 30), ("driver", 600)];
        assert_eq!(names(&drawn.out), out);
        assert_eq!(
            names(&drawn.into),
            [("backlog", 200), ("protocol", 200), ("runqueue", 700), ("read", 500)]
        );
        assert_eq!((left_out, drawn.whole_end, drawn.end), (1, 3400, 3500));
    }
}
