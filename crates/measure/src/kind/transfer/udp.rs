//! Datagrams and the marks around them.
//!
//! With generated data at both ends, datagrams of 4 bytes or fewer are marks, as the classic has
//! them: one before the data starts the receiver's clock, one behind it stops it, and four more
//! follow in case that one is lost. Data from standard input may be as short as that, so that
//! there the end is a datagram of no bytes; nothing marks the start.

use std::fs::File;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::Duration;

use netfathom_model::plan::{MARK_BYTES, TransferPlan};
use netfathom_model::record::{TransferEnd, TransferMethod, TransferResult, UdpCounts};
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::{endpoint, socket};

use super::account::Meter;
use super::ends::{self, End, TransferEvent};
use super::incoming::touch;
use super::pace::Pace;
use super::streams::{self, Moved};
use super::tcp::{file, read, write_all};
use super::{Around, Broken, Buffer, TransferError};

/// Marks of the end after the one that stops the clock.
const MORE_MARKS: u32 = 4;
/// How long one of them may take to follow the other.
const NEXT_MARK: Duration = Duration::from_millis(20);
/// Before a datagram is tried again that the device had no room for; the classic waits 18 ms.
const NO_ROOM: Duration = Duration::from_millis(1);

/// Sends to a host, which need not exist: UDP confirms nothing.
pub(super) fn send(plan: &TransferPlan, around: Around<'_>, number: usize, end: &End) -> Moved {
    let mut buffer = Buffer::new(plan);
    let mut sender = Sender { around, socket: end.socket.as_fd(), counts: UdpCounts::default() };
    let mut meter = Meter::start(around.live, number, end);
    let sent = if plan.generated {
        sender.send_generated(plan, buffer.bytes(), &mut meter)
    } else {
        sender.input(plan, buffer.bytes_mut(), &mut meter)
    };
    let mut stream = meter.stop(0);
    if sent.is_ok() {
        sender.more_marks(plan);
    }
    sender.counts.datagrams = meter.calls;
    stream.udp = Some(sender.counts);
    stream.end = sent.map_or_else(|broken| broken.end(), |()| TransferEnd::Unconfirmed);
    Moved { stream, way: TransferMethod::Copied, buffer_address: buffer.address() }
}

struct Sender<'a> {
    around: Around<'a>,
    socket: BorrowedFd<'a>,
    counts: UdpCounts,
}

impl Sender<'_> {
    fn send_generated(
        &mut self,
        plan: &TransferPlan,
        bytes: &[u8],
        meter: &mut Meter<'_>,
    ) -> Result<(), Broken> {
        let mark = &bytes[..MARK_BYTES as usize];
        self.send(mark)?;
        meter.restart();
        let mut pace = Pace::start(plan);
        for _ in 0..plan.time_ns.map_or(plan.buffers, |_| u64::MAX) {
            pace.wait(bytes.len(), self.around);
            if self.around.expired() {
                break;
            }
            self.send(bytes)?;
            meter.moved(bytes.len());
        }
        self.counts.marks = 1;
        self.mark_end(mark)
    }

    fn input(&mut self, plan: &TransferPlan, buffer: &mut [u8], meter: &mut Meter<'_>) -> Result<(), Broken> {
        let mut input = file(self.around.standard.input).map_err(Broken::Input)?;
        let mut pace = Pace::start(plan);
        loop {
            let bytes = read(self.around, &mut input, buffer)?;
            if bytes == 0 {
                return self.mark_end(&[]);
            }
            pace.wait(bytes, self.around);
            self.send(&buffer[..bytes])?;
            meter.moved(bytes);
        }
    }

    fn mark_end(&mut self, mark: &[u8]) -> Result<(), Broken> {
        self.send(mark)?;
        self.counts.marks += 1;
        Ok(())
    }

    /// In case that the first was lost. A receiver that had it is gone by now, which is fine.
    fn more_marks(&mut self, plan: &TransferPlan) {
        let mark: &[u8] = if plan.generated { &[0; MARK_BYTES as usize] } else { &[] };
        for _ in 0..MORE_MARKS {
            if self.send(mark).is_ok() {
                self.counts.marks += 1;
            }
        }
    }

    #[inline]
    fn send(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        loop {
            self.around.unless_stopped()?;
            match endpoint::send(self.socket, bytes) {
                Ok(_) => return Ok(()),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if endpoint::has_no_room(&e) => {
                    self.counts.retried += 1;
                    thread::sleep(NO_ROOM);
                }
                Err(e) => return Err(Broken::Network(e)),
            }
        }
    }
}

