//! The stages of a sampled message, each from when to when.

use netfathom_model::sample::Sample;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    pub name: &'static str,
    /// CLOCK_MONOTONIC ns.
    pub begin: u64,
    pub end: u64,
}

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
    pub out: Vec<Slice>,
    pub into: Vec<Slice>,
}

impl Drawn {
    /// And how many of its stages cannot be drawn, since they end before they begin.
    pub fn of(sample: &Sample) -> (Self, usize) {
        let (out, out_left) = drawable(&stages_out(sample));
        let (into, in_left) = drawable(&stages_in(sample));
        let last = [&out, &into].into_iter().filter_map(|stages| Some(stages.last()?.end)).max();
        let end = sample.received_ns.into_iter().chain(last).fold(sample.sent_ns, u64::max);
        // An answer that came back before it was sent is a stage that cannot be drawn, too.
        let whole_end = sample.received_ns.unwrap_or(end).max(sample.sent_ns);
        (Self { begin: sample.sent_ns, whole_end, end, out, into }, out_left + in_left)
    }
}

type Span = (&'static str, Option<u64>, Option<u64>);

fn drawable(spans: &[Span]) -> (Vec<Slice>, usize) {
    let (mut slices, mut left_out) = (Vec::new(), 0);
    let mut last = 0;
    for &(name, begin, end) in spans {
        let (Some(begin), Some(end)) = (begin, end) else { continue };
        if end < begin || begin < last {
            left_out += 1;
            continue;
        }
        last = end;
        slices.push(Slice { name, begin, end });
    }
    (slices, left_out)
}

/// What of the device's stage lies before and after the queueing discipline has the same name.
fn stages_out(s: &Sample) -> Vec<Span> {
    let queue = s.net_dev_queue_ns;
    let device = match (s.qdisc_enqueue_ns, s.qdisc_dequeue_ns) {
        (Some(enqueue), Some(dequeue)) => vec![
            ("device", queue, Some(enqueue)),
            ("qdisc", Some(enqueue), Some(dequeue)),
            ("device", Some(dequeue), s.net_dev_start_xmit_ns),
        ],
        _ => vec![("device", queue, s.net_dev_start_xmit_ns)],
    };
    let mut spans = vec![("socket", Some(s.sent_ns), queue)];
    spans.extend(device);
    spans.push(("driver", s.net_dev_start_xmit_ns, s.net_dev_xmit_ns));
    spans
}

/// From hook to hook, as far as the sample tells.
fn stages_in(s: &Sample) -> Vec<Span> {
    let ready = s.sk_data_ready_ns;
    let woken = s.sched_wakeup_ns.or(ready);
    let running = s.sched_switch_ns.or(woken);
    let called = s.receive_call_ns.filter(|&call| Some(call) > running);
    vec![
        ("backlog", s.arrival_ns, s.netif_receive_skb_ns),
        ("protocol", s.netif_receive_skb_ns, ready),
        ("wakeup", s.sched_wakeup_ns.and(ready), woken),
        ("runqueue", s.sched_switch_ns.and(woken), running),
        ("sockqueue", called.and(running), called),
        ("read", called.or(running), s.sock_recv_length_ns),
        ("return", s.sock_recv_length_ns, s.received_ns),
    ]
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
        let names = |slices: &[Slice]| -> Vec<(&str, u64)> {
            slices.iter().map(|s| (s.name, s.end - s.begin)).collect()
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
