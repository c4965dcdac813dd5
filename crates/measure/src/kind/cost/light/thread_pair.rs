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
    let mut far = Partner::start(name, near, echo)?;
    Ok(Box::new(move |size| {
        // The calling thread is there for as long as it works.
        cpu::pin(first).map_err(io::Error::other)?;
        let (to, from) = far.near()?;
        let done = (0..size).try_for_each(|_| {
            to.write_all(&[1; BYTES])?;
            from.read_exact(&mut [0; BYTES])
        });
        cpu::allow(&allowed).map_err(io::Error::other)?;
        done
    }))
}

/// A thread that ends once our end of what leads to it is closed.
pub struct Partner<Near> {
    /// `None` once it is closed.
    near: Option<Near>,
    far: Option<JoinHandle<()>>,
}

impl<Near> Partner<Near> {
    pub fn start(name: &str, near: Near, work: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let far = thread::Builder::new().name(name.into()).spawn(work)?;
        Ok(Self { near: Some(near), far: Some(far) })
    }

    pub fn near(&mut self) -> io::Result<&mut Near> {
        self.near.as_mut().ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }
}

impl<Near> Drop for Partner<Near> {
    fn drop(&mut self) {
        self.near = None;
        // It holds nothing but its two ends.
        let _ = self.far.take().map(JoinHandle::join);
    }
}
