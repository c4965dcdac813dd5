//! Who receives. One thread at a time has the role, and with it the receiving half of the
//! protocol; it reads without any lock held, so others can send meanwhile.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use super::{Shared, Wait};
use crate::{Error, protocol::Incoming};

pub(crate) struct Receiving {
    incoming: Option<Box<Incoming>>,
    holder: usize,
    /// Buffers for posts that came while the role was taken.
    offers: Vec<(u16, Vec<u8>)>,
    /// Somebody wanted the role in vain since it was taken.
    missed: bool,
    /// Changes whenever a waiter should look again.
    pub turn: u64,
}

impl Receiving {
    pub fn new(incoming: Incoming) -> Self {
        Self { incoming: Some(Box::new(incoming)), holder: 0, offers: Vec::new(), missed: false, turn: 0 }
    }
}

/// The role; it is given back when this is dropped, also out of a handler that panics.
pub(crate) struct Role<'a> {
    shared: &'a Shared,
    incoming: Option<Box<Incoming>>,
    /// Something was read, or kept for others, who should look.
    pub news: bool,
}

impl Role<'_> {
    #[inline]
    pub fn incoming(&mut self) -> &mut Incoming {
        // Taken out only by drop.
        self.incoming.as_mut().expect("the role has its half until it is given back")
    }

    /// Takes up the buffers that were offered meanwhile. To be called after each read: what was
    /// just read may be the post for one of them.
    #[inline]
    pub fn take_offers(&mut self) {
        let offers = &self.shared.offers;
        if offers.load(Ordering::SeqCst) && offers.swap(false, Ordering::SeqCst) {
            for (channel, buffer) in self.shared.receiving.lock().offers.drain(..) {
                self.incoming().wait_with(channel, buffer);
            }
        }
    }
}

impl Drop for Role<'_> {
    fn drop(&mut self) {
        let mut receiving = self.shared.receiving.lock();
        receiving.incoming = self.incoming.take();
        receiving.holder = 0;
        let news = std::mem::take(&mut receiving.missed) || self.news;
        if self.shared.waiters.load(Ordering::SeqCst) > 0 {
            receiving.turn += 1;
            self.shared.turn.notify_all();
        }
        drop(receiving);
        if news {
            self.shared.arrivals.wake();
        }
    }
}

thread_local! {
    static HERE: u8 = const { 0 };
}

/// A number of this thread that no other living one has; never 0.
#[inline]
pub(super) fn this_thread() -> usize {
    HERE.with(|here| std::ptr::from_ref(here) as usize)
}

impl Shared {
    /// Has the buffer wait for a post, whoever has the role. Says whether others wait for something
    /// to come, perhaps for this very post.
    pub fn add_offer(&self, channel: u16, buffer: Vec<u8>) -> bool {
        let mut receiving = self.receiving.lock();
        receiving.offers.push((channel, buffer));
        self.offers.store(true, Ordering::SeqCst);
        let taken = receiving.incoming.is_none() && receiving.holder != this_thread();
        taken || self.arrivals.any()
    }

    /// The role, if it is free.
    #[inline]
    pub fn try_role(&self) -> Option<Role<'_>> {
        let mut receiving = self.receiving.lock();
        let Some(incoming) = receiving.incoming.take() else {
            receiving.missed = true;
            return None;
        };
        receiving.holder = this_thread();
        Some(Role { shared: self, incoming: Some(incoming), news: false })
    }

    /// The role, as soon as it is free; `None` if it is not in time.
    ///
    /// # Errors
    /// [`Error::InsideHandler`] if this very thread has it.
    #[inline]
    pub fn role(&self, wait: Wait) -> Result<Option<Role<'_>>, Error> {
        match self.try_role() {
            Some(role) => Ok(Some(role)),
            None if wait == Wait::No => Ok(None),
            None => self.wait_for_role(wait),
        }
    }

    fn wait_for_role(&self, wait: Wait) -> Result<Option<Role<'_>>, Error> {
        loop {
            let ticket = self.ticket();
            if let Some(role) = self.try_role() {
                return Ok(Some(role));
            }
            self.alive()?;
            if wait.over() {
                return Ok(None);
            }
            ticket.wait(wait)?;
        }
    }

    /// Gives the role to whoever waits for it, and waits to get it back.
    pub fn pass_on<'a>(&'a self, role: Role<'a>, wait: Wait) -> Result<Option<Role<'a>>, Error> {
        drop(role);
        let ticket = self.ticket();
        // Long enough for a waiter to wake; if none takes it, it is taken up again.
        ticket.wait(Wait::Until(Instant::now() + Duration::from_millis(1)))?;
        drop(ticket);
        self.role(wait)
    }

    /// To be taken before a last look at what one waits for.
    pub fn ticket(&self) -> Ticket<'_> {
        self.waiters.fetch_add(1, Ordering::SeqCst);
        let turn = self.receiving.lock().turn;
        Ticket { shared: self, turn }
    }
}

/// A place among those who wait for a change; none that comes after the ticket is missed.
pub(crate) struct Ticket<'a> {
    shared: &'a Shared,
    turn: u64,
}

impl Ticket<'_> {
    /// Waits for a change.
    ///
    /// # Errors
    /// [`Error::InsideHandler`] if this very thread would have to make it.
    pub fn wait(&self, wait: Wait) -> Result<(), Error> {
        let mut receiving = self.shared.receiving.lock();
        if receiving.incoming.is_none() && receiving.holder == this_thread() {
            return Err(Error::InsideHandler);
        }
        if receiving.turn == self.turn {
            self.shared.turn.wait_for(&mut receiving, wait.look());
        }
        Ok(())
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.shared.waiters.fetch_sub(1, Ordering::SeqCst);
    }
}
