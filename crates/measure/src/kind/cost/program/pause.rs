//! A time to wait that ends early if the user wants an end: what a program gets to start up, and as long a rest without it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// How soon a wish to end is heard.
pub const SLICE: Duration = Duration::from_millis(50);

#[derive(Clone, Debug)]
pub struct Pause {
    pub length: Duration,
    /// Set if the user wants an end.
    pub stop: Arc<AtomicBool>,
}

impl Pause {
    pub fn none() -> Self {
        Self { length: Duration::ZERO, stop: Arc::default() }
    }

    pub fn make(&self) {
        rest(self.length, &self.stop);
    }
}

/// Waits so long, or until the user wants an end.
pub fn rest(length: Duration, stop: &AtomicBool) {
    let deadline = Instant::now() + length;
    let left = || deadline.saturating_duration_since(Instant::now());
    while !left().is_zero() && !stop.load(Relaxed) {
        thread::sleep(left().min(SLICE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_over_when_the_user_wants_an_end() {
        let pause = Pause { length: Duration::from_secs(3600), stop: Arc::default() };
        thread::scope(|scope| {
            let pausing = scope.spawn(|| pause.make());
            thread::sleep(SLICE);
            assert!(!pausing.is_finished());
            pause.stop.store(true, Relaxed);
        });
        let began = Instant::now();
        Pause { length: SLICE, stop: Arc::default() }.make();
        assert!(began.elapsed() >= SLICE);
    }
}
