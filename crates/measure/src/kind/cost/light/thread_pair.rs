//! Two threads on one processor: on which processors two threads are that wake each other moves what that takes by a
//! multiple, more than any program would.

use std::io::{self, Read, Write};
use std::thread::{self, JoinHandle};

use netfathom_sys::cpu;

use super::Work;

/// Messages to another thread and back, each of `BYTES`, through two ends that lead to the other two.
pub fn round_trips<const BYTES: usize>(
    name: &str,
    near: (impl Write + 'static, impl Read + 'static),
    (mut hears, mut answers): (impl Read + Send + 'static, impl Write + Send + 'static),
) -> io::Result<Work> {
    let allowed = cpu::allowed().map_err(io::Error::other)?;
    let first = *allowed.first().ok_or(io::ErrorKind::NotFound)?;
    let echo = move || {
        // It is one of those that this process may use.
        let _ = cpu::pin(first);
        let mut message = [0; BYTES];
        // Until the other end is closed.
        while hears.read_exact(&mut message).and_then(|()| answers.write_all(&message)).is_ok() {}
    };
    let far = thread::Builder::new().name(name.into()).spawn(echo)?;
    let mut pair = ThreadPair { near: Some(near), far: Some(far) };
    Ok(Box::new(move |size| {
        // The calling thread is there for as long as it works.
        cpu::pin(first).map_err(io::Error::other)?;
        let done = (0..size).try_for_each(|_| pair.round_trip::<BYTES>());
        cpu::allow(&allowed).map_err(io::Error::other)?;
        done
    }))
}

struct ThreadPair<To: Write, From: Read> {
    /// `None` once it is closed, which ends the other thread.
    near: Option<(To, From)>,
    far: Option<JoinHandle<()>>,
}

impl<To: Write, From: Read> ThreadPair<To, From> {
    fn round_trip<const BYTES: usize>(&mut self) -> io::Result<()> {
        let (to, from) = self.near.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        to.write_all(&[1; BYTES])?;
        from.read_exact(&mut [0; BYTES])
    }
}

impl<To: Write, From: Read> Drop for ThreadPair<To, From> {
    fn drop(&mut self) {
        self.near = None;
        // It holds nothing but its two ends.
        let _ = self.far.take().map(JoinHandle::join);
    }
}