/// Receives what the first sender sends, until its mark of the end.
pub(super) fn receive(plan: &TransferPlan, around: Around<'_>) -> Result<TransferResult, TransferError> {
    let end = ends::listen(plan, around)?;
    let mut buffer = Buffer::new(plan);
    let output = (!plan.generated).then(|| file(around.standard.output)).transpose();
    let output = output.map_err(|source| TransferError::Socket { action: "use standard output", source })?;
    let mut receiver = Receiver {
        plan,
        around,
        output,
        meter: Meter::start(around.live, 0, &end),
        counts: UdpCounts::default(),
        peer: None,
        foreign_since: None,
    };
    let received = receiver.run(end.socket.as_fd(), buffer.bytes_mut());
    if matches!(received, Err(Broken::Interrupted)) && receiver.peer.is_none() {
        return Err(TransferError::Interrupted);
    }
    // Time without datagrams, or without a sender, does not count for the transfer.
    let ago_ns = match received {
        _ if receiver.peer.is_none() => u64::MAX,
        Ok(TransferEnd::Idle) => plan.idle_ns,
        _ => 0,
    };
    let mut stream = receiver.meter.stop(ago_ns);
    let dropped = socket::drops(end.socket.as_fd()).map_or(0, u64::from);
    let is_whole = matches!(received, Ok(TransferEnd::Whole));
    let marks = if is_whole && dropped > 0 { receiver.missing_marks(end.socket.as_fd()) } else { 0 };
    receiver.counts.dropped = dropped.saturating_sub(marks);
    stream.peer = receiver.peer.map(|peer| peer.to_string());
    stream.udp = Some(receiver.counts);
    stream.end = received.unwrap_or_else(|broken| broken.end());
    let moved = Moved { stream, way: TransferMethod::Copied, buffer_address: buffer.address() };
    Ok(streams::result(plan, end.local.to_string(), end.granted_bytes, vec![moved]))
}

struct Receiver<'a> {
    plan: &'a TransferPlan,
    around: Around<'a>,
    /// Where the data goes; `None` throws it away.
    output: Option<File>,
    meter: Meter<'a>,
    counts: UdpCounts,
    /// Who sent the first data: the others are left out.
    peer: Option<SocketAddr>,
    /// Since when there came nothing but what others sent.
    foreign_since: Option<u64>,
}

impl Receiver<'_> {
    fn run(&mut self, socket: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<TransferEnd, Broken> {
        loop {
            self.around.unless_stopped()?;
            let (length, from) = match endpoint::receive_from(socket, buffer) {
                Ok(datagram) => datagram,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(TransferEnd::Idle),
                Err(e) => return Err(Broken::Network(e)),
            };
            if self.peer.is_some_and(|peer| peer != from) {
                if self.others_only() {
                    return Ok(TransferEnd::Idle);
                }
                continue;
            }
            self.foreign_since = None;
            if self.is_mark(length) {
                self.counts.marks += 1;
                if self.peer.is_some() {
                    return Ok(TransferEnd::Whole);
                }
                // Before any data a mark is that of the start, or one that was left over from a
                // transfer before this one: the last of them counts.
                self.meter.restart();
                continue;
            }
            if self.peer.is_none() {
                self.begin(socket, from)?;
            }
            self.take(length, buffer)?;
        }
    }

    /// The first data: from now on silence means that the end was lost.
    fn begin(&mut self, socket: BorrowedFd<'_>, from: SocketAddr) -> Result<(), Broken> {
        self.peer = Some(from);
        if self.counts.marks == 0 {
            self.meter.restart();
        }
        self.around.tell(TransferEvent::Accept(from));
        endpoint::set_receive_limit(socket, Duration::from_nanos(self.plan.idle_ns)).map_err(Broken::Network)
    }

    /// How many marks of the end did not come beside the first of them that did: where the socket was full, it had no
    /// room for them either, and they are no data.
    fn missing_marks(&self, socket: BorrowedFd<'_>) -> u64 {
        if endpoint::set_receive_limit(socket, NEXT_MARK).is_err() {
            return 0;
        }
        // Bounded, also where another sender goes on.
        let came = (0..16 * MORE_MARKS).map_while(|_| endpoint::receive_from(socket, &mut [0]).ok());
        let ours = came.filter(|(length, from)| self.is_mark(*length) && self.peer == Some(*from));
        u64::from(MORE_MARKS) - ours.take(MORE_MARKS as usize).count() as u64
    }

    fn is_mark(&self, length: usize) -> bool {
        length as u64 <= if self.plan.generated { MARK_BYTES } else { 0 }
    }

    fn take(&mut self, length: usize, buffer: &[u8]) -> Result<(), Broken> {
        let bytes = &buffer[..length.min(buffer.len())];
        self.counts.truncated += u64::from(length > buffer.len());
        self.counts.datagrams += 1;
        self.meter.moved(bytes.len());
        if self.plan.touch {
            touch(bytes);
        }
        self.output.as_mut().map_or(Ok(()), |output| write_all(self.around, output, bytes))
    }

    /// Counts a datagram of somebody else; whether nothing but such came for the idle time.
    /// Only here the clock is read, so that it costs nothing where there is one sender.
    fn others_only(&mut self) -> bool {
        self.counts.foreign += 1;
        let now = monotonic_ns();
        now - *self.foreign_since.get_or_insert(now) > self.plan.idle_ns
    }
}
