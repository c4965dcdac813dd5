//! Tasks to be woken.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    task::Waker,
};

use parking_lot::Mutex;

/// Each task once, until it is woken.
#[derive(Default)]
pub(crate) struct Wakers {
    any: AtomicBool,
    list: Mutex<Vec<Waker>>,
}

impl Wakers {
    /// Has the task woken at the next change. To be called before a last look at what it waits for.
    #[cfg_attr(not(feature = "tokio"), expect(dead_code, reason = "only tasks wait like this"))]
    pub fn add(&self, waker: &Waker) {
        let mut list = self.list.lock();
        if !list.iter().any(|known| known.will_wake(waker)) {
            list.push(waker.clone());
        }
        self.any.store(true, Ordering::SeqCst);
    }

    /// Whether any waits.
    #[inline]
    pub fn any(&self) -> bool {
        self.any.load(Ordering::SeqCst)
    }

    /// Wakes them all.
    #[inline]
    pub fn wake(&self) {
        if self.any() && self.any.swap(false, Ordering::SeqCst) {
            let list = std::mem::take(&mut *self.list.lock());
            for waker in list {
                waker.wake();
            }
        }
    }
}
