//! Waiting to send: for room, for credit, for a post to end.

use super::{LOOK_UP, Shared, Wait};
use crate::{Error, protocol::Want, strategy::Cause};

impl Shared {
    /// Waits until the socket has taken what it did not take at first, and reads meanwhile: the
    /// peer may be unable to read because it waits for the same.
    pub fn drain(&self, wait: Wait) -> Result<(), Error> {
        loop {
            self.alive()?;
            let mut sending = self.sending.lock();
            if wait.over() {
                self.give_work(&mut sending);
                return Ok(());
            }
            if sending.writing {
                sending.crowd += 1;
                self.room.wait_for(&mut sending, LOOK_UP);
                sending.crowd -= 1;
                continue;
            }
            if sending.held.is_none() {
                return Ok(());
            }
            drop(sending);
            let mut role = self.try_role();
            let ready = self.transport.wait(role.is_some(), true, Some(wait.look()));
            let ready = ready.map_err(Error::io("wait for the peer")).map_err(|e| self.fail(e))?;
            if let Some(role) = role.as_mut().filter(|_| ready.read) {
                self.pump_role(role, Want::Nothing, Wait::No)?;
            }
            drop(role);
            if ready.write {
                self.write_out(self.sending.lock(), Cause::Behind, false)?;
            }
        }
    }

    /// Has what fills the queue written, whatever the strategy.
    pub fn flush_for_room(&self) -> Result<(), Error> {
        self.write_out(self.sending.lock(), Cause::Waiting, false).map(drop)
    }

    /// Waits for the peer to take messages of this channel.
    pub fn pump_for_credit(&self, channel: u16, length: usize, wait: Wait) -> Result<(), Error> {
        self.flush_for_room()?;
        self.drain(wait)?;
        let ticket = self.ticket();
        if self.sending.lock().out.has_credit(channel, length) {
            return Ok(());
        }
        match self.try_role() {
            Some(mut role) => self.pump_role(&mut role, Want::Nothing, wait),
            None => ticket.wait(wait),
        }
    }

    /// Writes and reads whatever is there to be, and waits for more.
    pub fn help(&self, wait: Wait) -> Result<(), Error> {
        self.flush_for_room()?;
        self.drain(wait)?;
        let has_work = self.sending.lock().out.has_work();
        self.pump(if has_work { Wait::No } else { Wait::within(wait.look()) })
    }
}
