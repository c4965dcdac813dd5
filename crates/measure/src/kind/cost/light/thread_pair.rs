//! Two threads on one processor: on which processors two threads are that wake each other moves what that takes by a
//! multiple, more than any program would.

use std::io;

use netfathom_sys::cpu;

pub struct Together {
    allowed: Vec<usize>,
    first: usize,
}

impl Together {
    pub fn new() -> io::Result<Self> {
        let allowed = cpu::allowed().map_err(io::Error::other)?;
        let first = *allowed.first().ok_or(io::ErrorKind::NotFound)?;
        Ok(Self { allowed, first })
    }

    pub fn join(&self) -> impl FnOnce() + Send + 'static {
        let first = self.first;
        move || {
            // It is one of those that this process may use.
            let _ = cpu::pin(first);
        }
    }

    /// The calling thread is there for as long as it works.
    pub fn run(&self, work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        cpu::pin(self.first).map_err(io::Error::other)?;
        let done = work();
        cpu::allow(&self.allowed).map_err(io::Error::other)?;
        done
    }
}
