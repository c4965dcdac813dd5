//! The connection's own thread: writes what would have kept a caller waiting, keeps deadlines, and
//! watches whether the peer is there. It sleeps unless one of these is due.

use std::{
    num::NonZeroU64,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use parking_lot::MutexGuard;

use super::{Shared, Wait, shared::Sending, write::Flow};
use crate::{
    Error,
    protocol::{Beat, KeepAlive, KeepAliveStep},
    strategy::Cause,
};

/// A write that cannot go on is tried again this often, so that the watch goes on as well.
const LOOK_UP: Duration = Duration::from_millis(100);

/// Starts the thread.
pub(super) fn start(shared: &Arc<Shared>) -> Result<(), Error> {
    let shared = Arc::clone(shared);
    let thread = shared.config.thread("mover");
    thread
        .spawn(move || {
            let watched = Watched(shared);
            watched.0.move_on();
        })
        .map(drop)
        .map_err(Error::io("start the connection's thread"))
}

/// Ends the connection if its thread panics: otherwise it would hang without an error.
struct Watched(Arc<Shared>);

impl Drop for Watched {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(Error::Panicked);
        }
    }
}

impl Shared {
    fn move_on(&self) {
        // The usual slack of a sleep, 50 us, is as long as the longest delay that is promised.
        // Where it cannot be set messages are later by that much.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let config = &self.config;
        let mut watch = KeepAlive::new(config.ping_after, config.silent_after, config.frame_within);
        let begin = Instant::now();
        let mut look = begin;
        let mut sending = self.sending.lock();
        while !sending.stop && self.alive().is_ok() {
            let now = Instant::now();
            if now >= look {
                let next = MutexGuard::unlocked(&mut sending, || self.watch(&mut watch, now - begin));
                look = now + next;
            } else if std::mem::take(&mut sending.work) {
                let flow = MutexGuard::unlocked(&mut sending, || self.work(Cause::Behind, look));
                sending.work |= flow != Flow::Done;
            } else if sending.deadline.is_some_and(|deadline| deadline <= now) {
                // Kept, if the write that is under way is to take it along.
                sending.deadline = None;
                MutexGuard::unlocked(&mut sending, || self.work(Cause::Deadline, look));
            } else {
                self.sleep(&mut sending, now, look);
            }
        }
    }

    /// After a deadline it waits for the next before it sleeps for long.
    fn sleep(&self, sending: &mut MutexGuard<'_, Sending>, now: Instant, look: Instant) {
        let mut until = sending.deadline.map_or(look, |deadline| deadline.min(look));
        let linger = sending.linger.take();
        if let Some(linger) = linger {
            until = until.min(now + linger);
        }
        sending.lingers = linger.is_some();
        sending.asleep = Some(until);
        let woken = !self.mover.wait_until(sending, until).timed_out();
        sending.asleep = None;
        sending.work |= !woken && sending.lingers && sending.out.presses();
    }

    /// Writes; if the socket takes no more, waits until it does or something else is due.
    fn work(&self, cause: Cause, look: Instant) -> Flow {
        match self.write_out(self.sending.lock(), cause, true) {
            Ok(Flow::Blocked) => {
                let limit = look.saturating_duration_since(Instant::now()).min(LOOK_UP);
                if let Err(error) = self.transport.wait(false, true, Some(limit)) {
                    self.fail(Error::io("wait for the peer")(error));
                }
                Flow::Blocked
            }
            Ok(flow) => flow,
            // A failure ends the connection, and with it this thread.
            Err(_) => Flow::Done,
        }
    }

    /// Checks the peer, and returns the time until the next check. Reads if no other thread does, so that
    /// an application that only sends, or pauses, still sees the peer vanish and answers its pings.
    fn watch(&self, watch: &mut KeepAlive, now: Duration) -> Duration {
        let _ = self.pump(Wait::No);
        let beat = Beat {
            reads: self.reads.load(Ordering::Relaxed),
            frames: self.frames.load(Ordering::Relaxed),
            inside_frame: self.inside_frame.load(Ordering::Relaxed),
        };
        match watch.look(now, beat) {
            Ok(KeepAliveStep::Wait(next)) => next,
            Ok(KeepAliveStep::Ping(next)) => {
                self.sending.lock().out.ping();
                let _ = self.flush(Cause::Behind);
                next
            }
            Err(gone) => {
                self.fail(gone.into());
                LOOK_UP
            }
        }
    }
}
