//! Receiving.

use std::{io, sync::atomic::Ordering, time::Instant};

use super::{
    Arrival, Shared, Wait,
    role::{Role, this_thread},
};
use crate::{
    Error,
    protocol::{Event, Want},
    strategy::Cause,
    wire::Control,
};

impl Shared {
    /// Hands out what is wanted: one, or all that is there; gives their number.
    #[inline]
    pub fn receive(
        &self,
        want: Want,
        wait: Wait,
        many: bool,
        handler: &mut dyn FnMut(Arrival<'_>),
    ) -> Result<usize, Error> {
        let Some(mut role) = self.role(wait)? else { return Ok(0) };
        loop {
            role.take_offers();
            if !role.incoming().has_nothing() {
                let count = self.hand_out(&mut role, want, many, handler)?;
                if count > 0 {
                    return Ok(count);
                }
            }
            if role.incoming().closed() {
                return Err(self.failure().unwrap_or(Error::PeerClosed));
            }
            self.alive()?;
            // A call that may wait for ever needs no look before: the read itself waits.
            if wait != Wait::Forever {
                if self.read(&mut role, Wait::No)? {
                    continue;
                }
                if wait.over() {
                    return Ok(0);
                }
            }
            self.before_waiting()?;
            if self.waiters.load(Ordering::SeqCst) > 0 {
                match self.pass_on(role, wait)? {
                    Some(back) => role = back,
                    None => return Ok(0),
                }
                if role.incoming().stashed() > 0 {
                    continue;
                }
            }
            self.read(&mut role, wait)?;
        }
    }

    /// Hands out what is here already.
    #[inline]
    fn hand_out(
        &self,
        role: &mut Role<'_>,
        want: Want,
        many: bool,
        handler: &mut dyn FnMut(Arrival<'_>),
    ) -> Result<usize, Error> {
        let mut count = 0;
        let mut urgent = false;
        role.take_offers();
        let stashed = role.incoming().stashed();
        let failed = loop {
            match role.incoming().next(want) {
                Ok(Some(Event::Message { channel, body })) => handler(Arrival::Message { channel, body }),
                Ok(Some(Event::Post(received))) => {
                    self.sending.lock().out.granted(received.channel);
                    handler(Arrival::Post(received));
                }
                Ok(Some(Event::Control(control))) => {
                    match self.heard(control) {
                        Ok(leaves) => urgent |= leaves,
                        Err(error) => break Some(error),
                    }
                    continue;
                }
                Ok(Some(Event::Hello(_))) => continue,
                Ok(None) => break None,
                Err(breach) => break Some(breach.into()),
            }
            count += 1;
            if !many {
                urgent |= self.hear_behind(role);
                break None;
            }
        };
        role.news |= role.incoming().stashed() > stashed;
        while let Some(reply) = role.incoming().replies() {
            self.sending.lock().out.reply(reply);
            urgent = true;
        }
        if let Some(error) = failed {
            return Err(self.fail(error));
        }
        if urgent {
            // What was received is handed out whether or not an answer could be written.
            let _ = self.flush(Cause::Behind);
        }
        Ok(count)
    }

    /// Takes in what the peer allows right behind what was handed out: a buffer that came with a
    /// request is known when the request is answered. Says whether something may leave now.
    #[inline]
    fn hear_behind(&self, role: &mut Role<'_>) -> bool {
        let mut urgent = false;
        while let Some(control) = role.incoming().allowance_at_hand() {
            match self.heard(control) {
                Ok(leaves) => urgent |= leaves,
                Err(error) => {
                    // The next call says so: what was handed out by this one came before.
                    self.fail(error);
                    return false;
                }
            }
        }
        urgent
    }

    /// Hands a control frame of the peer to the sending half. Returns whether something may
    /// be sent because of it, an answer or a post.
    fn heard(&self, control: Control) -> Result<bool, Error> {
        if let Control::Abort { code } = control {
            return Err(Error::Aborted { code });
        }
        let mut sending = self.sending.lock();
        sending.out.control(control)?;
        let leaves = presses(control) && sending.out.has_work();
        drop(sending);
        if control == Control::Close {
            self.peer_closed.store(true, Ordering::SeqCst);
        }
        self.changed();
        Ok(leaves)
    }

    /// Reads once; says whether anything came in time.
    pub fn read(&self, role: &mut Role<'_>, wait: Wait) -> Result<bool, Error> {
        let block = match wait {
            Wait::No => false,
            Wait::Forever => true,
            Wait::Until(end) => {
                let left = end.saturating_duration_since(Instant::now());
                let ready = self.transport.wait(true, false, Some(left));
                if !ready.map_err(Error::io("wait for the peer")).map_err(|e| self.fail(e))?.read {
                    return Ok(false);
                }
                false
            }
        };
        let incoming = role.incoming();
        let space = incoming.space();
        match self.transport.recv([space.header, space.posted, space.buffer], block) {
            Ok(0) => Err(self.fail(self.end_of_stream(role))),
            Ok(bytes) => {
                incoming.filled(bytes);
                // Who has the role writes these alone.
                self.reads.store(self.reads.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                self.frames.store(incoming.frames(), Ordering::Relaxed);
                self.inside_frame.store(incoming.inside_frame(), Ordering::Relaxed);
                role.news = true;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) if gone(&error) => Err(self.fail(self.end_of_stream(role))),
            Err(error) => Err(self.fail(Error::io("read from the peer")(error))),
        }
    }

    fn end_of_stream(&self, role: &mut Role<'_>) -> Error {
        let incoming = role.incoming();
        let inside_frame = incoming.inside_frame();
        if incoming.closed() && !inside_frame {
            Error::PeerClosed
        } else {
            Error::PeerVanished { inside_frame }
        }
    }

    /// Reads what concerns the connection itself, and keeps the rest for later calls. Waits for
    /// arrivals as `wait` allows; gives up the wait if another thread has the role and something
    /// changed.
    pub fn pump(&self, wait: Wait) -> Result<(), Error> {
        let Some(mut role) = self.try_role() else {
            if wait != Wait::No {
                self.ticket().wait(wait)?;
            }
            return self.alive();
        };
        self.pump_role(&mut role, Want::Nothing, wait)
    }

    /// As [`Shared::pump`], by who has the role; what is wanted is dropped.
    pub fn pump_role(&self, role: &mut Role<'_>, want: Want, wait: Wait) -> Result<(), Error> {
        self.alive()?;
        let before = self.hand_out(role, want, true, &mut |_| {})?;
        let wait = if before > 0 { Wait::No } else { wait };
        if self.read(role, wait)? {
            self.hand_out(role, want, true, &mut |_| {})?;
            // Somebody may be waiting for what was kept.
            self.changed();
        }
        Ok(())
    }

    /// Writes what would otherwise wait for the end of the wait that begins.
    pub fn before_waiting(&self) -> Result<(), Error> {
        let mut sending = self.sending.lock();
        sending.waited = this_thread();
        let leaves = sending.out.messages() > 0 && sending.strategy.leaves_when_waiting();
        if sending.in_flight() || !(leaves || sending.out.presses()) {
            return Ok(());
        }
        self.write_out(sending, Cause::Waiting, true).map(drop)
    }
}

/// Whether it may have an answer, or let something leave.
fn presses(control: Control) -> bool {
    matches!(control, Control::Ping | Control::Close | Control::Grant { .. })
}

/// What the system says when the peer is gone, in all the ways it has.
pub(super) fn gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected)
}
