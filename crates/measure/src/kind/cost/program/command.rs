//! A program that is started for each trial and ended after it.
//!
//! A thread of its own starts it and waits for it: the kernel kills the program with that thread, so nothing of
//! it survives us, and one that ends by itself is noticed when it does.

use std::process;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use netfathom_model::plan::{CostLevel, LEVEL_WORD, WhenEnded};
use netfathom_model::record::ProgramTrial;
use netfathom_sys::clock::monotonic_ns;

use super::family::fresh_word;
use super::output::Output;
use super::pause::{Pause, SLICE};
use super::supervisor::{Life, ProgramEvent, Shared, Supervisor};
use super::{Context, Ran, Switch};
use crate::kind::cost::error::{CostError, step};
use crate::tap::capture::tcpdump::TcpdumpCounts;

/// It counts as having been there throughout if it was for this part of the time.
const THROUGHOUT: f64 = 0.98;

pub struct Command<'a> {
    what: &'static str,
    argv: Vec<String>,
    context: Context,
    settle: Pause<'a>,
    supervised: Option<Supervised>,
}

struct Supervised {
    thread: JoinHandle<Result<Life, CostError>>,
    shared: Arc<Shared>,
    /// Since when what it uses counts, and what it had used until then, where that is known.
    since: (u64, Option<u64>),
}

impl<'a> Command<'a> {
    /// Of these arguments, `{level}` in them replaced; `what` it is, for messages.
    pub fn new(what: &'static str, argv: Vec<String>, context: Context, settle: Pause<'a>) -> Self {
        Self { what, argv, context, settle, supervised: None }
    }

    fn supervisor(&self, level: Option<&CostLevel>) -> Supervisor {
        let text = level.map_or("", |level| level.text.as_str());
        Supervisor {
            what: self.what,
            argv: self.argv.iter().map(|word| word.replace(LEVEL_WORD, text)).collect(),
            context: self.context.clone(),
            word: fresh_word(),
            shared: Arc::default(),
            life: Life::default(),
        }
    }

    fn may_end(&self, status: process::ExitStatus) -> bool {
        status.success() && self.context.when_ended != WhenEnded::Trouble
    }

    /// Ended by itself before it was needed: an error, except of one that leaves its work to a child.
    fn await_start(&self, events: &Receiver<ProgramEvent>, output: &Output) -> Result<(), CostError> {
        let deadline = Instant::now() + self.settle.length;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match events.recv_timeout(left.min(SLICE)) {
                Ok(ProgramEvent::Ended { status, alone }) if alone && !self.may_end(status) => {
                    let remedy = if status.success() {
                        "; give a program that goes on, --again to have it started again whenever it ends, or --job if \
                         that is all that it does"
                    } else {
                        ""
                    };
                    return Err(CostError::EndedAtOnce {
                        what: self.what,
                        program: self.argv.first().cloned().unwrap_or_default(),
                        status: status.to_string(),
                        detail: output.last_line(),
                        remedy,
                    });
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout)
                    if Instant::now() < deadline && !self.settle.stop.load(Relaxed) => {}
                // The time is up, or the supervisor is gone; its error is reported at the end.
                Err(_) => return Ok(()),
            }
        }
    }
}

impl Switch for Command<'_> {
    fn on(&mut self, level: Option<&CostLevel>) -> Result<(), CostError> {
        let supervisor = self.supervisor(level);
        let shared = Arc::clone(&supervisor.shared);
        let (tell, events) = mpsc::channel();
        let spawned = thread::Builder::new().name("program".into()).spawn(move || supervisor.run(&tell));
        let thread = spawned.map_err(step("start a thread for the program"))?;
        let supervised = Supervised { thread, shared, since: (monotonic_ns(), Some(0)) };
        if events.recv().is_err() {
            // It could not be started: the thread's own result says why.
            supervised.finish()?;
            return Err(CostError::Benchmark("the program under test did not start".into()));
        }
        if let Err(error) = self.await_start(&events, &supervised.shared.output) {
            supervised.finish()?;
            return Err(error);
        }
        self.supervised = Some(supervised);
        Ok(())
    }

    fn begins(&mut self) -> Result<(), CostError> {
        if let Some(supervised) = &mut self.supervised {
            let spent_ns = supervised.spent_ns();
            supervised.since = (monotonic_ns(), spent_ns);
        }
        Ok(())
    }

    fn off(&mut self, during: (u64, u64)) -> Result<Ran, CostError> {
        let Some(supervised) = self.supervised.take() else {
            return Err(CostError::Benchmark("the program under test is not there".into()));
        };
        let (output, (from_ns, before)) = (supervised.shared.output.clone(), supervised.since);
        // Before anything is ended: what that takes is none of its cost.
        let (to_ns, spent_ns) = (monotonic_ns(), supervised.spent_ns());
        let life = supervised.finish()?;
        let present = present(&life.times, during);
        let fine =
            self.context.when_ended == WhenEnded::Fine && life.ended.is_none_or(|status| status.success());
        let trouble = (present < THROUGHOUT && !fine).then(|| {
            let how =
                life.ended.map_or_else(String::new, |status| format!(" ({status}{})", output.last_line()));
            format!("{} was there for {:.0} % of the benchmark only{how}", self.what, 100.0 * present)
        });
        let used = ProgramTrial {
            wall_ns: to_ns - from_ns,
            // Less than before: somebody took what was spent with him.
            cpu_ns: before.zip(spent_ns).and_then(|(before, after)| after.checked_sub(before)),
            peak_rss_bytes: life.peak_rss_bytes,
            present,
            starts: life.starts,
            output_bytes: Some(output.bytes()),
            lost: TcpdumpCounts::parse(&output.end()).and_then(|counts| counts.lost()),
            killed: life.killed,
        };
        Ok(Ran { used, trouble })
    }

    fn restore(&mut self) -> Result<(), CostError> {
        self.supervised.take().map_or(Ok(()), |supervised| supervised.finish().map(|_| ()))
    }
}

impl Drop for Command<'_> {
    fn drop(&mut self) {
        let _ = self.restore();
    }
}

impl Supervised {
    fn spent_ns(&self) -> Option<u64> {
        self.shared.family.get()?.spent_ns()
    }

    fn finish(self) -> Result<Life, CostError> {
        self.shared.end.store(true, Relaxed);
        self.thread.join().unwrap_or_else(|_| {
            Err(CostError::Benchmark("the program's thread died: this is a bug in netfathom".into()))
        })
    }
}

/// How much of a time lies within others.
fn present(times: &[(u64, u64)], (from_ns, to_ns): (u64, u64)) -> f64 {
    let within = |&(from, to): &(u64, u64)| to.min(to_ns).saturating_sub(from.max(from_ns));
    let whole = to_ns.saturating_sub(from_ns);
    if whole == 0 { 1.0 } else { times.iter().map(within).sum::<u64>() as f64 / whole as f64 }
}

#[cfg(test)]
mod tests;
