//! The light benchmark: a few seconds of work, one resource after the other, to show which resources
//! another program takes.
//!
//! Each phase is a row of [`PHASES`]. Its size is found once, on the idle machine
//! ([`calibrate`]), and then kept: the same work each time.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

mod calibrate;
pub(super) mod memory;
pub(super) mod phases;
mod sizes;
mod thread_pair;

pub use calibrate::calibrate;
pub use phases::PHASES;
pub use sizes::{Sizes, unknown};

use netfathom_sys::directory::Directory;

use super::workplace::{self, Workplace};

/// The mark before the first phase; the others have the names of the phases that end there.
pub const START: &str = "start";

#[derive(Debug)]
pub struct Phase {
    /// Its name, and that of the mark at its end.
    pub name: &'static str,
    /// The resource that it uses, in words.
    pub resource: &'static str,
    pub unit: &'static str,
    /// Nanoseconds of each unit that pass on any machine, whatever else it does: only what comes on
    /// top is the machine's. 0 but for timers.
    pub constant_ns: u64,
    /// Makes what it needs, so that its own time is work alone.
    prepare: fn(&Directory) -> io::Result<Work>,
}

/// Does so much of it.
type Work = Box<dyn FnMut(u64) -> io::Result<()>>;

impl PartialEq for Phase {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

pub fn phase(name: &str) -> Option<&'static Phase> {
    PHASES.iter().find(|phase| phase.name == name)
}

#[derive(Debug, thiserror::Error)]
pub enum LightError {
    #[error("cannot make a directory in {path}: {source}; choose another with TMPDIR")]
    Place { path: String, source: io::Error },
    #[error("the phase {phase} failed: {source}; leave it out with --phases")]
    Phase { phase: &'static str, source: io::Error },
    #[error("the benchmark was not finished: it was broken off")]
    Stopped,
}

/// A directory below `parent` for what the phases write.
fn place(parent: &Path) -> Result<Workplace, LightError> {
    Workplace::create(parent, workplace::LIGHT)
        .map_err(|source| LightError::Place { path: parent.display().to_string(), source })
}

/// The benchmark with all that its phases need, ready to run as often as is wanted.
pub struct Light {
    phases: Vec<(&'static Phase, u64, Work)>,
    _place: Workplace,
}

impl Light {
    /// Makes what the phases need: memory, files below `parent`, threads, a connection.
    pub fn prepare(parent: &Path, sizes: &Sizes) -> Result<Self, LightError> {
        let place = place(parent)?;
        let ready = |&(phase, size): &(&'static Phase, u64)| {
            let work = (phase.prepare)(place.directory());
            let work = work.map_err(|source| LightError::Phase { phase: phase.name, source })?;
            Ok((phase, size, work))
        };
        let phases = sizes.phases().iter().map(ready).collect::<Result<_, _>>()?;
        Ok(Self { phases, _place: place })
    }

    /// Runs all phases once, one after the other. `mark` is called with [`START`] before the first,
    /// and at the end of each with its name; `stop` ends it after the phase that it is in.
    pub fn run(&mut self, stop: &AtomicBool, mark: &mut dyn FnMut(&str)) -> Result<(), LightError> {
        mark(START);
        for (phase, size, work) in &mut self.phases {
            if stop.load(Relaxed) {
                return Err(LightError::Stopped);
            }
            work(*size).map_err(|source| LightError::Phase { phase: phase.name, source })?;
            mark(phase.name);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
