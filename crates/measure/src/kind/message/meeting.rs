//! Where the two ends of a trial wait for each other.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};
use std::thread;
use std::time::Duration;

use netfathom_model::layer::Side;

/// Looks at whether the other end is ready.
const NAP: Duration = Duration::from_micros(20);

/// Both ends are made: each may be looked at.
pub const MADE: u32 = 2;
/// Both know what they took so far: messages may go.
pub const METERED: u32 = 4;

#[derive(Default)]
pub struct Meeting {
    /// How often an end was ready for something.
    ready: AtomicU32,
    failed: AtomicBool,
    /// The one that failed first: the other one only lost its peer.
    broke: OnceLock<Side>,
}

impl Meeting {
    /// Waits until the other end is as far; `false` if it will not come.
    pub fn wait(&self, until: u32) -> bool {
        self.ready.fetch_add(1, AcqRel);
        self.reached(until)
    }

    /// Waits until ends were ready this often; `false` if they will not be.
    pub fn reached(&self, until: u32) -> bool {
        while self.ready.load(Acquire) < until {
            if self.failed.load(Acquire) {
                return false;
            }
            thread::sleep(NAP);
        }
        true
    }

    /// An end is no longer there.
    pub fn leave(&self) {
        self.failed.store(true, Release);
    }

    /// An end failed; only the first one counts.
    pub fn break_off(&self, side: Side) {
        let _ = self.broke.set(side);
    }

    pub fn broke(&self) -> Option<Side> {
        self.broke.get().copied()
    }
}
