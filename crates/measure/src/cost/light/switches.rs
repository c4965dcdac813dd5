//! Two threads on one processor that hand each other a byte.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::path::Path;
use std::thread::{self, JoinHandle};

use netfathom_sys::cpu;

use super::{Phase, Work};

pub const PHASE: Phase = Phase {
    name: "switches",
    resource: "the scheduler: waking a thread and changing to it, on the first processor allowed",
    unit: "round trips",
    constant_ns: 0,
    prepare,
};

struct Switches {
    /// `None` once it is closed, which ends the other thread.
    to: Option<PipeWriter>,
    from: PipeReader,
    other: Option<JoinHandle<()>>,
    allowed: Vec<usize>,
}

fn prepare(_place: &Path) -> io::Result<Box<dyn Work>> {
    let allowed = cpu::allowed().map_err(io::Error::other)?;
    let processor = *allowed.first().ok_or(io::ErrorKind::NotFound)?;
    let ((mut hears, to), (from, mut answers)) = (io::pipe()?, io::pipe()?);
    let echo = move || {
        // It is one of those that this process may use.
        let _ = cpu::pin(processor);
        let mut byte = [0];
        // Until the other end is closed.
        while hears.read_exact(&mut byte).and_then(|()| answers.write_all(&byte)).is_ok() {}
    };
    let other = thread::Builder::new().name("light-switches".into()).spawn(echo)?;
    Ok(Box::new(Switches { to: Some(to), from, other: Some(other), allowed }))
}

impl Switches {
    fn hand_to_and_fro(&mut self, times: u64) -> io::Result<()> {
        let mut to = self.to.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        (0..times).try_for_each(|_| {
            to.write_all(&[1])?;
            self.from.read_exact(&mut [0])
        })
    }
}

impl Work for Switches {
    fn run(&mut self, size: u64) -> io::Result<()> {
        cpu::pin(self.allowed[0]).map_err(io::Error::other)?;
        let done = self.hand_to_and_fro(size);
        cpu::allow(&self.allowed).map_err(io::Error::other)?;
        done
    }
}

impl Drop for Switches {
    fn drop(&mut self) {
        self.to = None;
        // It holds nothing but its two ends.
        let _ = self.other.take().map(JoinHandle::join);
    }
}
