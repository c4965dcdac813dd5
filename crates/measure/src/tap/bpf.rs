//! The reader's end of the bpf tap: joins what the hooks saw of a message with the
//! application's own time, after the message has arrived.

use std::io;
use std::net::UdpSocket;
use std::thread::sleep;
use std::time::Duration;

use netfathom_bpf::stack::{Idle, Reception, RxStamps, View};
use netfathom_model::message::Header;
use netfathom_model::path::{Direction, Stage};
use netfathom_model::sample::Sample;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::socket::show_reader;

use super::Collected;
use super::sampling::Sampling;
use super::undisturbed::Undisturbed;
use crate::load::tap::ReceiveTap;
use crate::load::window::Windows;

/// Joins and sums the way in.
pub struct BpfReader<'a> {
    view: View,
    windows: Windows,
    rx: bool,
    number: u64,
    call: Call,
    collected: Collected,
    sampling: Sampling,
    undisturbed: Option<Undisturbed<'a>>,
}

impl<'a> BpfReader<'a> {
    /// `rx` tells whether the way in is measured; samples are taken either way.
    #[must_use]
    pub fn new(
        view: View,
        windows: Windows,
        window_count: usize,
        rx: bool,
        sampling: Sampling,
        undisturbed: Option<Undisturbed<'a>>,
    ) -> Self {
        let collected = Collected::new(Direction::Rx.stages(), window_count);
        Self { view, windows, rx, number: 0, call: Call::default(), collected, sampling, undisturbed }
    }

    /// What was collected, of undisturbed messages too, and the samples.
    #[must_use]
    pub fn into_parts(self) -> (Collected, Option<Undisturbed<'a>>, Vec<Sample>) {
        (self.collected, self.undisturbed, self.sampling.into_samples())
    }

