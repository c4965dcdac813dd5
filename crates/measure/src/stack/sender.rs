//! The load: open loop, each message at its own time, whatever became of those before it.
//!
//! A message that is late is sent at once; none is skipped, and none is moved because
//! another was late. What the generator could not keep up with is its lag.

use std::collections::BTreeMap;
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

use netfathom_model::message::Header;
use netfathom_stats::{Histogram, Windowed};
use netfathom_sys::clock::{monotonic_ns, sleep_until_ns};

use super::tap::{GRAIN, PART_GRAIN, SendTap};
use super::window::Windows;

/// Before a departure the last stretch is spun, not slept: a wake-up alone is late by
/// tens of microseconds.
const SPIN_NS: u64 = 200_000;
/// Lag is compared with the wanted interval in thousandths.
const PER_INTERVAL: i64 = 1000;

/// What a running trial shows to those who watch.
#[derive(Debug, Default)]
pub struct Live {
    /// Messages sent so far.
    pub sent: AtomicU64,
    /// Lag of the last one.
    pub lag_ns: AtomicI64,
}

/// What is to be sent.
pub struct Task<'a> {
    /// Connected to the reader.
    pub socket: &'a UdpSocket,
    /// The trial.
    pub flow: u32,
    /// UDP payload, bytes.
    pub size: usize,
    /// Where the windows begin: the start of the trial.
    pub windows: Windows,
    /// How many windows.
    pub window_count: usize,
    /// When the sender gives up on what is still unsent, CLOCK_MONOTONIC.
    pub deadline_ns: u64,
    /// The user wants an end.
    pub stop: &'a AtomicBool,
    /// For those who watch.
    pub live: &'a Live,
}

/// What was sent.
pub struct Sent {
    /// Messages that the operating system accepted.
    pub accepted: u64,
    /// Messages that it refused, by errno.
    pub refused: BTreeMap<i32, u64>,
    /// Messages that were never tried.
    pub unsent: u64,
    /// Messages that left after the next one was due.
    pub missed_slots: u64,
    /// From the first departure to the last.
    pub span_ns: u64,
    /// The last departure, from the start of the trial.
    pub end_ns: u64,
    /// Actual minus intended departure.
    pub lag: Windowed,
    /// The same in thousandths of the wanted interval at that moment.
    pub lag_of_interval: Histogram,
    /// Duration of the send call.
    pub send_call: Windowed,
}

impl Sent {
    fn new(windows: usize) -> Self {
        Self {
            accepted: 0,
            refused: BTreeMap::new(),
            unsent: 0,
            missed_slots: 0,
            span_ns: 0,
            end_ns: 0,
            lag: Windowed::new(GRAIN, windows),
            lag_of_interval: Histogram::new(GRAIN),
            send_call: Windowed::new(PART_GRAIN, windows),
        }
    }

    /// Messages that were tried, whatever came of it: one more than the highest sequence.
    #[must_use]
    pub fn tried(&self) -> u64 {
        self.accepted + self.refused.values().sum::<u64>()
    }

    /// 99th percentile of the lag, in wanted intervals.
    #[must_use]
    pub fn lag_p99_of_interval(&self) -> f64 {
        self.lag_of_interval.quantile(0.99).unwrap_or(0) as f64 / PER_INTERVAL as f64
    }

    fn departed(&mut self, window: usize, lag_ns: i64, interval_ns: u64) {
        self.lag.add(window, lag_ns);
        // The last message has none after it: it cannot miss a slot.
        let interval = i64::try_from(interval_ns).unwrap_or(i64::MAX).max(1);
        self.lag_of_interval.add(lag_ns.saturating_mul(PER_INTERVAL) / interval);
        self.missed_slots += u64::from(lag_ns > interval);
    }
}

