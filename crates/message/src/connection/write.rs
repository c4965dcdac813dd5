//! Sending.

use std::{
    io,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use parking_lot::MutexGuard;

use super::{
    Shared, Wait,
    read::gone,
    role::this_thread,
    shared::{PostCallback, Sending},
};
use crate::{
    Error,
    protocol::{Batch, PostEnd, Want},
    strategy::{Cause, Staged, Step, Strategy},
};

/// Bodies from this size on are written from where they are, if they are written at once: a second
/// piece of memory costs the system about as much as copying this many bytes.
const DIRECT: usize = 8 << 10;
/// Batches written in one go before the connection's thread takes over: a caller is not kept for
/// what others send, or for a whole post.
const ROUNDS: u32 = 16;
/// A write never blocks; one that is under way for this long is on a machine that does not run it.
const LAST_WRITE: Duration = Duration::from_secs(1);
/// In a burst of messages there is a deadline for each batch.
const LINGER: Duration = Duration::from_micros(50);

/// What a write came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Nothing is left to write, or it is someone else's.
    Done,
    /// The socket takes no more.
    Blocked,
    /// There is more to write, but this caller has written enough.
    More,
}

impl Shared {
    #[inline]
    pub fn send(&self, channel: u16, body: &[u8]) -> Result<(), Error> {
        match self.send_once(channel, body, true) {
            Err(error) if error.is_full() => {
                // What is staged may be what fills the queue, and credit may be here unread.
                self.flush(Cause::Waiting)?;
                self.pump(Wait::No)?;
                self.send_once(channel, body, true).map(drop)
            }
            other => other.map(drop),
        }
    }

    /// Stages the message and does what the strategy says. `hand_over` leaves what would block to
    /// the connection's thread; without it the caller sees to that.
    #[inline]
    pub fn send_once(&self, channel: u16, body: &[u8], hand_over: bool) -> Result<Flow, Error> {
        self.alive()?;
        let mut sending = self.sending.lock();
        if body.len() >= DIRECT {
            return self.send_long(sending, channel, body, hand_over);
        }
        sending.out.message(channel, body)?;
        let step = sending.step(body.len(), false);
        match step {
            Step::Keep => Ok(Flow::Done),
            Step::Write => self.write_out(sending, Cause::Asked, hand_over),
            later => {
                self.later(&mut sending, later);
                Ok(Flow::Done)
            }
        }
    }

    fn send_long(
        &self,
        mut sending: MutexGuard<'_, Sending>,
        channel: u16,
        body: &[u8],
        hand_over: bool,
    ) -> Result<Flow, Error> {
        sending.out.header(channel, body.len())?;
        let step = sending.step(body.len(), true);
        if step == Step::Write && !sending.in_flight() {
            let messages = sending.out.messages();
            sending.strategy.writing(messages, Cause::Asked);
            sending.deadline = None;
            let batch = sending.out.take_staged();
            return self.write_batch(sending, batch, body, hand_over).map(|(_, flow)| flow);
        }
        sending.out.body(body);
        if step == Step::Write {
            return self.write_out(sending, Cause::Asked, hand_over);
        }
        self.later(&mut sending, step);
        Ok(Flow::Done)
    }

    pub(super) fn later(&self, sending: &mut Sending, step: Step) {
        match step {
            Step::Until(moment) => self.arm(sending, moment),
            Step::HandOver => self.give_work(sending),
            Step::Keep | Step::Write => {}
        }
    }

    /// Sets the moment at which the connection's thread writes, and wakes it only if it would
    /// oversleep: in a burst it is awake once per batch anyway.
    fn arm(&self, sending: &mut Sending, moment: Instant) {
        if sending.deadline.is_none_or(|before| moment < before) {
            sending.deadline = Some(moment);
            sending.expect(LINGER);
            if sending.asleep.is_some_and(|until| until > moment) {
                self.mover.notify_one();
            }
        }
    }

    /// Has the connection's thread look within twice this time whether something presses. It is woken
    /// only if it sleeps for long: where this comes often it looks every so often by itself.
    pub(super) fn look_soon(&self, sending: &mut Sending, within: Duration) {
        sending.expect(within);
        if sending.asleep.is_some() && !sending.lingers {
            self.mover.notify_one();
        }
    }

    /// Has the connection's thread write.
    pub fn give_work(&self, sending: &mut Sending) {
        sending.work = true;
        if sending.asleep.is_some() {
            self.mover.notify_one();
        }
    }

    pub fn flush(&self, cause: Cause) -> Result<(), Error> {
        self.alive()?;
        self.write_out(self.sending.lock(), cause, true).map(drop)
    }

    /// Writes what goes at once, before the socket is shut down. Another thread's write that is under
    /// way is waited for: it may be cut, and what was staged behind it would be lost.
    pub(super) fn last_words(&self) {
        let end = Instant::now() + LAST_WRITE;
        let mut sending = self.sending.lock();
        while sending.writing && Instant::now() < end {
            sending.crowd += 1;
            self.room.wait_until(&mut sending, end);
            sending.crowd -= 1;
        }
        // The connection ends in any case.
        while matches!(self.write_out(sending, Cause::Flush, false), Ok(Flow::More)) && Instant::now() < end {
            sending = self.sending.lock();
        }
    }

