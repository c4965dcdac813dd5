//! The timestamping tap: SO_TIMESTAMPING, for a second opinion and for users without
//! privilege. The stamps are CLOCK_REALTIME and are put on the one clock by an offset that
//! is bracketed before and after the trial.

use std::io;
use std::net::UdpSocket;
use std::time::Duration;

use netfathom_model::message::Header;
use netfathom_model::path::Stage;
use netfathom_sys::clock::{monotonic_ns, sleep_until_ns};
use netfathom_sys::socket::{StampKind, TxStamp, TxStampQueue, receive};

use super::Collected;
use crate::load::tap::{ReceiveTap, SendTap};
use crate::load::window::Windows;

/// Sent messages that may still await their stamps; real drivers stamp after the call.
const PENDING: usize = 4096;
/// Receive stamps begin a little after they were asked for.
pub const STAMPS_BEGIN: Duration = Duration::from_millis(50);
/// How long to wait for the last stamps.
const LAST_STAMPS_NS: u64 = 100_000_000;

#[derive(Clone, Copy, Default)]
struct Pending {
    owner: u64,
    sent_ns: u64,
    sched_ns: u64,
    software_ns: u64,
}

/// The sender's end: reads the stamps of each message after its send call. Of messages over TCP that
/// went in one segment only the last has any.
///
/// Drained after every send none is lost; left alone, the socket's buffer overflows silently.
pub struct SendStamps {
    socket: UdpSocket,
    queue: TxStampQueue,
    pending: Vec<Pending>,
    /// How far the numbers of two messages are apart.
    bytes: u32,
    ahead_ns: i64,
    windows: Windows,
    pub collected: Collected,
    next: u64,
}

impl SendStamps {
    /// `socket` is the sender's own, which has the stamps enabled. `ahead_ns` is what
    /// CLOCK_REALTIME is ahead of CLOCK_MONOTONIC; `stages` tells whether
    /// the socket takes the stamp that parts the stages.
    pub fn new(socket: UdpSocket, bytes: u32, ahead_ns: i64, stages: bool, windows: Windows) -> Self {
        let stages: &[Stage] = if stages { &[Stage::Socket, Stage::Device] } else { &[] };
        Self {
            socket,
            queue: TxStampQueue::default(),
            pending: vec![Pending::default(); PENDING],
            bytes,
            ahead_ns,
            windows,
            collected: Collected::new(stages),
            next: 0,
        }
    }

    fn drain(&mut self) {
        let Self { socket, queue, pending, bytes, ahead_ns, windows, collected, next } = self;
        let parted = !collected.stages.is_empty();
        // A queue that cannot be read shows as messages without a time.
        let _ = queue.drain(socket, |stamp| {
            if let Some(done) = take(stamp, pending, (*next, *bytes), *ahead_ns, parted) {
                add(collected, windows, &done);
            }
        });
    }
}

/// Puts a stamp to its message; returns the message once it has all that it will get.
fn take(
    stamp: TxStamp,
    pending: &mut [Pending],
    (next, bytes): (u64, u32),
    ahead_ns: i64,
    parted: bool,
) -> Option<Pending> {
    // The kernel counts modulo 2^32; the message is the last sent with that number, which of bytes is that of its last.
    let last = (next as u32).wrapping_add(1).wrapping_mul(bytes).wrapping_sub(1);
    let behind = last.wrapping_sub(stamp.number) / bytes;
    let owner = next.checked_sub(u64::from(behind))?;
    let slot = &mut pending[owner as usize % PENDING];
    if slot.owner != owner + 1 {
        return None;
    }
    let time_ns = (stamp.realtime_ns as i64 - ahead_ns) as u64;
    match stamp.kind {
        StampKind::Sched => slot.sched_ns = time_ns,
        StampKind::Software => slot.software_ns = time_ns,
    }
    let whole = slot.software_ns != 0 && (slot.sched_ns != 0 || !parted);
    whole.then(|| std::mem::take(slot))
}

fn add(collected: &mut Collected, windows: &Windows, m: &Pending) {
    let window = windows.of(m.sent_ns);
    collected.total.add(window, m.software_ns.wrapping_sub(m.sent_ns) as i64);
    let spans = [m.sched_ns.wrapping_sub(m.sent_ns), m.software_ns.wrapping_sub(m.sched_ns)];
    for ((_, stage), span) in collected.stages.iter_mut().zip(spans) {
        stage.add(window, span as i64);
    }
}

impl SendTap for SendStamps {
    #[inline]
    fn sent(&mut self, header: &Header, _: bool) {
        self.pending[self.next as usize % PENDING] =
            Pending { owner: self.next + 1, sent_ns: header.sent_ns, sched_ns: 0, software_ns: 0 };
        self.drain();
        self.next += 1;
    }

    fn finish(&mut self) {
        let deadline = monotonic_ns() + LAST_STAMPS_NS;
        while self.collected.total.distribution.moments.n < self.next && monotonic_ns() < deadline {
            sleep_until_ns(monotonic_ns() + 1_000_000);
            self.drain();
        }
    }
}

/// The reader's end: one stamp a message, where the kernel takes the packet in.
pub struct ReceiveStamps {
    ahead_ns: i64,
    windows: Windows,
    stamp_ns: Option<u64>,
    pub collected: Collected,
}

impl ReceiveStamps {
    /// `ahead_ns` is what CLOCK_REALTIME is ahead of CLOCK_MONOTONIC.
    pub fn new(ahead_ns: i64, windows: Windows) -> Self {
        Self { ahead_ns, windows, stamp_ns: None, collected: Collected::new(&[]) }
    }
}

impl ReceiveTap for ReceiveStamps {
    #[inline]
    fn receive(&mut self, socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<usize> {
        let received = receive(socket, buffer)?;
        self.stamp_ns = received.realtime_ns.map(|ns| (ns as i64 - self.ahead_ns) as u64);
        Ok(received.bytes)
    }

    #[inline]
    fn delivered(&mut self, header: &Header, received_ns: u64) {
        if let Some(stamp_ns) = self.stamp_ns {
            let span_ns = received_ns.wrapping_sub(stamp_ns) as i64;
            self.collected.total.add(self.windows.of(header.sent_ns), span_ns);
        }
    }
}
