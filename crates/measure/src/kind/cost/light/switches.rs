//! Two threads on one processor that hand each other a byte.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::thread::{self, JoinHandle};

use netfathom_sys::directory::Directory;

use super::thread_pair::Together;
use super::{Phase, PhaseWork};

pub const PHASE: Phase = Phase {
    name: "switches",
    resource: "context switches between two threads on one CPU",
    unit: "round trips",
    constant_ns: 0,
    prepare,
};

struct Switches {
    /// `None` once it is closed, which ends the other thread.
    to: Option<PipeWriter>,
    from: PipeReader,
    other: Option<JoinHandle<()>>,
    together: Together,
}

fn prepare(_place: &Directory) -> io::Result<Box<dyn PhaseWork>> {
    let together = Together::new()?;
    let join = together.join();
    let ((mut hears, to), (from, mut answers)) = (io::pipe()?, io::pipe()?);
    let echo = move || {
        join();
        let mut byte = [0];
        // Until the other end is closed.
        while hears.read_exact(&mut byte).and_then(|()| answers.write_all(&byte)).is_ok() {}
    };
    let other = thread::Builder::new().name("light-switches".into()).spawn(echo)?;
    Ok(Box::new(Switches { to: Some(to), from, other: Some(other), together }))
}

impl PhaseWork for Switches {
    fn run(&mut self, size: u64) -> io::Result<()> {
        let mut to = self.to.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut round_trip = || to.write_all(&[1]).and_then(|()| self.from.read_exact(&mut [0]));
        self.together.run(|| (0..size).try_for_each(|_| round_trip()))
    }
}

impl Drop for Switches {
    fn drop(&mut self) {
        self.to = None;
        // It holds nothing but its two ends.
        let _ = self.other.take().map(JoinHandle::join);
    }
}
