//! What comes in while the load goes out: who reads it, and the far end that answers.

use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use netfathom_model::message::Header;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::socket::{ReceiveBatch, SendBatch, Wait};

use super::far_end::{Inbound, inbound_flow};
use super::phases::Phases;
use crate::load::engine::{Engine, Handed, Send};
use crate::load::receive::PATIENCE;
use crate::load::tap::SendTap;

/// Datagrams a call, and room for each: more than the lab's MTU.
const BATCH: usize = 64;
const BATCH_BYTES: usize = 2048;
/// The largest buffer is emptied much sooner.
const LONGEST_LEFT: Duration = Duration::from_secs(1);
/// Calls after an error that an earlier datagram of the socket met at its peer.
const MOST_REFUSED: usize = 8;

/// Messages of one flow that an application read, by window of time.
#[derive(Clone, Debug)]
pub struct WindowCounts {
    phases: Phases,
    flow: u32,
    /// A count a window; the last takes what comes after the trial.
    pub windows: Vec<u64>,
}

impl WindowCounts {
    /// None yet.
    pub fn new(phases: Phases, flow: u32) -> Self {
        Self { phases, flow, windows: vec![0; phases.window_count()] }
    }

    /// Counts those of a batch that are of the flow.
    fn take(&mut self, batch: &ReceiveBatch) -> u64 {
        let count = of_flow(batch, self.flow).count() as u64;
        self.add(monotonic_ns(), count);
        count
    }

    fn add(&mut self, at_ns: u64, count: u64) {
        let last = self.windows.len().saturating_sub(1);
        let window = self.phases.windows.of(at_ns).min(last);
        if let Some(of_window) = self.windows.get_mut(window) {
            *of_window += count;
        }
    }

    pub fn total(&self) -> u64 {
        self.windows.iter().sum()
    }
}

/// Counts what a sender's system accepted.
impl SendTap for WindowCounts {
    fn sent(&mut self, header: &Header, accepted: bool) {
        self.add(header.sent_ns, accepted.into());
    }
}

fn batch() -> ReceiveBatch {
    ReceiveBatch::new(BATCH, BATCH_BYTES)
}

fn of_flow(batch: &ReceiveBatch, flow: u32) -> impl Iterator<Item = (Header, usize)> {
    let headers = batch
        .datagrams()
        .filter_map(|datagram| Some((Header::read(datagram.payload)?, datagram.payload.len())));
    headers.filter(move |(header, _)| header.flow == flow)
}

/// Nothing there in time, or a signal, is no failure; nor is a reply that an earlier datagram found no socket.
fn receive(batch: &mut ReceiveBatch, socket: &UdpSocket, wait: Wait) -> io::Result<usize> {
    for _ in 0..MOST_REFUSED {
        match batch.receive(socket, wait) {
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return Ok(0);
            }
            outcome => return outcome,
        }
    }
    Ok(0)
}

/// When a reader ends.
#[derive(Clone, Copy)]
pub struct Until<'a> {
    /// The trial is over: what is left is still read.
    pub ended: &'a AtomicBool,
    /// The user has stopped it, or the other end is gone: nothing more is read.
    pub cut: [&'a AtomicBool; 2],
}

impl Until<'_> {
    /// Hands over batch after batch; `take` returns how many messages of the flow were in one. Whoever goes on
    /// sending does not keep the reader.
    fn each(&self, socket: &UdpSocket, mut take: impl FnMut(&ReceiveBatch) -> u64) -> io::Result<()> {
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut batch = batch();
        let mut ended: Option<Instant> = None;
        while !self.cut.iter().any(|cut| cut.load(Relaxed)) {
            if self.ended.load(Relaxed) {
                ended.get_or_insert_with(Instant::now);
            }
            let received = receive(&mut batch, socket, Wait::ForOne)?;
            let came = take(&batch);
            let emptied = came == 0 && received < BATCH;
            if ended.is_some_and(|ended| emptied || ended.elapsed() >= LONGEST_LEFT) {
                break;
            }
        }
        Ok(())
    }
}