/// Sends a message at each of the departures, given from the start of the trial.
pub fn send_all<T: SendTap>(
    task: &Task<'_>,
    departures: impl ExactSizeIterator<Item = u64>,
    tap: &mut T,
) -> Sent {
    let mut sent = Sent::new(task.window_count);
    let mut payload = vec![0; task.size];
    let (mut first_ns, mut last_ns) = (0, 0);
    let mut departures = departures.enumerate().peekable();
    while let Some((sequence, due_ns)) = departures.next() {
        let intended_ns = task.windows.start_ns + due_ns;
        let Some(sent_ns) = wait(intended_ns, task) else {
            sent.unsent = departures.len() as u64 + 1;
            break;
        };
        let header = Header { flow: task.flow, sequence: sequence as u64, intended_ns, sent_ns };
        header.write(&mut payload);
        let outcome = send(task.socket, &payload);
        let done_ns = monotonic_ns();
        let window = task.windows.of(sent_ns);
        match outcome {
            Ok(()) => sent.accepted += 1,
            Err(e) => *sent.refused.entry(e.raw_os_error().unwrap_or(0)).or_default() += 1,
        }
        let interval_ns = departures.peek().map_or(u64::MAX, |&(_, next_ns)| next_ns - due_ns);
        let lag_ns = (sent_ns - intended_ns) as i64;
        sent.departed(window, lag_ns, interval_ns);
        sent.send_call.add(window, (done_ns - sent_ns) as i64);
        tap.sent(task.socket, sequence as u64, sent_ns);
        task.live.sent.store(sequence as u64 + 1, Relaxed);
        task.live.lag_ns.store(lag_ns, Relaxed);
        first_ns = if sequence == 0 { sent_ns } else { first_ns };
        last_ns = sent_ns;
    }
    sent.span_ns = last_ns - first_ns;
    sent.end_ns = last_ns.saturating_sub(task.windows.start_ns);
    tap.finish(task.socket);
    sent
}

/// Waits for the departure; returns the time it is, or `None` if there is to be no more.
#[inline]
fn wait(intended_ns: u64, task: &Task<'_>) -> Option<u64> {
    let mut now = monotonic_ns();
    while now + SPIN_NS < intended_ns {
        // In short naps, so that a slow profile still ends when it is told to.
        sleep_until_ns((intended_ns - SPIN_NS).min(now + 50_000_000));
        now = monotonic_ns();
        if task.stop.load(Relaxed) {
            return None;
        }
    }
    while now < intended_ns {
        std::hint::spin_loop();
        now = monotonic_ns();
    }
    (now < task.deadline_ns && !task.stop.load(Relaxed)).then_some(now)
}

#[inline]
fn send(socket: &UdpSocket, payload: &[u8]) -> io::Result<()> {
    loop {
        match socket.send(payload) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome.map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(departures: Vec<u64>, deadline_ns: u64, stop: bool) -> (Sent, usize) {
        let reader = UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(reader.local_addr().unwrap()).unwrap();
        let stop = AtomicBool::new(stop);
        let start_ns = monotonic_ns() + 1_000_000;
        let task = Task {
            socket: &socket,
            flow: 7,
            size: 64,
            windows: Windows { start_ns, shift: 20 },
            window_count: 8,
            deadline_ns: start_ns + deadline_ns,
            stop: &stop,
            live: &Live::default(),
        };
        let sent = send_all(&task, departures.into_iter(), &mut ());
        reader.set_nonblocking(true).unwrap();
        let mut got = 0;
        let mut buffer = [0; 64];
        while reader.recv(&mut buffer).is_ok() {
            assert_eq!(Header::read(&buffer).unwrap().sequence, got);
            got += 1;
        }
        (sent, got as usize)
    }

    #[test]
    fn no_message_leaves_early_and_each_has_its_number() {
        let (sent, got) = run((0..50).map(|i| i * 100_000).collect(), u64::MAX / 2, false);
        assert_eq!((sent.accepted, got, sent.unsent), (50, 50, 0));
        assert_eq!(sent.lag.distribution.moments.n, 50);
        assert!(sent.lag.distribution.moments.min >= 0);
    }

    #[test]
    fn the_last_message_misses_no_slot() {
        let (sent, _) = run(vec![0], u64::MAX / 2, false);
        assert_eq!((sent.accepted, sent.missed_slots), (1, 0));
        assert!(sent.lag_p99_of_interval() < 1.0);
    }

    #[test]
    fn lateness_is_lag_and_missed_slots_not_silence() {
        // All due at once: each but the first leaves after the next was due.
        let (sent, got) = run((0..100).map(|i| i * 10).collect(), u64::MAX / 2, false);
        assert_eq!(got, 100);
        assert!(sent.missed_slots > 50, "{}", sent.missed_slots);
        assert!(sent.lag_p99_of_interval() > 1.0);
    }

    #[test]
    fn what_is_not_sent_by_the_deadline_is_counted() {
        let (sent, got) = run((0..10).map(|i| i * 1_000_000).collect(), 4_500_000, false);
        assert_eq!(got as u64 + sent.unsent, 10);
        assert!(sent.unsent >= 5);
    }

    #[test]
    fn a_stop_is_obeyed() {
        let (sent, _) = run(vec![0, 60_000_000_000], u64::MAX / 2, true);
        assert_eq!((sent.accepted, sent.unsent), (0, 2));
    }
}
