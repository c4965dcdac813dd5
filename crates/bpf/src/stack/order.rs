//! How user space reads what the programs store, without a lock. The programs' half is `include/order.h`.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// A word that another thread, or a program, stores.
pub(super) trait Word {
    fn load(&self, order: Ordering) -> u64;
    fn fence(order: Ordering);
}

impl Word for AtomicU64 {
    #[inline]
    fn load(&self, order: Ordering) -> u64 {
        self.load(order)
    }

    #[inline]
    fn fence(order: Ordering) {
        fence(order);
    }
}

/// Reads a slot; `None` if it has, or meanwhile got, another owner.
///
/// A slot that goes to another message has owner 0 before its first new time and the new owner after its last. The
/// first load is Acquire: with the owner it sees the times that were stored before it. The fence keeps the loads of
/// the times before the second load of the owner: if one of them saw a later message's time, that load sees owner
/// 0 or the later one.
#[inline]
pub(super) fn whole<W: Word, T>(owner: &W, wanted: u64, read: impl FnOnce() -> T) -> Option<T> {
    if owner.load(Ordering::Acquire) != wanted {
        return None;
    }
    let value = read();
    W::fence(Ordering::Acquire);
    (owner.load(Ordering::Relaxed) == wanted).then_some(value)
}

/// A time that was stored after what belongs to it; `None` where the hook did not see the message. Acquire: loads
/// that come after it see that.
#[inline]
pub(super) fn published<W: Word>(time: &W) -> Option<u64> {
    Some(time.load(Ordering::Acquire)).filter(|&t| t != 0)
}

/// Every order in which the threads and their memory may run, by loom.
#[cfg(test)]
mod tests {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU64, Ordering, Ordering::*, fence};
    use loom::thread;

    use super::*;

    impl Word for AtomicU64 {
        fn load(&self, order: Ordering) -> u64 {
            self.load(order)
        }

        fn fence(order: Ordering) {
            fence(order);
        }
    }

    /// A slot with two times, each a multiple of its owner.
    #[derive(Default)]
    struct Slot {
        owner: AtomicU64,
        link: AtomicU64,
        idle: AtomicU64,
        ready: AtomicU64,
    }

    /// `publish` of include/order.h: nothing moves over it in either direction.
    fn publish(word: &AtomicU64, value: u64) {
        fence(SeqCst);
        word.store(value, Relaxed);
        fence(SeqCst);
    }

    impl Slot {
        /// As `open_rx` and `on_ready` of receive.h.
        fn pass(&self, owner: u64) {
            publish(&self.owner, 0);
            self.link.store(owner * 10, Relaxed);
            self.ready.store(0, Relaxed);
            publish(&self.owner, owner);
            self.idle.store(owner * 100, Relaxed);
            publish(&self.ready, owner * 1000);
        }
    }

    /// A reader of message 1 while message 2 takes its slot.
    #[test]
    fn the_times_of_one_message_are_never_those_of_another() {
        loom::model(|| {
            let slot = Arc::new(Slot::default());
            let programs = Arc::clone(&slot);
            let writer = thread::spawn(move || (1..=2).for_each(|owner| programs.pass(owner)));
            let seen = whole(&slot.owner, 1, || {
                let link = slot.link.load(Relaxed);
                (link, published(&slot.ready), slot.idle.load(Relaxed))
            });
            if let Some((link, ready, idle)) = seen {
                assert_eq!(link, 10);
                assert!(ready.is_none_or(|ready| (ready, idle) == (1000, 100)), "{ready:?} {idle}");
            }
            writer.join().unwrap();
        });
    }
}
