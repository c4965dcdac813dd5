//! What the hooks saw of one message, for the thread that reads it.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::fence;

use netfathom_model::path::Stage;

use super::order::{published, whole};
use super::shared::{Mapping, SLOTS, stamp};
use super::{Hooks, abi};

/// Times of a message on its way out, CLOCK_MONOTONIC ns; `None` where a hook did not see it.
#[derive(Clone, Copy, Debug, Default)]
pub struct TxStamps {
    /// The application's stamp, as the message carries it.
    pub sent: Option<u64>,
    /// From the protocol's send function to IP, where a program is attached there; over TCP the end of the send call.
    pub output: Option<u64>,
    pub net_dev_queue: Option<u64>,
    pub qdisc_enqueue: Option<u64>,
    pub qdisc_dequeue: Option<u64>,
    /// The link layer.
    pub net_dev_start_xmit: Option<u64>,
    pub net_dev_xmit: Option<u64>,
}

impl TxStamps {
    /// The stages of the way out, in ns, as the programs sum them up (`sum_up`): those inside add up to
    /// `net_dev_start_xmit` - `sent`. None where only the link layer has a hook.
    pub fn stages(&self, is_stream: bool, mut each: impl FnMut(Stage, i64)) {
        let (Some(sent), Some(handed), Some(link)) = (self.sent, self.net_dev_queue, self.net_dev_start_xmit)
        else {
            return;
        };
        let span = |from: u64, to: u64| to.wrapping_sub(from) as i64;
        match self.output {
            Some(output) if !is_stream => {
                each(Stage::Send, span(sent, output));
                each(Stage::Output, span(output, handed));
            }
            Some(output) if output < handed => {
                each(Stage::Socket, span(sent, output));
                each(Stage::Sendq, span(output, handed));
            }
            _ => each(Stage::Socket, span(sent, handed)),
        }
        let queued = self.qdisc_enqueue.zip(self.qdisc_dequeue).map(|(from, to)| span(from, to));
        if let Some(queued) = queued {
            each(Stage::Qdisc, queued);
        }
        each(Stage::Device, span(handed, link) - queued.unwrap_or(0));
        if let Some(done) = self.net_dev_xmit {
            each(Stage::Driver, span(link, done));
        }
    }
}

/// Times of a message on its way in, CLOCK_MONOTONIC ns; `None` where a hook did not see it.
#[derive(Clone, Copy, Debug, Default)]
pub struct RxStamps {
    /// From the driver into the stack's queue.
    pub arrival: Option<u64>,
    /// The link layer.
    pub netif_receive_skb: Option<u64>,
    /// To the socket: the entry of `__udp_enqueue_schedule_skb`.
    pub enqueue: Option<u64>,
    /// Into the socket's receive buffer.
    pub sk_data_ready: Option<u64>,
    /// What the reader had waited and slept by then.
    pub idle: Idle,
}

/// How long the reader's thread has not run, ns since the programs were loaded. The
/// difference of two readings tells where a message waited in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Idle {
    /// It could run but had no processor.
    pub waited: u64,
    pub slept: u64,
}

impl From<&abi::shared::Idle> for Idle {
    fn from(idle: &abi::shared::Idle) -> Self {
        Self { waited: idle.waited.load(Relaxed), slept: idle.slept.load(Relaxed) }
    }
}

/// A moment of the reader's thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    pub ns: u64,
    /// How often the reader had left its processor by then.
    pub departures: u64,
}

impl Moment {
    fn seen(moment: &abi::shared::Moment) -> Option<Self> {
        stamp(&moment.ns).map(|ns| Self { ns, departures: moment.departures.load(Relaxed) })
    }
}

/// The reader's side of one successful receive, CLOCK_MONOTONIC ns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reception {
    /// The receive call has the message.
    pub sock_recv_length: Option<u64>,
    /// UDP's half of the receive call begins: the entry of `udp_recvmsg`.
    pub entry: Option<Moment>,
    /// The message is off the socket's queue: the exit of `__skb_recv_udp`.
    pub dequeue: Option<Moment>,
    /// The reader's last way onto a processor before that.
    pub sched_switch: Option<u64>,
    /// How often the reader had left its processor by then.
    pub departures: u64,
    /// What the reader had waited and slept when it left for the last time.
    pub at_departure: Idle,
    /// What it had waited and slept at the end.
    pub idle: Idle,
    /// Whether no program saw how it came to its processor: who had it before is not known.
    pub unseen: bool,
}

impl Reception {
    /// The reader's wake-up before its last way onto a processor; `None` if it had not slept then.
    pub fn sched_wakeup(&self) -> Option<u64> {
        let has_slept = self.idle.slept != self.at_departure.slept;
        let waited = self.idle.waited.wrapping_sub(self.at_departure.waited);
        self.sched_switch.filter(|_| has_slept).map(|switched| switched.wrapping_sub(waited))
    }

    /// What the reader had waited and slept when it had left its processor that often: known since its last departure
    /// and at this one.
    pub fn idle_after(&self, departures: u64) -> Option<Idle> {
        match self.departures - departures {
            0 => Some(self.idle),
            1 => Some(self.at_departure),
            _ => None,
        }
    }
}

/// Reads the shared memory. Cheap to clone and to send to a thread.
#[derive(Clone)]
pub struct View {
    mapping: Arc<Mapping>,
    at: Hooks,
}

