//! What comes through a pipe, with an end whenever it is wanted.
//!
//! A pipe may stall for as long as its writer likes, and a FIFO is not even opened before there is
//! a writer. A signal does not end such a call: another thread may have got it, and it is restarted.
//! So a thread of its own reads, and no other thread waits for it.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use netfathom_capture::error::CaptureError;
use netfathom_capture::input::{Input, Packing};

/// So much is read at once.
const CHUNK_BYTES: usize = 256 << 10;
const AHEAD: usize = 4;
/// Whether an end is wanted is asked so often.
const ASKED_EVERY: Duration = Duration::from_millis(50);

pub struct Pipe<'a> {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    used: usize,
    stop: &'a AtomicBool,
}

impl<'a> Pipe<'a> {
    pub fn open(name: &str, stop: &'a AtomicBool) -> Result<(Self, Packing), CaptureError> {
        let (open, opened) = sync_channel(1);
        let (give, chunks) = sync_channel(AHEAD);
        let path = name.to_owned();
        let failed = |source| CaptureError::Open { path: name.into(), source };
        let reads = move || match Input::open(&path) {
            Ok(input) => {
                let _ = open.send(Ok(input.packing()));
                give_all(input, &give);
            }
            Err(error) => drop(open.send(Err(error))),
        };
        thread::Builder::new().name("pipe".into()).spawn(reads).map_err(failed)?;
        let packing = wait(&opened, stop).map_err(failed)?.unwrap_or_else(|| Err(failed(ended())))?;
        Ok((Self { chunks, chunk: Vec::new(), used: 0, stop }, packing))
    }
}

impl Read for Pipe<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.used == self.chunk.len() {
            match wait(&self.chunks, self.stop)? {
                Some(chunk) => (self.chunk, self.used) = (chunk?, 0),
                None => return Ok(0),
            }
        }
        let bytes = (&self.chunk[self.used..]).read(into)?;
        self.used += bytes;
        Ok(bytes)
    }
}

/// Reads until the end, an error, or until the receiver is gone.
fn give_all(mut input: Input, give: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        let read = match input.read(&mut chunk) {
            Ok(0) => return,
            Ok(bytes) => {
                chunk.truncate(bytes);
                Ok(chunk)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let failed = read.is_err();
        if give.send(read).is_err() || failed {
            return;
        }
    }
}

/// What comes next; `None` once nothing does.
fn wait<T>(from: &Receiver<T>, stop: &AtomicBool) -> io::Result<Option<T>> {
    loop {
        if stop.load(Relaxed) {
            return Err(io::Error::other("the run was ended"));
        }
        match from.recv_timeout(ASKED_EVERY) {
            Ok(got) => return Ok(Some(got)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// The thread that reads has ended without a word.
fn ended() -> io::Error {
    io::Error::other("its reader is gone")
}
