//! The application at the far end: receives messages, assigns them to flows, and stamps them.

use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::cpu::thread_time_ns;
use netfathom_sys::socket::drops;

use super::error::FlightError;
use super::tally::Tally;
use super::tap::ReceiveTap;
use crate::ground::error::GroundError;

/// Larger than any message; a longer one is foreign and cut off.
const BUFFER_BYTES: usize = 65_536;

/// Strangers may keep the socket filled for ever.
const LONGEST_REST_NS: u64 = 5_000_000_000;

pub struct ReaderTask<'a> {
    /// Bound to the reader's address.
    pub socket: &'a UdpSocket,
    /// The trial; messages of others are foreign.
    pub flow: u32,
    /// Senders of the trial.
    pub lanes: u32,
    pub planned: u64,
    /// Idle for this long after each message, until the senders are done.
    pub delay_ns: u64,
    /// Bytes of each message, where they come in a stream.
    pub stream: Option<usize>,
}

/// What the reader and those who wait for it tell each other.
pub struct EndSignal<'a> {
    /// The senders are done. Set before the last receive call is woken, so that an empty message is not
    /// taken for the end.
    pub senders_done: AtomicBool,
    /// The user wants an end: what is still queued is left.
    pub stop: &'a AtomicBool,
    /// The far end is lost: senders stop.
    pub gone: AtomicBool,
    /// Messages of the trial received so far, for the thread that waits for the last.
    pub received: AtomicU64,
    /// Messages that the senders tried, once they are done.
    pub tried: AtomicU64,
    /// Of those, the ones that the operating system accepted.
    pub accepted: AtomicU64,
}

impl<'a> EndSignal<'a> {
    pub fn new(stop: &'a AtomicBool) -> Self {
        let [senders_done, gone] = [const { AtomicBool::new(false) }; 2];
        let [received, tried, accepted] = [const { AtomicU64::new(0) }; 3];
        Self { senders_done, stop, gone, received, tried, accepted }
    }

    /// Whether to read no further, once the senders are done; `since_ns` keeps when that was seen.
    pub fn is_over(&self, now_ns: u64, since_ns: &mut Option<u64>) -> bool {
        self.senders_done.load(Relaxed)
            && (self.stop.load(Relaxed) || now_ns > *since_ns.get_or_insert(now_ns) + LONGEST_REST_NS)
    }
}

/// Reads until the senders are done and the socket is empty.
pub fn read_all<T: ReceiveTap>(
    task: &ReaderTask<'_>,
    end: &EndSignal<'_>,
    tap: &mut T,
) -> Result<Tally, FlightError> {
    let mut tally = Tally::new(task.flow, task.lanes, task.planned);
    let mut buffer = vec![0; task.stream.unwrap_or(BUFFER_BYTES)];
    let cpu_before_ns = thread_time_ns();
    let mut ended_ns = None;
    let senders_done = || end.senders_done.load(Relaxed);
    // What is under way in a stream comes, if not at once.
    let is_due = |delivered| task.stream.is_some() && delivered < end.accepted.load(Relaxed);
    tap.begin(task.socket);
    loop {
        let bytes = match tap.receive(task.socket, &mut buffer) {
            Ok(0)
                if senders_done()
                    && is_due(tally.read.delivered)
                    && !end.is_over(monotonic_ns(), &mut ended_ns) =>
            {
                continue;
            }
            Ok(0) if senders_done() => break,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && senders_done() => break,
            // A reader that polls, or that a signal has woken.
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => continue,
            outcome => outcome.map_err(FlightError::Receive)?,
        };
        let received_ns = monotonic_ns();
        if let Some(new) = tally.take(&buffer[..bytes], false) {
            tally.missing_before(&new).for_each(|sequence| tap.skipped(sequence));
            tap.delivered(&new.header, received_ns);
        }
        end.received.store(tally.read.delivered, Relaxed);
        if !senders_done() {
            idle(task.delay_ns);
        }
        if end.is_over(received_ns, &mut ended_ns) {
            break;
        }
    }
    tally.read.cpu_ns = thread_time_ns() - cpu_before_ns;
    tally.read.dropped = drops(task.socket).map_err(GroundError::Socket)?.into();
    Ok(tally)
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
    use netfathom_model::message::Header;
    use netfathom_sys::socket::end_receiving;

    #[test]
    fn what_was_there_before_the_end_is_read() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(socket.local_addr().unwrap()).unwrap();
        let mut payload = [0; 64];
        for sequence in 0..3 {
            Header { flow: 5, sequence, intended_ns: 1, sent_ns: 2 }.write(&mut payload);
            assert_eq!(sender.send(&payload).unwrap(), 64);
            // An empty datagram is not the end.
            assert_eq!(sender.send(&[]).unwrap(), 0);
        }
        let stop = AtomicBool::new(false);
        let end = EndSignal::new(&stop);
        let task = ReaderTask { socket: &socket, flow: 5, lanes: 1, planned: 9, delay_ns: 0, stream: None };
        let read = std::thread::scope(|s| {
            let reader = s.spawn(|| read_all(&task, &end, &mut ()).unwrap().read);
            std::thread::sleep(std::time::Duration::from_millis(100));
            end.senders_done.store(true, Relaxed);
            end_receiving(&socket);
            reader.join().unwrap()
        });
        assert_eq!((read.delivered, read.garbage), (3, 3));
    }
}