impl View {
    pub(super) fn new(mapping: Arc<Mapping>, at: Hooks) -> Self {
        Self { mapping, at }
    }

    /// Where the times are taken.
    #[must_use]
    pub fn hooks(&self) -> Hooks {
        self.at
    }

    /// The way out of a message; `None` if its slot holds another by now.
    #[inline]
    pub fn tx(&self, sequence: u64) -> Option<TxStamps> {
        let slot = &self.mapping.get().tx[(sequence + 1) as usize & (SLOTS - 1)];
        whole(&slot.owner, sequence + 1, || TxStamps {
            sent: stamp(&slot.sent),
            output: stamp(&slot.output),
            net_dev_queue: stamp(&slot.net_dev_queue),
            qdisc_enqueue: stamp(&slot.qdisc_enqueue),
            qdisc_dequeue: stamp(&slot.qdisc_dequeue),
            net_dev_start_xmit: stamp(&slot.net_dev_start_xmit),
            net_dev_xmit: stamp(&slot.net_dev_xmit),
        })
    }

    /// A message that is to be sent over TCP, by the calling thread: no program can read its stamp.
    #[inline]
    pub fn announce(&self, sequence: u64, sent_ns: u64) {
        let shared = self.mapping.get();
        let slot = &shared.tx[(sequence + 1) as usize & (SLOTS - 1)];
        slot.owner.store(0, Relaxed);
        fence(Release);
        slot.fields().iter().skip(1).for_each(|field| field.store(0, Relaxed));
        slot.sent.store(sent_ns, Relaxed);
        slot.owner.store(sequence + 1, Release);
        shared.stream.announced.store(sequence + 1, Release);
    }

    /// The way in of a message; `None` if its slot holds another by now.
    #[inline]
    pub fn rx(&self, sequence: u64) -> Option<RxStamps> {
        let slot = &self.mapping.get().rx[(sequence + 1) as usize & (SLOTS - 1)];
        whole(&slot.owner, sequence + 1, || RxStamps {
            arrival: stamp(&slot.arrival),
            netif_receive_skb: stamp(&slot.netif_receive_skb),
            enqueue: stamp(&slot.enqueue),
            sk_data_ready: published(&slot.sk_data_ready),
            // After the time, which was stored after it.
            idle: (&slot.idle).into(),
        })
    }

    /// The reader's receive with that number, counted from 0 since the programs were
    /// loaded; `None` if the hook did not see it or its place was taken since.
    #[inline]
    pub fn reception(&self, number: u64) -> Option<Reception> {
        let slot = &self.mapping.get().receptions[number as usize & (SLOTS - 1)];
        whole(&slot.number, number + 1, || Reception {
            sock_recv_length: stamp(&slot.sock_recv_length),
            entry: Moment::seen(&slot.entry),
            dequeue: Moment::seen(&slot.dequeue),
            sched_switch: stamp(&slot.sched_switch),
            departures: slot.departures.load(Relaxed),
            at_departure: (&slot.at_departure).into(),
            idle: (&slot.idle).into(),
            unseen: slot.unseen.load(Relaxed) != 0,
        })
    }

    /// Successful receives of the reader that the hook has seen.
    #[inline]
    pub fn receptions(&self) -> u64 {
        self.mapping.get().reader.receptions_n.load(Relaxed)
    }

    /// How often the calling thread, if it is the reader, has left its processor so far. It is stored only while the
    /// thread is off its processor, and the kernel orders that before the thread goes on: no version, and no order of
    /// loads.
    #[inline]
    pub fn departures(&self) -> u64 {
        self.mapping.get().reader.departures.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAY: TxStamps = TxStamps {
        sent: Some(100),
        output: None,
        net_dev_queue: Some(200),
        qdisc_enqueue: None,
        qdisc_dequeue: None,
        net_dev_start_xmit: Some(250),
        net_dev_xmit: Some(300),
    };

    fn stages(stamps: TxStamps, is_stream: bool) -> Vec<(Stage, i64)> {
        let mut stages = Vec::new();
        stamps.stages(is_stream, |stage, ns| stages.push((stage, ns)));
        let inside: i64 = stages.iter().filter(|(stage, _)| stage.is_inside()).map(|(_, ns)| ns).sum();
        assert!(stages.is_empty() || inside == 150, "{stages:?}");
        stages
    }

    #[test]
    fn the_stages_of_the_way_out_are_those_that_the_programs_sum_up() {
        let parted = TxStamps { output: Some(140), ..WAY };
        let begin = |stamps, is_stream| stages(stamps, is_stream)[..2].to_vec();
        assert_eq!(stages(WAY, false), [(Stage::Socket, 100), (Stage::Device, 50), (Stage::Driver, 50)]);
        assert_eq!(begin(parted, false), [(Stage::Send, 40), (Stage::Output, 60)]);
        assert_eq!(begin(parted, true), [(Stage::Socket, 40), (Stage::Sendq, 60)]);
        // Sent before the call returned.
        let at_once = TxStamps { output: Some(220), ..WAY };
        assert_eq!(begin(at_once, true), [(Stage::Socket, 100), (Stage::Device, 50)]);
        let queued = TxStamps { qdisc_enqueue: Some(205), qdisc_dequeue: Some(235), ..WAY };
        assert_eq!(stages(queued, false)[1..3], [(Stage::Qdisc, 30), (Stage::Device, 20)]);
        assert_eq!(stages(TxStamps { net_dev_queue: None, ..WAY }, false), []);
    }
}