    /// Adds the times of a delivered message on its way in.
    ///
    /// Its stack time needs the link layer's hook only. Its stages need all: a reader that
    /// is awake may take a message before `sk_data_ready` has told of it, and then nobody
    /// knows where the one stage ended and the next began.
    fn join(&mut self, header: &Header, received_ns: u64) {
        let Some(rx) = self.view.rx(header.sequence) else { return };
        let Some(link) = rx.netif_receive_skb else { return };
        let window = self.windows.of(header.sent_ns);
        let Collected { total, stages, unstaged, .. } = &mut self.collected;
        total.add(window, span(link, received_ns));
        let reception = self.number.checked_sub(1).and_then(|n| self.view.reception(n));
        if let Some(arrived) = reception.and_then(|r| Arrived::new(&rx, &r, self.call, received_ns)) {
            arrived.stages(|stage, ns| stages[stage.index()].1.add(window, ns));
        } else {
            *unstaged += 1;
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Call {
    ns: u64,
    /// How often the reader had left its processor by then.
    departures: u64,
}

impl Call {
    /// Both of one moment: a thread that was taken off its processor between the two readings reads again.
    #[inline]
    fn now(view: &View) -> Self {
        let mut departures = view.departures();
        loop {
            let ns = monotonic_ns();
            let after = view.departures();
            if after == departures {
                return Self { ns, departures };
            }
            departures = after;
        }
    }
}

/// The times of one message on its way in.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    arrival: Option<u64>,
    link: u64,
    ready: u64,
    ready_idle: Idle,
    call: u64,
    call_idle: Idle,
    length: u64,
    length_idle: Idle,
    received: u64,
}

impl Arrived {
    /// `None` if a hook did not see it, or told of it only after the reader had it, or if the reader was taken off its
    /// processor twice in its call: what lay between link layer and receive call can then not be parted.
    fn new(rx: &RxStamps, reception: &Reception, call: Call, received: u64) -> Option<Self> {
        let ready = rx.sk_data_ready?;
        if ready > reception.sock_recv_length? {
            return None;
        }
        // Of a call that began before, only the end counts.
        let call_idle =
            if call.ns > ready { reception.idle_after(call.departures)? } else { Idle::default() };
        Some(Self {
            arrival: rx.arrival,
            link: rx.netif_receive_skb?,
            ready,
            ready_idle: rx.idle,
            call: call.ns,
            call_idle,
            length: reception.sock_recv_length?,
            length_idle: reception.idle,
            received,
        })
    }

    /// Cuts the way in into its stages; those inside add up to `received - link` for every
    /// message, whichever of them it passed.
    ///
    /// From the socket's buffer on, what the reader slept is its wake-up, what it waited for
    /// a processor is the run queue, and what it ran before its receive call is the socket's
    /// queue; the rest is the call itself.
    fn stages(&self, mut each: impl FnMut(Stage, i64)) {
        if let Some(arrival) = self.arrival {
            each(Stage::Backlog, span(arrival, self.link));
        }
        let slept = span(self.ready_idle.slept, self.length_idle.slept);
        let waited = span(self.ready_idle.waited, self.length_idle.waited);
        let busy = self.busy();
        // A kernel without a hook at the socket's buffer shows no span up to there.
        let protocol = span(self.link, self.ready);
        let passed = [
            (Stage::Protocol, protocol),
            (Stage::Wakeup, slept),
            (Stage::Runqueue, waited),
            (Stage::Sockqueue, busy),
        ];
        for (stage, ns) in passed {
            if ns != 0 {
                each(stage, ns);
            }
        }
        each(Stage::Read, span(self.ready, self.length) - slept - waited - busy);
        each(Stage::Return, span(self.length, self.received));
    }

    /// How long the reader ran from the message's arrival in the socket to its receive call.
    fn busy(&self) -> i64 {
        if self.call <= self.ready {
            return 0;
        }
        let idle = span(self.ready_idle.slept, self.call_idle.slept)
            + span(self.ready_idle.waited, self.call_idle.waited);
        span(self.ready, self.call) - idle
    }
}

fn span(from_ns: u64, to_ns: u64) -> i64 {
    to_ns.wrapping_sub(from_ns) as i64
}

impl ReceiveTap for BpfReader<'_> {
    fn begin(&mut self, socket: &UdpSocket) {
        // It shows how far the clocks are apart, by a switch to the reader just before.
        sleep(Duration::from_micros(50));
        show_reader(socket);
    }

    #[inline]
    fn receive(&mut self, socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<usize> {
        self.call = Call::now(&self.view);
        let bytes = socket.recv(buffer)?;
        // What the hook missed must not shift the numbers of all that follow.
        self.number = self.view.receptions();
        Ok(bytes)
    }

    #[inline]
    fn delivered(&mut self, header: &Header, received_ns: u64) {
        if self.rx {
            self.join(header, received_ns);
        }
        if let Some(undisturbed) = &mut self.undisturbed {
            let reception = self.number.checked_sub(1).and_then(|n| self.view.reception(n));
            undisturbed.add(&self.view, header, reception.is_some_and(|r| !r.unseen), received_ns);
        }
        if self.sampling.wants(header.sequence) {
            let reception = self.number.checked_sub(1).and_then(|n| self.view.reception(n));
            self.sampling.delivered(&self.view, header, self.call.ns, reception, received_ns);
        }
    }

    fn skipped(&mut self, sequence: u64) {
        self.sampling.unread(&self.view, sequence);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn passed(a: Arrived) -> Vec<(Stage, i64)> {
        let mut stages = Vec::new();
        a.stages(|stage, ns| stages.push((stage, ns)));
        stages
    }

    const BASE: Arrived = Arrived {
        arrival: Some(90),
        link: 100,
        ready: 150,
        ready_idle: Idle { waited: 1000, slept: 5000 },
        call: 10,
        call_idle: Idle { waited: 0, slept: 0 },
        length: 400,
        length_idle: Idle { waited: 1000, slept: 5000 },
        received: 450,
    };

    #[test]
    fn a_sleeping_reader_is_woken_and_waits_for_a_processor() {
        let a = Arrived { length_idle: Idle { waited: 1050, slept: 5030 }, ..BASE };
        let want = [
            (Stage::Backlog, 10),
            (Stage::Protocol, 50),
            (Stage::Wakeup, 30),
            (Stage::Runqueue, 50),
            (Stage::Read, 170),
            (Stage::Return, 50),
        ];
        assert_eq!(passed(a), want);
    }

    #[test]
    fn a_busy_reader_lets_the_message_wait_in_the_socket() {
        let a = Arrived { call: 300, call_idle: BASE.ready_idle, ..BASE };
        let want = [
            (Stage::Backlog, 10),
            (Stage::Protocol, 50),
            (Stage::Sockqueue, 150),
            (Stage::Read, 100),
            (Stage::Return, 50),
        ];
        assert_eq!(passed(a), want);
    }

    #[test]
    fn a_busy_reader_that_is_preempted_is_not_busy_meanwhile() {
        let idle = Idle { waited: 1040, slept: 5000 };
        let a = Arrived { call: 300, call_idle: idle, length_idle: idle, ..BASE };
        let stages = passed(a);
        assert!(stages.contains(&(Stage::Runqueue, 40)) && stages.contains(&(Stage::Sockqueue, 110)));
    }

    /// Ready at 150 while the reader ran; taken off its processor for 40 before or within its call.
    #[test]
    fn a_preemption_is_told_to_lie_before_the_call_or_within_it() {
        let rx = RxStamps {
            netif_receive_skb: Some(100),
            sk_data_ready: Some(150),
            idle: Idle { waited: 1000, slept: 5000 },
            ..RxStamps::default()
        };
        let reception = Reception {
            sock_recv_length: Some(400),
            departures: 7,
            at_departure: Idle { waited: 1000, slept: 5000 },
            idle: Idle { waited: 1040, slept: 5000 },
            ..Reception::default()
        };
        let busy = |departures| {
            let call = Call { ns: 300, departures };
            Arrived::new(&rx, &reception, call, 450).map(|arrived| arrived.busy())
        };
        assert_eq!([7, 6, 5].map(busy), [Some(110), Some(150), None]);
    }

    proptest! {
        #[test]
        fn the_stages_inside_always_add_up(t in prop::array::uniform10(1u64..1000)) {
            let [link, ready, call, length, received, a, b, c, d, e] = t;
            let arrived = Arrived {
                arrival: None,
                link,
                ready,
                ready_idle: Idle { waited: a, slept: b },
                call,
                call_idle: Idle { waited: c, slept: d },
                length,
                length_idle: Idle { waited: e, slept: a },
                received,
            };
            let sum: i64 = passed(arrived).iter().filter(|(s, _)| s.is_inside()).map(|(_, ns)| ns).sum();
            prop_assert_eq!(sum, received as i64 - link as i64);
        }
    }
}
