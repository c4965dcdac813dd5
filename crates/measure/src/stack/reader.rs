//! The application at the far end: receives messages, tells whose they are, and stamps them.

use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use netfathom_model::message::Header;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::cpu::thread_time_ns;

use super::seen::{Arrival, Seen};
use super::tap::ReceiveTap;

/// Larger than any message; a longer one is foreign and cut off.
const BUFFER_BYTES: usize = 65_536;

/// Strangers may keep the socket filled for ever.
const LONGEST_REST_NS: u64 = 5_000_000_000;

/// What is to be read.
pub struct Task<'a> {
    /// Bound to the reader's address.
    pub socket: &'a UdpSocket,
    /// The trial; messages of others are foreign.
    pub flow: u32,
    /// Idle for so long after each message, until the end is told.
    pub delay_ns: u64,
    /// Set before [`netfathom_sys::socket::end_receiving`], so that an empty message is not
    /// taken for the end.
    pub ended: &'a AtomicBool,
    /// The user wants an end: what is still queued is left.
    pub stop: &'a AtomicBool,
    /// Messages of the trial received so far, for the thread that waits for the last.
    pub received: &'a AtomicU64,
}

/// What was read.
#[derive(Debug, Default)]
pub struct Read {
    /// Messages of the trial, each counted once.
    pub delivered: u64,
    /// Received again.
    pub duplicates: u64,
    /// Received after a later one.
    pub reordered: u64,
    /// Not of this trial.
    pub foreign: u64,
    /// One more than the highest sequence that came.
    pub next: u64,
    /// Processor time of the reader's thread.
    pub cpu_ns: u64,
}

/// Reads until the end is told.
///
/// # Errors
/// If receiving fails; what was read until then is lost with the trial.
pub fn read_all<T: ReceiveTap>(task: &Task<'_>, tap: &mut T) -> io::Result<Read> {
    let mut read = Read::default();
    let mut seen = Seen::default();
    let mut buffer = vec![0; BUFFER_BYTES];
    let cpu_before_ns = thread_time_ns();
    let mut ended_ns = None;
    tap.begin(task.socket);
    loop {
        let bytes = match tap.receive(task.socket, &mut buffer) {
            Ok(0) if task.ended.load(Relaxed) => break,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && task.ended.load(Relaxed) => break,
            // A reader that polls, or that a signal has woken.
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => continue,
            outcome => outcome?,
        };
        let received_ns = monotonic_ns();
        match Header::read(&buffer[..bytes]).filter(|h| h.flow == task.flow) {
            Some(header) => take(&mut read, &mut seen, tap, &header, received_ns),
            None => read.foreign += 1,
        }
        task.received.store(read.delivered, Relaxed);
        if !task.ended.load(Relaxed) {
            idle(task.delay_ns);
        } else if task.stop.load(Relaxed)
            || received_ns > *ended_ns.get_or_insert(received_ns) + LONGEST_REST_NS
        {
            break;
        }
    }
    read.next = seen.next();
    read.cpu_ns = thread_time_ns() - cpu_before_ns;
    Ok(read)
}

#[inline]
fn take<T: ReceiveTap>(read: &mut Read, seen: &mut Seen, tap: &mut T, header: &Header, received_ns: u64) {
    match seen.arrive(header.sequence) {
        Arrival::Duplicate => {
            read.duplicates += 1;
            return;
        }
        Arrival::Late => read.reordered += 1,
        Arrival::InOrder { gap: 0 } => {}
        Arrival::InOrder { gap } => tap.skipped(header.sequence, gap),
    }
    read.delivered += 1;
    tap.delivered(header, received_ns);
}

/// Keeps the processor busy: a slow application, for proving the stages.
fn idle(delay_ns: u64) {
    if delay_ns > 0 {
        let until = monotonic_ns() + delay_ns;
        while monotonic_ns() < until {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netfathom_sys::socket::end_receiving;

    fn message(flow: u32, sequence: u64) -> Vec<u8> {
        let mut payload = vec![0; 64];
        Header { flow, sequence, intended_ns: 1, sent_ns: 2 }.write(&mut payload);
        payload
    }

    #[test]
    fn each_kind_of_datagram_is_counted_as_what_it_is() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(socket.local_addr().unwrap()).unwrap();
        let datagrams = [
            message(5, 0),
            message(5, 2),
            message(5, 2),
            message(5, 1),
            message(6, 3),
            vec![],
            vec![1; 31],
            vec![0xff; 4000],
        ];
        datagrams.iter().for_each(|d| assert_eq!(sender.send(d).unwrap(), d.len()));
        let ended = AtomicBool::new(false);
        let (stop, received) = (AtomicBool::new(false), AtomicU64::new(0));
        let task =
            Task { socket: &socket, flow: 5, delay_ns: 0, ended: &ended, stop: &stop, received: &received };
        let read = std::thread::scope(|s| {
            let reader = s.spawn(|| read_all(&task, &mut ()).unwrap());
            std::thread::sleep(std::time::Duration::from_millis(100));
            ended.store(true, Relaxed);
            end_receiving(&socket);
            reader.join().unwrap()
        });
        let counts = (read.delivered, read.duplicates, read.reordered, read.foreign);
        assert_eq!(counts, (3, 1, 1, 4));
    }
}
