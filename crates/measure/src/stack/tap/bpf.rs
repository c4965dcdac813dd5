//! The reader's end of the bpf tap: joins what the hooks saw of a message with the
//! application's own time, after the message has arrived.

use std::io;
use std::net::UdpSocket;

use netfathom_bpf::stack::{Reception, RxStamps, View};
use netfathom_model::message::Header;
use netfathom_model::path::{Direction, Stage};
use netfathom_model::sample::Sample;
use netfathom_sys::clock::monotonic_ns;

use super::{Collected, ReceiveTap};
use crate::stack::sampling::Sampling;
use crate::stack::sender::GRAIN;
use crate::stack::window::Windows;

/// Joins and sums the way in.
pub struct BpfReader {
    view: View,
    windows: Windows,
    rx: bool,
    number: u64,
    call_ns: u64,
    collected: Collected,
    sampling: Sampling,
}

impl BpfReader {
    /// `rx` tells whether the way in is measured; samples are taken either way.
    #[must_use]
    pub fn new(view: View, windows: Windows, window_count: usize, rx: bool, sampling: Sampling) -> Self {
        let collected = Collected::new(Direction::Rx.stages(), GRAIN, window_count);
        Self { view, windows, rx, number: 0, call_ns: 0, collected, sampling }
    }

    /// What was collected, and the samples.
    #[must_use]
    pub fn into_parts(self) -> (Collected, Vec<Sample>) {
        (self.collected, self.sampling.into_samples())
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
        let Collected { total, stages } = &mut self.collected;
        total.add(window, span(link, received_ns));
        let reception = self.number.checked_sub(1).and_then(|n| self.view.reception(n));
        if let Some(arrived) = reception.and_then(|r| Arrived::new(&rx, &r, self.call_ns, received_ns)) {
            arrived.stages(|stage, ns| stages[stage.index()].1.add(window, ns));
        }
    }
}

/// The times of one message on its way in.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    arrival: Option<u64>,
    link: u64,
    ready: u64,
    wakeup: u64,
    switch: u64,
    call: u64,
    length: u64,
    received: u64,
}

impl Arrived {
    fn new(rx: &RxStamps, reception: &Reception, call: u64, received: u64) -> Option<Self> {
        Some(Self {
            arrival: rx.arrival,
            link: rx.netif_receive_skb?,
            ready: rx.sk_data_ready?,
            wakeup: reception.sched_wakeup.unwrap_or(0),
            switch: reception.sched_switch.unwrap_or(0),
            call,
            length: reception.sock_recv_length?,
            received,
        })
    }

    /// Cuts the way in into its stages. Those inside add up to `received - link` for every
    /// message, whichever of them it passed: from the socket's buffer on, each is the step
    /// from where the last ended to its own mark, if that came later.
    fn stages(&self, mut each: impl FnMut(Stage, i64)) {
        if let Some(arrival) = self.arrival {
            each(Stage::Backlog, span(arrival, self.link));
        }
        each(Stage::Protocol, span(self.link, self.ready));
        let mut cursor = self.ready;
        // A wake-up counts if the reader then came onto a processor because of it.
        let woken = if self.wakeup < self.switch { self.wakeup } else { 0 };
        for (stage, mark) in
            [(Stage::Wakeup, woken), (Stage::Runqueue, self.switch), (Stage::Sockqueue, self.call)]
        {
            if mark > cursor {
                each(stage, span(cursor, mark));
                cursor = mark;
            }
        }
        each(Stage::Read, span(cursor, self.length));
        each(Stage::Return, span(self.length, self.received));
    }
}

fn span(from_ns: u64, to_ns: u64) -> i64 {
    to_ns.wrapping_sub(from_ns) as i64
}

impl ReceiveTap for BpfReader {
    #[inline]
    fn receive(&mut self, socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<usize> {
        self.call_ns = monotonic_ns();
        let bytes = socket.recv(buffer)?;
        self.number += 1;
        Ok(bytes)
    }

    #[inline]
    fn delivered(&mut self, header: &Header, received_ns: u64) {
        if self.rx {
            self.join(header, received_ns);
        }
        if self.sampling.wants(header.sequence) {
            let reception = self.number.checked_sub(1).and_then(|n| self.view.reception(n));
            self.sampling.delivered(&self.view, header, self.call_ns, reception, received_ns);
        }
    }

    fn skipped(&mut self, sequence: u64, gap: u64) {
        self.sampling.lost(&self.view, sequence - gap..sequence);
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
        wakeup: 0,
        switch: 0,
        call: 10,
        length: 400,
        received: 450,
    };

    #[test]
    fn a_sleeping_reader_is_woken_and_waits_for_a_processor() {
        let a = Arrived { wakeup: 180, switch: 230, ..BASE };
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
        let a = Arrived { wakeup: 20, switch: 30, call: 300, ..BASE };
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
    fn a_preempted_reader_waits_for_a_processor_without_a_wakeup() {
        let a = Arrived { wakeup: 20, switch: 350, ..BASE };
        assert!(passed(a).contains(&(Stage::Runqueue, 200)));
        assert!(passed(a).iter().all(|(s, _)| *s != Stage::Wakeup));
    }

    proptest! {
        #[test]
        fn the_stages_inside_always_add_up(times in prop::array::uniform7(1u64..1000)) {
            let [link, ready, wakeup, switch, call, length, received] = times;
            let a = Arrived { arrival: None, link, ready, wakeup, switch, call, length, received };
            let sum: i64 = passed(a).iter().filter(|(s, _)| s.is_inside()).map(|(_, ns)| ns).sum();
            prop_assert_eq!(sum, received as i64 - link as i64);
        }
    }
}
