//! A time to wait that ends early if the user wants an end: what a program gets to start up, and as long a rest without it.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// How soon a wish to end is heard.
pub const SLICE: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug)]
pub struct Pause<'a> {
    pub length: Duration,
    /// Set if the user wants an end.
    pub stop: &'a AtomicBool,
}

impl Pause<'_> {
    pub fn none() -> Pause<'static> {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Pause { length: Duration::ZERO, stop: &NEVER }
    }

    pub fn make(&self) {
        let deadline = Instant::now() + self.length;
        let left = || deadline.saturating_duration_since(Instant::now());
        while !left().is_zero() && !self.stop.load(Relaxed) {
            thread::sleep(left().min(SLICE));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_over_when_the_user_wants_an_end() {
        let stop = AtomicBool::new(false);
        let pause = Pause { length: Duration::from_secs(3600), stop: &stop };
        thread::scope(|scope| {
            let pausing = scope.spawn(|| pause.make());
            thread::sleep(SLICE);
            assert!(!pausing.is_finished());
            stop.store(true, Relaxed);
        });
        let began = Instant::now();
        Pause { length: SLICE, ..Pause::none() }.make();
        assert!(began.elapsed() >= SLICE);
    }
}
