//! A process that runs already: stopped for the baseline, and continued.

use std::thread;
use std::time::{Duration, Instant};

use netfathom_model::plan::CostLevel;
use netfathom_model::record::ProgramTrial;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::process::{self, Process, SIGCONT, SIGSTOP};

use super::family::spent_ns;
use super::pause::Pause;
use super::{Ran, Switch};
use crate::kind::cost::error::CostError;

/// The longest wait until a process has stopped.
const LONGEST: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(1);

pub struct Stopped<'a> {
    pid: u32,
    settle: Pause<'a>,
    /// The moment at which the benchmark began, and the processor time that was spent until then, where it is known.
    since: Option<(u64, Option<u64>)>,
}

impl<'a> Stopped<'a> {
    /// Stops it.
    pub fn new(pid: u32, settle: Pause<'a>) -> Result<Self, CostError> {
        let refuse = |why: &'static str| CostError::Unfit { pid, why };
        if process::ancestors(std::process::id()).contains(&pid) {
            return Err(refuse("netfathom was started by it, and would be stopped with it: choose another"));
        }
        if !process::lives(pid) {
            return Err(refuse("there is no such process (ps -p PID)"));
        }
        if process::is_stopped(pid) {
            return Err(refuse("it is stopped already: let it go on first (kill -CONT PID)"));
        }
        let stopped = Self { pid, settle, since: None };
        stopped.stop()?;
        Ok(stopped)
    }

    fn family(&self) -> Result<Vec<u32>, CostError> {
        let refuse =
            |e: std::io::Error| CostError::Process { pid: self.pid, why: format!("cannot look at it: {e}") };
        let mut family = vec![self.pid];
        family.extend(process::descendants(self.pid).map_err(refuse)?);
        Ok(family)
    }

    fn signal(&self, signal: i32) -> Result<(), CostError> {
        for pid in self.family()? {
            let sent = Process::open(pid).and_then(|process| process.signal(signal));
            if let Err(source) = sent
                && pid == self.pid
            {
                let why = format!("cannot signal it: {source}; is it another user's, or has it ended?");
                return Err(CostError::Process { pid, why });
            }
        }
        Ok(())
    }

    fn stop(&self) -> Result<(), CostError> {
        self.signal(SIGSTOP)?;
        let deadline = Instant::now() + LONGEST;
        while !process::is_stopped(self.pid) {
            if Instant::now() > deadline || !process::lives(self.pid) {
                return Err(CostError::Process {
                    pid: self.pid,
                    why: "it does not stop, or has ended".into(),
                });
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    fn spent_ns(&self) -> Option<u64> {
        spent_ns(|| self.family().ok())
    }
}

/// Lets a process and its descendants go on.
pub fn go_on(pid: u32) -> Result<(), CostError> {
    Stopped { pid, settle: Pause::none(), since: None }.signal(SIGCONT)
}

impl Switch for Stopped<'_> {
    fn on(&mut self, _: Option<&CostLevel>) -> Result<(), CostError> {
        self.signal(SIGCONT)?;
        self.settle.make();
        self.begins()
    }

    fn begins(&mut self) -> Result<(), CostError> {
        let spent_ns = self.spent_ns();
        self.since = Some((monotonic_ns(), spent_ns));
        Ok(())
    }

    fn off(&mut self, _: (u64, u64)) -> Result<Ran, CostError> {
        if !process::lives(self.pid) {
            return Err(CostError::Process { pid: self.pid, why: "it has ended during the run".into() });
        }
        let (to_ns, spent_ns) = (monotonic_ns(), self.spent_ns());
        self.stop()?;
        let (from_ns, before) = self.since.take().unwrap_or((to_ns, None));
        // A descendant that left its parent took its time with it.
        let cpu_ns = before.zip(spent_ns).and_then(|(before, after)| after.checked_sub(before));
        let (wall_ns, peak_rss_bytes) = (to_ns - from_ns, process::peak_rss_bytes(self.pid));
        Ok(Ran::throughout(ProgramTrial { wall_ns, cpu_ns, peak_rss_bytes, ..ProgramTrial::default() }))
    }

    fn restore(&mut self) -> Result<(), CostError> {
        self.signal(SIGCONT)
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        let _ = self.signal(SIGCONT);
    }
}
