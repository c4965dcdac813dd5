//! Fewer wake-ups for the receiver of a fast stream.
//!
//! Over loopback and veth the sender's CPU wakes the receiver. A receiver that reads whatever comes sleeps every 50 to
//! 80 KB, and the wake-ups take up to a third of the sender's time. So the receiver of a fast stream waits until much is
//! there (SO_RCVLOWAT), and half a millisecond at most. When that passes in vain, the stream is not fast, or its sender
//! waits for something that only reading gives it: from then on the receiver reads what comes, and tries again later.

use std::io::{self, ErrorKind};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use netfathom_model::plan::TransferPlan;
use netfathom_sys::endpoint;

/// So much is waited for: less makes more wake-ups, more leaves the cache before it is read.
const ENOUGH: u32 = 128 << 10;
/// For so long, which is enough at 2 Gbit/s.
const PATIENCE: Duration = Duration::from_micros(500);
/// A stream waits for that much after this many bytes,
const FIRST_AFTER: u64 = 512 << 10;
/// and, after a wait in vain, after this many times as many as before: its cost stays small.
const LATER: u64 = 4;

/// How the receiver of a stream is woken.
pub(super) struct Wakeups<'a> {
    /// `None` where it is woken whatever comes, for good.
    socket: Option<BorrowedFd<'a>>,
    /// It waits for [`ENOUGH`], and its socket does not block.
    seldom: bool,
    /// All that was there has been read.
    drained: bool,
    /// Bytes since it began or ended to be so.
    since: u64,
    after: u64,
}

impl<'a> Wakeups<'a> {
    /// A buffer that was asked for stays what it is, and so does what an explanation looks at.
    pub fn of(plan: &TransferPlan, socket: BorrowedFd<'a>) -> Self {
        let may = plan.socket_buffer_bytes.is_none() && !plan.explain;
        Self { socket: may.then_some(socket), seldom: false, drained: false, since: 0, after: FIRST_AFTER }
    }

    /// Makes a call that receives up to `most` bytes. It is interrupted if nothing had come.
    #[inline]
    pub fn call(&mut self, most: usize, call: impl FnOnce() -> io::Result<usize>) -> io::Result<usize> {
        let Some(socket) = self.socket else { return call() };
        if self.drained {
            self.wait(socket)?;
        } else if !self.seldom && self.since >= self.after {
            self.turn(socket, true)?;
        }
        match call() {
            Err(e) if self.seldom && e.kind() == ErrorKind::WouldBlock => {
                self.drained = true;
                Err(ErrorKind::Interrupted.into())
            }
            Ok(bytes) => {
                self.drained = self.seldom && bytes < most;
                self.since += bytes as u64;
                Ok(bytes)
            }
            outcome => outcome,
        }
    }

    fn wait(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let came = endpoint::readable(socket, PATIENCE)?;
        self.drained = false;
        if came {
            return Ok(());
        }
        self.after = if self.since >= self.after { FIRST_AFTER } else { self.after.saturating_mul(LATER) };
        self.turn(socket, false)
    }

    fn turn(&mut self, socket: BorrowedFd<'_>, seldom: bool) -> io::Result<()> {
        (self.seldom, self.since) = (seldom, 0);
        endpoint::set_wake_threshold(socket, if seldom { ENOUGH } else { 1 })?;
        endpoint::set_nonblocking(socket, seldom)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use netfathom_model::plan::Role;

    use super::*;

    const PIECE: usize = 8192;

    fn streams() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (sender, listener.accept().unwrap().0)
    }

    /// Receives `bytes` bytes.
    fn take(wakeups: &mut Wakeups<'_>, receiver: &TcpStream, mut bytes: usize) {
        let mut buffer = [0; 2 * PIECE];
        while bytes > 0 {
            match wakeups.call(buffer.len(), || endpoint::receive(receiver.as_fd(), &mut buffer)) {
                Ok(came) => bytes -= came,
                Err(e) => assert_eq!(e.kind(), ErrorKind::Interrupted),
            }
        }
    }

    #[test]
    fn a_fast_stream_wakes_seldom_and_one_that_stops_is_read_to_its_last_byte() {
        let (mut sender, receiver) = streams();
        let socket = receiver.as_fd();
        let woken = |most_ms| endpoint::readable(socket, Duration::from_millis(most_ms)).unwrap();
        let mut wakeups = Wakeups::of(&TransferPlan::classic(Role::Receive), socket);
        for _ in 0..FIRST_AFTER / PIECE as u64 {
            sender.write_all(&[1; PIECE]).unwrap();
            assert!(woken(5000), "a piece wakes it");
            take(&mut wakeups, &receiver, PIECE);
        }
        for later in [LATER, LATER * LATER] {
            // The first piece begins it, and is there.
            wakeups.since = wakeups.after;
            sender.write_all(&[1; PIECE]).unwrap();
            take(&mut wakeups, &receiver, PIECE);
            sender.write_all(&[1; PIECE]).unwrap();
            assert!(!woken(50), "a piece wakes it not any more");
            take(&mut wakeups, &receiver, PIECE);
            assert_eq!((wakeups.seldom, wakeups.after), (false, later * FIRST_AFTER));
            sender.write_all(&[1]).unwrap();
            assert!(woken(5000), "a byte does again");
            take(&mut wakeups, &receiver, 1);
        }
    }

    #[test]
    fn much_that_comes_wakes_it_and_so_does_the_end() {
        let (mut sender, receiver) = streams();
        let mut wakeups = Wakeups::of(&TransferPlan::classic(Role::Receive), receiver.as_fd());
        wakeups.turn(receiver.as_fd(), true).unwrap();
        let sends = std::thread::spawn(move || {
            sender.write_all(&vec![1; ENOUGH as usize]).unwrap();
            sender
        });
        assert!(endpoint::readable(receiver.as_fd(), Duration::from_secs(20)).unwrap());
        take(&mut wakeups, &receiver, ENOUGH as usize);
        drop(sends.join().unwrap());
        assert!(endpoint::readable(receiver.as_fd(), Duration::from_secs(20)).unwrap());
    }

    #[test]
    fn a_buffer_that_was_asked_for_and_an_explained_stream_stay_as_they_are() {
        let (_sender, receiver) = streams();
        let may = |change: fn(&mut TransferPlan)| {
            let mut plan = TransferPlan::classic(Role::Receive);
            change(&mut plan);
            Wakeups::of(&plan, receiver.as_fd()).socket.is_some()
        };
        assert!(may(|_| {}));
        assert!(!may(|plan| plan.explain = true));
        assert!(!may(|plan| plan.socket_buffer_bytes = Some(4096)));
    }
}
