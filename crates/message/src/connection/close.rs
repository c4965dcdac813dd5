//! The end in good order.

use std::{sync::atomic::Ordering, time::Duration};

use super::{Shared, Wait};
use crate::{Error, protocol::Want, strategy::Cause};

impl Shared {
    pub fn close(&self, limit: Duration) -> Result<(), Error> {
        self.alive()?;
        self.sending.lock().out.close();
        let wait = Wait::within(limit);
        let result = self.flush(Cause::Flush).and_then(|()| self.wait_for_close(wait));
        let acked = self.sending.lock().out.acked();
        self.fail(Error::Ended);
        match result {
            // The peer has read all: how it then left does not matter.
            _ if acked => Ok(()),
            Ok(()) => Err(Error::TimedOut(limit)),
            Err(error) => Err(error),
        }
    }

    /// Until both sides have closed and know it, or the time is over.
    fn wait_for_close(&self, wait: Wait) -> Result<(), Error> {
        while !wait.over() {
            let sending = self.sending.lock();
            let written = !sending.in_flight() && !sending.out.has_work();
            if written && sending.out.acked() && self.peer_closed.load(Ordering::SeqCst) {
                return Ok(());
            }
            drop(sending);
            let soon = Wait::within(wait.look());
            match self.try_role() {
                Some(mut role) => self.pump_role(&mut role, Want::Any, soon)?,
                None => self.pump(soon)?,
            }
        }
        Ok(())
    }
}