pub fn read(socket: &UdpSocket, mut counts: WindowCounts, until: Until<'_>) -> io::Result<WindowCounts> {
    until.each(socket, |batch| counts.take(batch))?;
    Ok(counts)
}

/// Takes what is left in a socket, without waiting; how many messages of the flow that was.
pub fn left(socket: &UdpSocket, flow: u32) -> u64 {
    let (mut batch, mut left, begin) = (batch(), 0, Instant::now());
    // Whoever goes on sending may do so for good.
    while begin.elapsed() < LONGEST_LEFT
        && let Ok(1..) = receive(&mut batch, socket, Wait::No)
    {
        left += of_flow(&batch, flow).count() as u64;
    }
    left
}

/// Reads throughout the trial and answers the part of the messages that the time is for, evenly among them, until it is to
/// end. That it reads where it does not answer keeps everything but the answers the same in all parts of the trial.
///
/// A message and its answer have `size` bytes; one of another length is none of the load. Answers have their own flow, so
/// that nothing that follows a message out takes them for it.
pub fn echo(
    socket: &UdpSocket,
    flow: u32,
    size: usize,
    phases: Phases,
    until: Until<'_>,
) -> io::Result<Inbound> {
    let mut answers = SendBatch::new(BATCH, size);
    let (mut read, mut sent, mut due) = (0, 0, 0.0);
    until.each(socket, |batch| {
        let messages = of_flow(batch, flow).filter(|(_, length)| *length == size);
        let share = phases.answered_share(monotonic_ns());
        if share == 0.0 {
            due = 0.0;
        }
        let (mut came, mut filled) = (0, 0);
        for (header, _) in messages {
            came += 1;
            due += share;
            if due >= 1.0 {
                due -= 1.0;
                Header { flow: inbound_flow(flow), ..header }.write(answers.payload(filled));
                filled += 1;
            }
        }
        sent += send(&mut answers, socket, filled);
        read += came;
        came
    })?;
    Ok(Inbound { sent, read, ..Inbound::default() })
}

/// Sends `count` messages of a batch, and skips each that is refused. Returns how many were accepted.
fn send(batch: &mut SendBatch, socket: &UdpSocket, count: usize) -> u64 {
    let (mut from, mut sent) = (0, 0);
    while from < count {
        // One that is refused is left out, as a program would that has the next to answer.
        let taken = batch.send(socket, from..count).unwrap_or(0);
        sent += taken as u64;
        from += taken.max(1);
    }
    sent
}

/// An engine that first reads everything that has come in: the sending thread of a program
/// that does both.
pub struct Draining<'a> {
    engine: Send,
    socket: &'a UdpSocket,
    batch: ReceiveBatch,
    pub counts: WindowCounts,
}

impl<'a> Draining<'a> {
    /// Sends by the engine, and reads the socket before each message.
    pub fn new(engine: Send, socket: &'a UdpSocket, counts: WindowCounts) -> Self {
        Self { engine, socket, batch: batch(), counts }
    }
}

