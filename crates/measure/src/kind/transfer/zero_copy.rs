//! Sending generated data without a copy (MSG_ZEROCOPY), and counting how much of any data went that way.
//!
//! The kernel sends from the pages of the buffer, which is the same for all calls and never changes.
//! For each call, it reports when it no longer needs the pages, and whether it copied them after all.
//! Copied bytes are counted here; what is not reported in the end is unknown.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use netfathom_model::plan::{Role, TransferPlan};
use netfathom_model::record::{TransferMethod, TransferStream, ZeroCopied};
use netfathom_sys::zero_copy::{self, Ledger};
use netfathom_sys::{endpoint, offload, route};

use super::outgoing::send_some;
use super::{Around, Broken};

mod finding;

pub(super) use finding::finding;

/// Calls that may be under way; the kernel has a limit of its own (`net.core.optmem_max`).
const MOST_CALLS: usize = 1024;
/// Calls between two looks at the kernel's reports: a look is a call too.
const CALLS_A_LOOK: usize = 16;
/// How long at once it is waited for the kernel to tell.
const LOOK: Duration = Duration::from_millis(20);

/// What goes without a copy over one socket, and what became of it.
pub(super) struct ZeroCopy<'a> {
    around: Around<'a>,
    socket: BorrowedFd<'a>,
    ledger: Ledger,
    /// What went by calls that copy, for the kernel had no room for others.
    copied_bytes: u64,
    since_look: usize,
}

impl<'a> ZeroCopy<'a> {
    /// `None` if it is not requested, or if the data is not generated.
    pub fn of(plan: &TransferPlan, around: Around<'a>, socket: BorrowedFd<'a>) -> Option<Self> {
        let sends = plan.zero_copy && plan.generated && plan.role == Role::Transmit;
        let ledger = sends.then(|| Ledger::new(MOST_CALLS))?;
        Some(Self { around, socket, ledger, copied_bytes: 0, since_look: 0 })
    }

    /// One call; nothing where a signal came before anything went.
    #[inline]
    pub fn send(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        self.make_room()?;
        loop {
            self.around.unless_stopped()?;
            match zero_copy::send(self.socket, bytes) {
                Ok(sent) => {
                    self.ledger.sent(sent);
                    return Ok(sent);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => return Ok(0),
                Err(e) if endpoint::has_no_room(&e) => {
                    if self.ledger.in_flight() == 0 {
                        return self.send_copied(bytes);
                    }
                    self.look()?;
                }
                Err(e) => return Err(Broken::Network(e)),
            }
        }
    }

    /// Not even one call has room: the buffer is larger than what may be locked.
    fn send_copied(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        let sent = send_some(self.socket, bytes)?;
        self.copied_bytes += sent as u64;
        Ok(sent)
    }

    fn make_room(&mut self) -> Result<(), Broken> {
        self.since_look += 1;
        if self.since_look >= CALLS_A_LOOK {
            self.since_look = 0;
            self.take()?;
        }
        while self.ledger.full() && !self.around.stopped() && !self.around.expired() {
            self.look()?;
        }
        Ok(())
    }

    /// Books what the kernel has reported.
    fn take(&mut self) -> Result<usize, Broken> {
        let ledger = &mut self.ledger;
        // A completion of no call of ours is impossible: no other program has the socket.
        let book = |done| {
            let _ = ledger.complete(done);
        };
        zero_copy::drain(self.socket, book).map_err(Broken::Network)
    }

    /// Waits until the kernel tells something; how much it did.
    fn look(&mut self) -> Result<usize, Broken> {
        match self.take()? {
            0 => {}
            completed => return Ok(completed),
        }
        match zero_copy::wait(self.socket, LOOK) {
            Ok(_) => self.take(),
            Err(_) if self.around.stopped() => Err(Broken::Interrupted),
            Err(e) if e.kind() == ErrorKind::Interrupted => Ok(0),
            Err(e) => {
                self.take()?;
                Err(Broken::Network(e))
            }
        }
    }

    /// Waits until the kernel needs the buffer no more, but not if it tells nothing for so long.
    pub fn finish(&mut self, idle: Duration) -> Result<(), Broken> {
        let mut last_completion = Instant::now();
        while self.ledger.in_flight() > 0 {
            self.around.unless_stopped()?;
            if self.look()? > 0 {
                last_completion = Instant::now();
            } else if last_completion.elapsed() > idle {
                // What it tells from now on makes the socket look readable though it is not.
                return endpoint::set_receive_limit(self.socket, LOOK).map_err(Broken::Network);
            }
        }
        Ok(())
    }

    /// What became of the bytes, and whether the kernel still sends from the buffer.
    pub fn counted(&mut self) -> (ZeroCopied, bool) {
        // The connection may have failed: then no further report comes.
        let _ = self.take();
        let ledger = &self.ledger;
        let zero_copied = ZeroCopied {
            uncopied_bytes: ledger.uncopied_bytes(),
            copied_bytes: ledger.copied_bytes() + self.copied_bytes,
            unknown_bytes: ledger.in_flight_bytes(),
        };
        (zero_copied, ledger.in_flight() > 0)
    }
}

/// How much of a stream went without a copy, if the kernel reports nothing: by the way it went.
pub(super) fn by_way(
    plan: &TransferPlan,
    way: TransferMethod,
    peer: Option<SocketAddr>,
    stream: &TransferStream,
) -> Option<ZeroCopied> {
    if !plan.zero_copy {
        return None;
    }
    let all = stream.bytes;
    let none = ZeroCopied::default();
    Some(match (way, plan.role) {
        (TransferMethod::Copied, _) => ZeroCopied { copied_bytes: all, ..none },
        (TransferMethod::Discarded, _) => ZeroCopied { uncopied_bytes: all, ..none },
        // The kernel hands the pages of a packet to the pipe, but copies the part of it that lies
        // behind its headers; nothing tells how much that was (skb_splice_bits).
        (_, Role::Receive) => ZeroCopied { unknown_bytes: all, ..none },
        (_, Role::Transmit) => match peer.and_then(has_scatter_gather) {
            Some(true) => ZeroCopied { uncopied_bytes: all, ..none },
            // The kernel copies the pages into packets within the call.
            Some(false) => ZeroCopied { copied_bytes: all, ..none },
            None => ZeroCopied { unknown_bytes: all, ..none },
        },
    })
}

/// Whether the device on the way there sends from pages that lie apart.
fn has_scatter_gather(peer: SocketAddr) -> Option<bool> {
    let device = route::device_to(peer.ip().to_canonical()).ok()?;
    offload::feature(&device, "tx-scatter-gather").ok()?
}
