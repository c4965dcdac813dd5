//! The raw stream: every n-th message from a seeded offset, with all its times.

use netfathom_bpf::stack::{Reception, RxStamps, TxStamps, View};
use netfathom_model::message::Header;
use netfathom_model::sample::Sample;

use super::undisturbed::UndisturbedWays;

/// Which messages of a trial are kept, and those that were.
///
/// A message is chosen by its number alone, so that fast and slow, delivered and lost ones
/// have the same chance.
pub struct Sampling {
    trial: u32,
    stride: u64,
    offset: u64,
    most: usize,
    pub samples: Vec<Sample>,
}

impl Sampling {
    /// About `most` of `planned` messages, and never more; none if `most` is 0.
    pub fn new(trial: u32, planned: u64, most: usize, seed: u64) -> Self {
        let stride = planned.div_ceil(most.max(1) as u64).max(1);
        Self { trial, stride, offset: seed % stride, most, samples: Vec::with_capacity(most) }
    }

    pub fn none() -> Self {
        Self::new(0, 0, 0, 0)
    }

    /// The same choice, with nothing kept yet: for another thread that sees other messages.
    pub fn again(&self) -> Self {
        Self { samples: Vec::with_capacity(self.most), ..*self }
    }

    #[inline]
    pub fn wants(&self, sequence: u64) -> bool {
        self.samples.len() < self.most && sequence % self.stride == self.offset
    }

    pub fn delivered(
        &mut self,
        view: &View,
        header: &Header,
        call_ns: u64,
        reception: Option<Reception>,
        received_ns: u64,
        undisturbed: UndisturbedWays,
    ) {
        let mut sample = self.seen(view, header.sequence);
        sample.intended_ns = header.intended_ns;
        sample.sent_ns = header.sent_ns;
        sample.receive_call_ns = Some(call_ns);
        if let Some(reception) = reception {
            let after_ready = |time: Option<u64>| time.filter(|&t| Some(t) > sample.sk_data_ready_ns);
            sample.sched_wakeup_ns = after_ready(reception.sched_wakeup());
            sample.sched_switch_ns = after_ready(reception.sched_switch);
            sample.sock_recv_length_ns = reception.sock_recv_length;
        }
        sample.received_ns = Some(received_ns);
        [sample.tx_disturbed, sample.rx_disturbed] = undisturbed.map(|way| Some(u64::from(!way?)));
        self.samples.push(sample);
    }

    /// Keeps a message that was not read here, if it is a chosen one: it was lost, or another
    /// host has it. Its intended departure is filled in later, from the plan.
    pub fn unread(&mut self, view: &View, sequence: u64) {
        if !self.wants(sequence) {
            return;
        }
        // Of a message that no hook saw leave there is nothing to keep.
        let sample = self.seen(view, sequence);
        if sample.sent_ns != 0 {
            self.samples.push(sample);
        }
    }

    fn seen(&self, view: &View, sequence: u64) -> Sample {
        let tx: TxStamps = view.tx(sequence).unwrap_or_default();
        let rx: RxStamps = view.rx(sequence).unwrap_or_default();
        Sample {
            trial: self.trial,
            sequence,
            sent_ns: tx.sent.unwrap_or(0),
            net_dev_queue_ns: tx.net_dev_queue,
            qdisc_enqueue_ns: tx.qdisc_enqueue,
            qdisc_dequeue_ns: tx.qdisc_dequeue,
            net_dev_start_xmit_ns: tx.net_dev_start_xmit,
            net_dev_xmit_ns: tx.net_dev_xmit,
            arrival_ns: rx.arrival,
            netif_receive_skb_ns: rx.netif_receive_skb,
            sk_data_ready_ns: rx.sk_data_ready,
            ..Sample::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_is_even_and_bounded() {
        for (planned, most) in [(1000, 10), (1000, 1000), (7, 100), (1001, 10)] {
            for seed in 0..20 {
                let s = Sampling::new(0, planned, most, seed);
                let chosen = (0..planned).filter(|&n| s.wants(n)).count();
                assert!(
                    chosen <= most && chosen + 1 >= most.min(planned as usize) / 2,
                    "{planned} {most} {seed}"
                );
            }
        }
    }

    #[test]
    fn none_are_kept_when_none_are_wanted() {
        assert!((0..100).all(|n| !Sampling::new(0, 100, 0, 5).wants(n)));
    }
}
