//! The reader's end of the bpf tap: joins what the hooks saw of a message with the
//! application's own time, after the message has arrived.

use std::io;
use std::net::UdpSocket;
use std::thread::sleep;
use std::time::Duration;

use netfathom_bpf::stack::{Hooks, Idle, Moment, Reception, RxStamps, View};
use netfathom_model::message::Header;
use netfathom_model::path::{Direction, Stage};
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::socket::{receive_whole, show_reader};

use super::Collected;
use super::sampling::Sampling;
use super::undisturbed::{Undisturbed, UndisturbedWays};
use crate::load::tap::ReceiveTap;
use crate::load::window::Windows;

/// Joins and sums the way in.
pub struct BpfReader<'a> {
    view: View,
    windows: Windows,
    rx: bool,
    number: u64,
    call: Moment,
    pub collected: Collected,
    pub sampling: Sampling,
    pub undisturbed: Option<Undisturbed<'a>>,
}

impl<'a> BpfReader<'a> {
    /// `rx` tells whether the way in is measured; samples are taken either way.
    pub fn new(
        view: View,
        windows: Windows,
        rx: bool,
        sampling: Sampling,
        undisturbed: Option<Undisturbed<'a>>,
    ) -> Self {
        let collected = Collected::new(Direction::Rx.stages());
        Self { view, windows, rx, number: 0, call: Moment::default(), collected, sampling, undisturbed }
    }

    /// Adds the times of a delivered message on its way in.
    ///
    /// Its stack time needs the link layer's hook only. Its stages need all: a running reader may take
    /// a message before `sk_data_ready` reports it. Then it is unknown where the one stage ended and
    /// the next began.
    fn join(
        &mut self,
        header: &Header,
        reception: Option<Reception>,
        received_ns: u64,
        is_undisturbed: bool,
    ) {
        let Some(rx) = self.view.rx(header.sequence) else { return };
        let Some(link) = rx.netif_receive_skb else { return };
        let window = self.windows.of(header.sent_ns);
        let Collected { total, stages, unstaged, .. } = &mut self.collected;
        total.add(window, span(link, received_ns));
        if let Some(arrived) = reception.and_then(|r| Arrived::new(&rx, &r, self.call, received_ns)) {
            arrived.stages(|stage, ns| stages[stage.index()].1.add(window, ns));
            if let Some(undisturbed) = self.undisturbed.as_mut().filter(|_| is_undisturbed) {
                arrived.stages(|stage, ns| undisturbed.rx.stages[stage.index()].1.add(ns));
            }
        } else if self.view.hooks() != Hooks::LinkLayer {
            *unstaged += 1;
        }
    }
}

/// Time and departures of one moment: a thread that was taken off its processor between the two readings reads again.
#[inline]
fn now(view: &View) -> Moment {
    let mut departures = view.departures();
    loop {
        let ns = monotonic_ns();
        let after = view.departures();
        if after == departures {
            return Moment { ns, departures };
        }
        departures = after;
    }
}

/// A moment, and what the reader had waited and slept by then.
#[derive(Clone, Copy, Debug)]
struct Point {
    ns: u64,
    idle: Idle,
}

/// The times of one message on its way in.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    arrival: Option<u64>,
    link: u64,
    enqueue: Option<u64>,
    ready: Point,
    call: Point,
    entry: Option<Point>,
    dequeue: Option<Point>,
    length: Point,
    received: u64,
}