    /// Writes what is staged, unless somebody does already: they will see what was added.
    pub fn write_out<'a>(
        &'a self,
        mut sending: MutexGuard<'a, Sending>,
        mut cause: Cause,
        hand_over: bool,
    ) -> Result<Flow, Error> {
        for _ in 0..ROUNDS {
            if sending.writing {
                return Ok(Flow::Done);
            }
            let batch = match sending.held.take() {
                Some(batch) => batch,
                None => {
                    let messages = sending.out.messages();
                    sending.strategy.writing(messages, cause);
                    sending.deadline = None;
                    let Some(batch) = sending.out.take() else { return Ok(Flow::Done) };
                    batch
                }
            };
            let (back, flow) = self.write_batch(sending, batch, &[], hand_over)?;
            if flow == Flow::Blocked || !back.out.has_work() {
                return Ok(flow);
            }
            sending = back;
            cause = Cause::Behind;
        }
        if hand_over {
            self.give_work(&mut sending);
        }
        Ok(Flow::More)
    }

    /// Writes one batch and a body behind it, without the lock.
    fn write_batch<'a>(
        &'a self,
        mut sending: MutexGuard<'a, Sending>,
        mut batch: Batch,
        body: &[u8],
        hand_over: bool,
    ) -> Result<(MutexGuard<'a, Sending>, Flow), Error> {
        sending.writing = true;
        let one_by_one = sending.one_by_one;
        let written = MutexGuard::unlocked(&mut sending, || self.push(&mut batch, body, one_by_one));
        sending.writing = false;
        sending.strategy.written();
        let flow = match written {
            Ok(true) => {
                sending.out.give_back(batch);
                Flow::Done
            }
            Ok(false) => {
                sending.out.hold(&batch);
                sending.held = Some(batch);
                if hand_over {
                    self.give_work(&mut sending);
                }
                Flow::Blocked
            }
            Err(error) => {
                drop(sending);
                return Err(self.write_failed(error));
            }
        };
        if sending.crowd > 0 || sending.out.any_ended() || self.departures.any() {
            self.tell_written(&mut sending);
        }
        Ok((sending, flow))
    }

    /// Tells who waits that something was written, without the lock.
    fn tell_written(&self, sending: &mut MutexGuard<'_, Sending>) {
        let crowded = sending.crowd > 0;
        let mut done = sending.take_done();
        MutexGuard::unlocked(sending, || {
            if crowded {
                self.room.notify_all();
            }
            for (done, end) in done.drain(..) {
                done(Ok(end));
            }
            self.departures.wake();
        });
        sending.done = done;
    }

    /// Writes until all is written (`true`) or the socket takes no more.
    fn push(&self, batch: &mut Batch, body: &[u8], one_by_one: bool) -> io::Result<bool> {
        let whole = batch.left();
        let mut written = 0;
        while written < whole + body.len() {
            let rest = &body[written.saturating_sub(whole)..];
            let sent = if one_by_one && body.is_empty() {
                self.transport.send(&batch.one_frame())
            } else {
                match batch.parts() {
                    [bytes, []] if rest.is_empty() => self.transport.send(&[bytes]),
                    [bytes, chunk] => self.transport.send(&[bytes, chunk, rest]),
                }
            };
            match sent {
                Ok(count) => {
                    batch.wrote(count.min(whole.saturating_sub(written)));
                    written += count;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    batch.append(&body[written.saturating_sub(whole)..]);
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// A write that fails because the peer is gone does not say why it went; what it sent last may
    /// still be here, unread.
    fn write_failed(&self, error: io::Error) -> Error {
        if !gone(&error) {
            return self.fail(Error::io("write to the peer")(error));
        }
        if let Some(mut role) = self.try_role() {
            let more = || self.transport.wait(true, false, Some(Duration::ZERO)).is_ok_and(|it| it.read);
            while more() && self.pump_role(&mut role, Want::Nothing, Wait::No).is_ok() {}
        }
        // Who reads has the role, and may be the one who writes this: an answer to the peer's close.
        let closed = self.peer_closed.load(Ordering::SeqCst);
        self.fail(if closed { Error::PeerClosed } else { Error::PeerVanished { inside_frame: false } })
    }

    pub fn set_strategy(&self, strategy: Box<dyn Strategy>) -> Result<(), Error> {
        self.flush(Cause::Flush)?;
        let mut sending = self.sending.lock();
        sending.one_by_one = strategy.one_by_one();
        sending.strategy = strategy;
        // What another thread staged in between was left to the strategy before.
        self.give_work(&mut sending);
        Ok(())
    }
}

impl Sending {
    fn expect(&mut self, within: Duration) {
        self.linger = Some(self.linger.map_or(within, |before| before.min(within)));
    }

    /// The callbacks of posts that ended.
    fn take_done(&mut self) -> Vec<(PostCallback, PostEnd)> {
        let mut done = std::mem::take(&mut self.done);
        for (id, end) in self.out.ended() {
            // Most end in the order in which they were queued.
            let at = self.posts.iter().position(|(queued, _)| *queued == id);
            done.extend(at.and_then(|at| self.posts.remove(at)).map(|(_, callback)| (callback, end)));
        }
        done
    }

    /// What the strategy says to a message of this length, which is staged or, if it is long, to
    /// be written from where it is.
    #[inline]
    pub(super) fn step(&mut self, length: usize, long: bool) -> Step {
        let bytes = self.out.staged() + if long { length } else { 0 };
        let messages = self.out.messages();
        let in_flight = self.in_flight();
        let waited = self.waited == this_thread();
        self.waited = 0;
        self.strategy.staged(Staged { length, bytes, messages, in_flight, waited })
    }
}
