//! What a program writes: read so that it never waits for us, kept only as far as people want to see it.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The last of it, that an error message can quote.
const KEPT_BYTES: usize = 2000;
/// Whom a child keeps open that lives on is not waited for longer.
const LONGEST: Duration = Duration::from_millis(200);
const LOOK: Duration = Duration::from_millis(1);
const BUFFER_BYTES: usize = 64 << 10;

/// The end of what a program wrote, and how much it was.
#[derive(Clone, Debug, Default)]
pub struct Output {
    tail: Arc<Mutex<VecDeque<u8>>>,
    bytes: Arc<AtomicU64>,
    /// Readers that have not come to the end.
    reading: Arc<AtomicUsize>,
}

impl Output {
    /// Reads in a thread of its own until the last one who could write is gone.
    pub fn read(&self, mut from: impl Read + Send + 'static) -> io::Result<()> {
        let Self { tail, bytes, reading } = self.clone();
        reading.fetch_add(1, Relaxed);
        let read = move || {
            let mut buffer = vec![0; BUFFER_BYTES];
            // A terminal returns an error (EIO) once its program is gone.
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                bytes.fetch_add(count as u64, Relaxed);
                let mut tail = tail.lock();
                tail.extend(&buffer[count.saturating_sub(KEPT_BYTES)..count]);
                let beyond = tail.len().saturating_sub(KEPT_BYTES);
                tail.drain(..beyond);
            }
            reading.fetch_sub(1, Release);
        };
        thread::Builder::new().name("output".into()).spawn(read).map(|_| ())
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// The end of it. Who has just ended may have written what is not read yet.
    pub fn end(&self) -> String {
        let began = Instant::now();
        while self.reading.load(Acquire) > 0 && began.elapsed() < LONGEST {
            thread::sleep(LOOK);
        }
        let tail = self.tail.lock();
        String::from_utf8_lossy(&tail.iter().copied().collect::<Vec<u8>>()).into_owned()
    }

    /// Its last line that says something, as a part of a sentence; empty if there is none.
    pub fn last_line(&self) -> String {
        let text = self.end();
        let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
        last.map_or_else(String::new, |line| format!(": its last line was `{line}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_flood_is_kept() {
        let output = Output::default();
        let flood = io::repeat(b'x').take(1 << 20).chain(&b"\nno such device\n\n"[..]);
        output.read(flood).unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while output.bytes() < (1 << 20) + 17 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        // What was counted is also kept.
        assert_eq!(output.bytes(), (1 << 20) + 17);
        assert_eq!(output.last_line(), ": its last line was `no such device`");
        assert_eq!(Output::default().last_line(), "");
    }
}
