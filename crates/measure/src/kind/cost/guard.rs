//! Two processes that look after each other, so that no end of either leaves anything behind.
//!
//! One waits for the other, which does the work. It adopts what that leaves behind when it is killed or
//! ends in haste, and ends it.
//! If it is killed itself, the kernel asks the other one to end (SIGTERM).

use std::env;
use std::io;
use std::ops::RangeInclusive;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_model::plan::{BenchmarkKind, CostPlan};
use netfathom_sys::child::{asked_to_end_with_this_thread, signal_group};
use netfathom_sys::process::{self, Process, SIGCONT, SIGKILL, SIGTERM};

use super::workplace;

/// What is killed is gone after this time, unless a device holds it.
const LONGEST: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);
/// What is asked to end is asked again after this time: our commands then end at once.
const ASKED_AGAIN: Duration = Duration::from_secs(2);
/// The exit statuses of our commands: from success to an inconclusive threshold.
const CLEAN: RangeInclusive<i32> = 0..=6;

pub struct Ward {
    child: Child,
    process: Arc<Process>,
    grace: Duration,
}

impl Ward {
    /// Starts it. The calling thread must live as long as it does.
    pub fn start(mut command: Command) -> io::Result<Self> {
        // Without it all goes on as it would, but for a kill -9.
        let _ = process::adopt_orphans(true);
        asked_to_end_with_this_thread(&mut command);
        let child = command.spawn()?;
        let process = Arc::new(Process::open(child.id())?);
        Ok(Self { child, process, grace: Duration::ZERO })
    }

    /// What it leaves behind is asked to end (SIGTERM), and gets so long before it is killed: time to put back what
    /// it has changed itself.
    pub fn with_grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// Passes signals on to it, from any thread.
    pub fn signals(&self) -> impl Fn(i32) + Send + 'static {
        let process = Arc::clone(&self.process);
        // One that has ended needs none.
        move |signal| drop(process.signal(signal))
    }

    /// The same of one that leads a group (`process_group(0)`), and of all of that: the first signal as it came, each
    /// further one kills.
    pub fn group_signals(&self) -> impl Fn(i32) + Send + 'static {
        let (process, leader) = (Arc::clone(&self.process), self.child.id());
        let asked = AtomicBool::new(false);
        move |signal| {
            let signal = if asked.swap(true, Relaxed) { SIGKILL } else { signal };
            // Its number is its own while it can still be signalled.
            if process.signal(0).is_ok() {
                let _ = signal_group(leader, signal);
            }
        }
    }

    /// Waits for its end; unless that was [clean](ended_cleanly), what it left behind is ended.
    pub fn wait(mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait()?;
        if !ended_cleanly(status) {
            end_what_is_left(self.grace);
        }
        Ok(status)
    }
}

/// Whether it came to an end that lets it put everything as it was. A signal does not, nor does a second Ctrl-C (130)
/// or a panic (101).
pub fn ended_cleanly(status: ExitStatus) -> bool {
    status.code().is_some_and(|code| CLEAN.contains(&code))
}

/// Removes what the other one had on disks, in the directory of temporary files and where else its benchmarks are.
pub fn remove_what_is_left(plan: Option<&CostPlan>) {
    let own =
        plan.into_iter().flat_map(|plan| &plan.benchmarks).filter_map(|benchmark| match &benchmark.kind {
            BenchmarkKind::Tar { directory, .. } => directory.clone(),
            _ => None,
        });
    for directory in own.chain([env::temp_dir()]) {
        workplace::KINDS.iter().for_each(|kind| drop(workplace::sweep(&directory, kind)));
    }
}

/// What killed runs left is removed now, and what this one leaves when it is dropped.
pub struct Left<'a>(&'a CostPlan);

impl<'a> Left<'a> {
    pub fn of(plan: &'a CostPlan) -> Self {
        remove_what_is_left(Some(plan));
        Self(plan)
    }
}

impl Drop for Left<'_> {
    fn drop(&mut self) {
        remove_what_is_left(Some(self.0));
    }
}

fn end_what_is_left(grace: Duration) {
    let killed_at = Instant::now() + grace;
    let deadline = killed_at + LONGEST;
    let mut asked_at = None;
    while process::reap_all() && Instant::now() < deadline {
        let signal = if Instant::now() >= killed_at { SIGKILL } else { SIGTERM };
        if signal == SIGKILL || asked_at.is_none_or(|at: Instant| at.elapsed() >= ASKED_AGAIN) {
            asked_at = Some(Instant::now());
            let left = process::descendants(std::process::id()).unwrap_or_default();
            for process in left.into_iter().filter_map(|pid| Process::open(pid).ok()) {
                // Who has ended in the meantime needs none.
                let _ = process.signal(signal);
                let _ = process.signal(SIGCONT);
            }
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_ends_as_a_command_does_has_put_everything_back() {
        let status = |script: &str| Command::new("sh").args(["-c", script]).status().unwrap();
        for code in 0..=6 {
            assert!(ended_cleanly(status(&format!("exit {code}"))));
        }
        for hasty in ["exit 130", "exit 101", "kill -9 $$", "kill -15 $$"] {
            assert!(!ended_cleanly(status(hasty)), "{hasty}");
        }
    }
}
