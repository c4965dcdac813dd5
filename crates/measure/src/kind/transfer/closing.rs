//! The end of a TCP connection: how either side learns whether all of it arrived.
//!
//! From the start the socket is set to cut the connection when it is closed, by whatever way:
//! a transfer that ends early, kill -9 included, reaches the peer as a reset and not as the end
//! of the stream, which it could not tell from a whole one. Only who has come to the end takes
//! that back. A transmitter then waits for the receiver to close, which says that its program
//! has read everything; the classic does not, and learns of no loss.

use std::io::ErrorKind;
use std::os::fd::BorrowedFd;
use std::thread;
use std::time::{Duration, Instant};

use netfathom_model::record::TransferEnd;
use netfathom_sys::endpoint;
use netfathom_sys::tcp_info::{self, TcpInfo};

use super::{Around, Broken};

/// How often it is looked whether anything moves.
const LOOK: Duration = Duration::from_millis(20);
/// Between two looks once the peer has closed and only an acknowledgment is missing.
const SHORT: Duration = Duration::from_millis(1);

/// The most bytes of a peer's reply that are kept.
const MOST_REPLY: usize = 4096;

/// A peer on a host that is gone stays silent forever; with probes this often it is given up after a
/// minute of silence.
const ASK_EVERY: Duration = Duration::from_secs(15);

/// From now on, closing tells the peer that something went wrong, and a peer that is gone is missed.
pub(super) fn guard(socket: BorrowedFd<'_>) -> Result<(), Broken> {
    let asks = endpoint::set_keep_alive(socket, ASK_EVERY);
    asks.and_then(|()| endpoint::cut_on_close(socket, true)).map_err(Broken::Network)
}

/// From now on, closing is the end.
pub(super) fn release(socket: BorrowedFd<'_>) -> Result<(), Broken> {
    endpoint::cut_on_close(socket, false).map_err(Broken::Network)
}

/// Ends the sending half and waits until its outcome is known. Also returns the beginning of the peer's
/// reply. A transfer of a given time waits no longer than `idle` in all: a slow path may need minutes
/// for what the buffers hold by then.
pub(super) fn end(
    socket: BorrowedFd<'_>,
    idle: Duration,
    timed: bool,
    around: Around<'_>,
) -> Result<(TransferEnd, Vec<u8>), Broken> {
    let began = Instant::now();
    // A peer that has ended its own half before does not confirm ours by it.
    let mut reply = Vec::new();
    let early = has_ended(socket, &mut reply)?;
    endpoint::end_sending(socket).map_err(Broken::Network)?;
    let mut peer = Peer { socket, reply, ended: early, moved: Instant::now(), last: (0, 0, 0) };
    loop {
        around.unless_stopped()?;
        let info = peer.look()?;
        if info.end_acknowledged && peer.ended && !early {
            return Ok((TransferEnd::Whole, peer.reply));
        }
        if info.end_acknowledged && (early || peer.moved.elapsed() > idle) {
            return Ok((TransferEnd::Acknowledged, peer.reply));
        }
        if timed && !info.end_acknowledged && began.elapsed() > idle {
            let unacknowledged_bytes = endpoint::queued_out(socket).map_err(Broken::Network)?;
            return Ok((
                TransferEnd::CutOff { unacknowledged_bytes: unacknowledged_bytes.into() },
                peer.reply,
            ));
        }
    }
}

struct Peer<'a> {
    socket: BorrowedFd<'a>,
    reply: Vec<u8>,
    ended: bool,
    /// When its kernel or its program last did something.
    moved: Instant,
    last: (u32, u32, u32),
}

impl Peer<'_> {
    fn look(&mut self) -> Result<TcpInfo, Broken> {
        if self.ended {
            thread::sleep(SHORT);
        } else if readable(self.socket, LOOK)? {
            self.ended = has_ended(self.socket, &mut self.reply)?;
        }
        let info = tcp_info::read(self.socket).map_err(Broken::Network)?;
        // A program that reads opens the window.
        let now = (info.unacknowledged, info.unsent_bytes.unwrap_or(0), info.peer_window_bytes.unwrap_or(0));
        if now != self.last {
            (self.last, self.moved) = (now, Instant::now());
        }
        Ok(info)
    }
}

fn readable(socket: BorrowedFd<'_>, most: Duration) -> Result<bool, Broken> {
    match endpoint::readable(socket, most) {
        Err(e) if e.kind() == ErrorKind::Interrupted => Ok(false),
        outcome => outcome.map_err(Broken::Network),
    }
}

/// Whether the peer has ended its half. The beginning of its reply is kept in `reply`, and the rest is discarded.
fn has_ended(socket: BorrowedFd<'_>, reply: &mut Vec<u8>) -> Result<bool, Broken> {
    let mut some = [0; MOST_REPLY];
    while readable(socket, Duration::ZERO)? {
        match endpoint::receive(socket, &mut some) {
            Ok(0) => return Ok(true),
            Ok(bytes) => reply.extend(&some[..bytes.min(MOST_REPLY - reply.len())]),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            // What looked readable was news of data that went without a copy.
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(e) => return Err(Broken::Network(e)),
        }
    }
    Ok(false)
}
