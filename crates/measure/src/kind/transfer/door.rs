//! Where senders come in.

use std::io::ErrorKind;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use netfathom_model::plan::TransferPlan;
use netfathom_sys::endpoint;

use super::ends::{self, End, TransferEvent};
use super::{Around, TransferError};

/// Lets senders in until it is dropped; who comes then is refused at once, instead of waiting for
/// a turn that never comes.
pub(super) struct Door<'a> {
    listening: End,
    around: Around<'a>,
    patience: Duration,
    /// The host of the first sender.
    host: Option<IpAddr>,
}

impl<'a> Door<'a> {
    pub fn open(plan: &TransferPlan, around: Around<'a>) -> Result<Self, TransferError> {
        let listening = ends::listen(plan, around)?;
        Ok(Self { listening, around, patience: Duration::from_nanos(plan.idle_ns), host: None })
    }

    /// Waits for a stream: for the first as long as it takes, for more of them for the idle time
    /// each. Then, and once all that were to come are there, it is `None`.
    pub fn next(&mut self) -> Result<Option<End>, TransferError> {
        let since = Instant::now();
        loop {
            let Some(end) = self.accept()? else { return Ok(None) };
            if self.is_ours(&end)? {
                end.peer.inspect(|from| self.around.tell(TransferEvent::Accept(*from)));
                return Ok(Some(end));
            }
            // Somebody else's: the kernel cuts it, so that its sender learns of it.
            let _ = endpoint::cut_on_close(end.socket.as_fd(), true);
            // Nor do others make the wait longer.
            if since.elapsed() > self.patience {
                return Ok(None);
            }
        }
    }

    /// Whether it comes from the host of the first, which the first decides.
    fn is_ours(&mut self, end: &End) -> Result<bool, TransferError> {
        let from = end.peer.map(|peer| peer.ip());
        if self.host.is_none() {
            self.host = from;
            limit(self.listening.socket.as_fd(), self.patience)?;
        }
        Ok(self.host == from)
    }

    /// Waits for whoever comes; `None` if no one does. What was set of the listening socket, the connection has too.
    fn accept(&self) -> Result<Option<End>, TransferError> {
        loop {
            match endpoint::accept(self.listening.socket.as_fd()) {
                Ok((socket, from)) => {
                    // The kernel gives it the listening socket's patience, which is for senders to come.
                    limit(socket.as_fd(), Duration::ZERO)?;
                    let local = ends::local(socket.as_fd())?;
                    let granted_bytes = self.listening.granted_bytes;
                    let (socket, peer) = (Arc::new(socket), Some(from));
                    return Ok(Some(End { socket, local, peer, granted_bytes }));
                }
                Err(_) if self.around.stopped() => return Err(TransferError::Interrupted),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(None),
                // A sender that was gone before it was its turn is none.
                Err(e) if endpoint::befell_the_sender(&e) => {}
                Err(source) => return Err(TransferError::Socket { action: "take a connection", source }),
            }
        }
    }
}

/// Waits on the socket no longer than that; for ever where it is nothing.
fn limit(socket: BorrowedFd<'_>, most: Duration) -> Result<(), TransferError> {
    endpoint::set_receive_limit(socket, most)
        .map_err(|source| TransferError::Socket { action: "limit the wait for streams", source })
}