impl Engine for Draining<'_> {
    fn send(&mut self, messages: &mut [Header]) -> Handed {
        // An error of the socket would be that of an earlier answer; a later call reads on.
        while let Ok(received @ 1..) = receive(&mut self.batch, self.socket, Wait::No) {
            self.counts.take(&self.batch);
            if received < BATCH {
                break;
            }
        }
        self.engine.send(messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::window::Windows;

    fn phases() -> Phases {
        let windows = Windows { start_ns: monotonic_ns(), shift: Windows::shift_for(60_000_000_000) };
        Phases { duration_ns: 60_000_000_000, windows }
    }

    fn pair() -> (UdpSocket, UdpSocket) {
        let [one, other] = [const { "127.0.0.1:0" }; 2].map(|address| UdpSocket::bind(address).unwrap());
        one.connect(other.local_addr().unwrap()).unwrap();
        other.connect(one.local_addr().unwrap()).unwrap();
        (one, other)
    }

    fn send_numbered(socket: &UdpSocket, flow: u32, count: u64) {
        let mut payload = [0; 64];
        for sequence in 0..count {
            Header { flow, sequence, intended_ns: 1, sent_ns: 2 }.write(&mut payload);
            socket.send(&payload).unwrap();
        }
    }

    static YES: AtomicBool = AtomicBool::new(true);
    static NO: AtomicBool = AtomicBool::new(false);
    const LEFT: Until<'_> = Until { ended: &YES, cut: [&NO; 2] };

    /// Sends while `work` runs, as fast as it can.
    fn beside_a_flood<T>(socket: &UdpSocket, flow: u32, work: impl FnOnce() -> T) -> T {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Relaxed) {
                    send_numbered(socket, flow, 1);
                }
            });
            let outcome = work();
            done.store(true, Relaxed);
            outcome
        })
    }

    /// Neither the flow itself nor others keep a reader for good, and the user at no time.
    #[test]
    fn who_goes_on_sending_does_not_keep_a_reader() {
        let (one, other) = pair();
        let echo = |until| echo(&other, 7, 64, phases(), until);
        for flow in [7, 9] {
            let counts = WindowCounts::new(phases(), 7);
            beside_a_flood(&one, flow, || read(&other, counts.clone(), LEFT)).unwrap();
            beside_a_flood(&one, flow, || echo(LEFT)).unwrap();
            for cut in [[&YES, &NO], [&NO, &YES]] {
                let until = Until { ended: &NO, cut };
                beside_a_flood(&one, flow, || read(&other, counts.clone(), until)).unwrap();
                beside_a_flood(&one, flow, || echo(until)).unwrap();
            }
        }
    }

    #[test]
    fn that_an_earlier_datagram_found_no_socket_is_no_failure() {
        let (one, other) = pair();
        let at = other.local_addr().unwrap();
        drop(other);
        one.send(&[0]).unwrap();
        let other = UdpSocket::bind(at).unwrap();
        other.connect(one.local_addr().unwrap()).unwrap();
        send_numbered(&other, 7, 3);
        assert_eq!(read(&one, WindowCounts::new(phases(), 7), LEFT).unwrap().total(), 3);
    }

    #[test]
    fn only_the_flow_is_counted_and_nothing_is_left() {
        let (one, other) = pair();
        send_numbered(&one, 7, 100);
        send_numbered(&one, 8, 3);
        let counts = read(&other, WindowCounts::new(phases(), 7), LEFT).unwrap();
        assert_eq!(counts.total(), 100);
    }

    #[test]
    fn an_engine_reads_everything_before_it_sends() {
        let ((sender, _far), (inbound_far, inbound)) = (pair(), pair());
        let mut engine = Draining::new(Send::new(sender, 64), &inbound, WindowCounts::new(phases(), 7));
        let mut messages = [Header { flow: 1, sequence: 0, intended_ns: 0, sent_ns: 0 }];
        for (there, total) in
            [(0, 0), (200, 200), (BATCH as u64, 200 + BATCH as u64), (1, 201 + BATCH as u64)]
        {
            send_numbered(&inbound_far, 7, there);
            assert_eq!(engine.send(&mut messages).accepted, 1);
            assert_eq!(engine.counts.total(), total);
        }
    }

    /// With this many messages in the rise, about half of them are answered in its middle, each once
    /// and with a flow of their own.
    #[test]
    fn an_echo_answers_its_share() {
        let (sender, far) = pair();
        let now_ns = monotonic_ns();
        // In the middle of the rise, for seconds.
        let windows = Windows { start_ns: now_ns - 150_000_000_000, shift: 33 };
        let phases = Phases { duration_ns: 400_000_000_000, windows };
        send_numbered(&sender, 7, 100);
        send_numbered(&sender, 9, 10);
        // Shorter than its answer would be.
        let mut short = [0; 32];
        Header { flow: 7, sequence: 0, intended_ns: 1, sent_ns: 2 }.write(&mut short);
        sender.send(&short).unwrap();
        let Inbound { read: of, sent: answered, .. } = echo(&far, 7, 64, phases, LEFT).unwrap();
        assert_eq!(of, 100);
        assert!((48..=52).contains(&answered), "{answered}");
        let counts = read(&sender, WindowCounts::new(phases, 8), LEFT).unwrap();
        assert_eq!(counts.total(), answered);
    }
}