impl Arrived {
    /// `None` if a hook did not see it, or reported it only after the reader had it. Also if the reader
    /// was preempted twice in its call: what lay between link layer and receive call can then not be
    /// parted.
    fn new(rx: &RxStamps, reception: &Reception, call: Moment, received: u64) -> Option<Self> {
        let ready = rx.sk_data_ready?;
        if ready > reception.sock_recv_length? {
            return None;
        }
        let point = |m: Moment| Some(Point { ns: m.ns, idle: reception.idle_after(m.departures)? });
        // Of a call that began before, only the end counts.
        let early = Point { ns: call.ns, idle: Idle::default() };
        Some(Self {
            arrival: rx.arrival,
            link: rx.netif_receive_skb?,
            enqueue: rx.enqueue,
            ready: Point { ns: ready, idle: rx.idle },
            call: if call.ns > ready { point(call)? } else { early },
            entry: reception.entry.filter(|entry| entry.ns > ready).and_then(point),
            dequeue: reception.dequeue.and_then(point),
            length: Point { ns: reception.sock_recv_length?, idle: reception.idle },
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
        let (from, to) = (self.ready.idle, self.length.idle);
        let busy = self.busy();
        // A kernel without a hook at the socket's buffer shows no span up to there.
        let mut passed = |stage, ns| {
            if ns != 0 {
                each(stage, ns);
            }
        };
        match self.enqueue {
            Some(enqueue) => {
                passed(Stage::Input, span(self.link, enqueue));
                passed(Stage::Enqueue, span(enqueue, self.ready.ns));
            }
            None => passed(Stage::Protocol, span(self.link, self.ready.ns)),
        }
        passed(Stage::Wakeup, span(from.slept, to.slept));
        passed(Stage::Runqueue, span(from.waited, to.waited));
        passed(Stage::Sockqueue, busy);
        let read = running(&self.ready, &self.length) - busy;
        match self.dequeue {
            Some(dequeue) => {
                let begin = if self.is_late() { &self.call } else { &self.ready };
                let entry = self.entry.map_or(0, |entry| running(begin, &entry));
                let copy = running(&dequeue, &self.length);
                passed(Stage::Entry, entry);
                each(Stage::Dequeue, read - entry - copy);
                each(Stage::Copy, copy);
            }
            None => each(Stage::Read, read),
        }
        each(Stage::Return, span(self.length.ns, self.received));
    }

    /// How long the reader ran from the message's arrival in the socket to its receive call.
    fn busy(&self) -> i64 {
        if self.is_late() { running(&self.ready, &self.call) } else { 0 }
    }

    /// Whether the message was in the socket when the reader called.
    fn is_late(&self) -> bool {
        self.call.ns > self.ready.ns
    }
}

/// How long the reader ran from one moment to another.
fn running(from: &Point, to: &Point) -> i64 {
    let idle = span(from.idle.slept, to.idle.slept) + span(from.idle.waited, to.idle.waited);
    span(from.ns, to.ns) - idle
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
        self.call = now(&self.view);
        let bytes = receive_whole(socket, buffer)?;
        // What the hook missed must not shift the numbers of all that follow.
        self.number = self.view.receptions();
        Ok(bytes)
    }

    #[inline]
    fn delivered(&mut self, header: &Header, received_ns: u64) {
        let reception = self.number.checked_sub(1).and_then(|n| self.view.reception(n));
        let undisturbed = self.undisturbed.as_mut().map_or(UndisturbedWays::default(), |undisturbed| {
            let seen = !self.view.hooks().follow_reader() || reception.is_some_and(|r| !r.unseen);
            undisturbed.add(&self.view, header, seen, received_ns)
        });
        if self.rx {
            self.join(header, reception, received_ns, undisturbed[1] == Some(true));
        }
        if self.sampling.wants(header.sequence) {
            self.sampling.delivered(&self.view, header, self.call.ns, reception, received_ns, undisturbed);
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

    const IDLE: Idle = Idle { waited: 1000, slept: 5000 };

    const BASE: Arrived = Arrived {
        arrival: Some(90),
        link: 100,
        enqueue: None,
        ready: Point { ns: 150, idle: IDLE },
        call: Point { ns: 10, idle: Idle { waited: 0, slept: 0 } },
        entry: None,
        dequeue: None,
        length: Point { ns: 400, idle: IDLE },
        received: 450,
    };

    #[test]
    fn a_sleeping_reader_is_woken_and_waits_for_a_processor() {
        let length = Point { ns: 400, idle: Idle { waited: 1050, slept: 5030 } };
        let a = Arrived { length, ..BASE };
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
        let a = Arrived { call: Point { ns: 300, idle: IDLE }, ..BASE };
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
        let a = Arrived { call: Point { ns: 300, idle }, length: Point { ns: 400, idle }, ..BASE };
        let stages = passed(a);
        assert!(stages.contains(&(Stage::Runqueue, 40)) && stages.contains(&(Stage::Sockqueue, 110)));
    }

    /// Ready at 150 while the reader ran; taken off its processor for 40 before or within its call.
    #[test]
    fn a_preemption_is_placed_before_the_call_or_within_it() {
        let rx = RxStamps {
            netif_receive_skb: Some(100),
            sk_data_ready: Some(150),
            idle: IDLE,
            ..RxStamps::default()
        };
        let reception = Reception {
            sock_recv_length: Some(400),
            departures: 7,
            at_departure: IDLE,
            idle: Idle { waited: 1040, slept: 5000 },
            ..Reception::default()
        };
        let busy = |departures| {
            let call = Moment { ns: 300, departures };
            Arrived::new(&rx, &reception, call, 450).map(|arrived| arrived.busy())
        };
        assert_eq!([7, 6, 5].map(busy), [Some(110), Some(150), None]);
    }

    #[test]
    fn functions_part_the_stages_around_the_sockets_queue() {
        // Preempted for 40 while it copies: that is the run queue's.
        let dequeue = Point { ns: 330, idle: Idle { waited: 1050, slept: 5030 } };
        let length = Point { ns: 400, idle: Idle { waited: 1090, slept: 5030 } };
        let a = Arrived { enqueue: Some(130), dequeue: Some(dequeue), length, ..BASE };
        let want = [
            (Stage::Backlog, 10),
            (Stage::Input, 30),
            (Stage::Enqueue, 20),
            (Stage::Wakeup, 30),
            (Stage::Runqueue, 90),
            (Stage::Dequeue, 100),
            (Stage::Copy, 30),
            (Stage::Return, 50),
        ];
        assert_eq!(passed(a), want);
    }

    #[test]
    fn a_call_for_a_message_that_waited_begins_with_its_entry() {
        let at = |ns| Point { ns, idle: IDLE };
        let parted = Arrived { enqueue: Some(130), dequeue: Some(at(360)), ..BASE };
        let late = Arrived { call: at(300), entry: Some(at(340)), ..parted };
        let want = [
            (Stage::Backlog, 10),
            (Stage::Input, 30),
            (Stage::Enqueue, 20),
            (Stage::Sockqueue, 150),
            (Stage::Entry, 40),
            (Stage::Dequeue, 20),
            (Stage::Copy, 40),
            (Stage::Return, 50),
        ];
        assert_eq!(passed(late), want);
        // It came after the call, and before UDP looked.
        let between = passed(Arrived { entry: Some(at(170)), ..parted });
        assert!(between.contains(&(Stage::Entry, 20)) && between.contains(&(Stage::Dequeue, 190)));
    }

    proptest! {
        #[test]
        fn the_stages_inside_always_add_up(
            t in prop::array::uniform12(1u64..1000),
            entry in prop::option::of(1u64..1000),
            enqueue in prop::option::of(1u64..1000),
            hooked in prop::bool::ANY,
        ) {
            let [link, ready, call, length, received, a, b, c, d, e, dequeued, f] = t;
            let point = |ns, waited, slept| Point { ns, idle: Idle { waited, slept } };
            let arrived = Arrived {
                arrival: None,
                link,
                enqueue,
                ready: point(ready, a, b),
                call: point(call, c, d),
                entry: entry.map(|ns| point(ns, b, f)),
                dequeue: hooked.then(|| point(dequeued, f, c)),
                length: point(length, e, a),
                received,
            };
            let sum: i64 = passed(arrived).iter().filter(|(s, _)| s.is_inside()).map(|(_, ns)| ns).sum();
            prop_assert_eq!(sum, received as i64 - link as i64);
        }
    }
}
