//! The thread that starts a program, waits for it, and ends it.

use std::process::{self, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_model::plan::WhenEnded;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::process::{Process, give_terminal};
use netfathom_sys::{child, cpu};

use super::Context;
use super::family::{Family, Starting};
use super::output::Output;
use crate::kind::cost::error::{CostError, step};

/// One that is started again and again without doing anything is not started more often.
const LEAST_LIFE: Duration = Duration::from_millis(20);

/// What the thread shares with the one that it works for.
#[derive(Default)]
pub struct Shared {
    /// Its family, once it was started.
    pub family: OnceLock<Family>,
    /// Whether it is to end.
    pub end: AtomicBool,
    pub output: Output,
}

#[derive(Debug, Default)]
pub struct Life {
    pub peak_rss_bytes: Option<u64>,
    pub starts: u32,
    pub killed: bool,
    /// From and to, CLOCK_MONOTONIC.
    pub times: Vec<(u64, u64)>,
    /// How the last one ended that ended by itself.
    pub ended: Option<process::ExitStatus>,
}

pub enum ProgramEvent {
    Started,
    /// By itself; `alone` if it left no process behind.
    Ended {
        status: process::ExitStatus,
        alone: bool,
    },
}

/// Starts the program, waits for it, and ends it.
pub struct Supervisor {
    pub what: &'static str,
    pub argv: Vec<String>,
    pub context: Context,
    pub word: String,
    pub shared: Arc<Shared>,
    pub life: Life,
}

impl Supervisor {
    /// Until it is over, or is to be.
    pub fn run(mut self, tell: &Sender<ProgramEvent>) -> Result<Life, CostError> {
        if let Some(namespace) = &self.context.namespace {
            let entered = namespace.enter();
            entered.map_err(|e| CostError::Load(std::io::Error::other(e)))?;
        }
        if !self.context.cpus.is_empty() {
            cpu::allow(&self.context.cpus).map_err(|e| CostError::Load(std::io::Error::other(e)))?;
        }
        loop {
            let (started, from_ns) = (Instant::now(), monotonic_ns());
            let root = self.start()?;
            // The receiver may be gone.
            let _ = tell.send(ProgramEvent::Started);
            let ended = self.watch(root, from_ns, tell)?;
            let again =
                self.context.when_ended == WhenEnded::Again && ended.is_some_and(|status| status.success());
            if self.shared.end.load(Relaxed) || !again {
                break;
            }
            thread::sleep(LEAST_LIFE.saturating_sub(started.elapsed()));
        }
        Ok(self.life)
    }

    fn start(&mut self) -> Result<process::Child, CostError> {
        let program = self.argv[0].clone();
        let mut command = process::Command::new(&program);
        command.args(&self.argv[1..]).env(Family::WORD, &self.word);
        let mut terminal = None;
        if self.context.terminal {
            terminal = Some(give_terminal(&mut command).map_err(step("make a terminal"))?);
        } else {
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        }
        child::end_with_this_thread(&mut command);
        child::without_priority(&mut command);
        let starting = Starting::now();
        let spawned = command.spawn();
        // Our copies of its end would keep the terminal open.
        drop(command);
        let mut root = spawned.map_err(|source| CostError::Start { what: self.what, program, source })?;
        match self.shared.family.get() {
            Some(family) => starting.again(family, root.id()),
            None => {
                let (word, strangers) = (self.word.clone(), self.context.strangers);
                drop(self.shared.family.set(starting.family(self.what, word, root.id(), strangers)));
            }
        }
        self.life.starts += 1;
        let thread = step("start a thread that reads what the program writes");
        if let Some(error) = root.stderr.take() {
            self.shared.output.read(error).map_err(&thread)?;
        }
        if let Some(terminal) = terminal {
            self.shared.output.read(terminal).map_err(&thread)?;
        }
        Ok(root)
    }

    /// Waits until it ends or is to end. Returns how it ended, if it did so by itself and left no process behind.
    fn watch(
        &mut self,
        root: process::Child,
        from_ns: u64,
        tell: &Sender<ProgramEvent>,
    ) -> Result<Option<process::ExitStatus>, CostError> {
        let shared = Arc::clone(&self.shared);
        let Some(family) = shared.family.get() else { return Ok(None) };
        let process = Process::open(root.id()).map_err(step("watch the program"))?;
        family.await_one(&[process], &shared.end)?;
        let by_itself = !shared.end.load(Relaxed);
        if by_itself {
            let ended = family.reap(root)?;
            let left = !family.members()?.is_empty();
            // The receiver may be gone.
            let _ = tell.send(ProgramEvent::Ended { status: ended.status, alone: !left });
            if !left {
                self.life.times.push((from_ns, monotonic_ns()));
                self.life.ended = Some(ended.status);
                return Ok(Some(ended.status));
            }
            self.await_children(family)?;
            self.end_family(family, from_ns)?;
        } else {
            // Its memory is gone with it.
            self.end_family(family, from_ns)?;
            family.reap(root)?;
        }
        Ok(None)
    }

    /// Until its children are gone too, or it is to end. A look at all processes takes time from the benchmark: so
    /// there is one only when somebody who was there has ended.
    fn await_children(&mut self, family: &Family) -> Result<(), CostError> {
        while !self.shared.end.load(Relaxed) {
            let members = family.members()?;
            if members.is_empty() {
                break;
            }
            // Who has ended in the meantime is not there at the next look.
            let there: Vec<Process> = members.into_iter().filter_map(|pid| Process::open(pid).ok()).collect();
            if !there.is_empty() {
                family.await_one(&there, &self.shared.end)?;
            }
        }
        Ok(())
    }

    fn end_family(&mut self, family: &Family, from_ns: u64) -> Result<(), CostError> {
        self.life.peak_rss_bytes = self.life.peak_rss_bytes.max(family.peak_rss_bytes());
        self.life.times.push((from_ns, monotonic_ns()));
        self.life.killed |= family.end(self.context.grace)?;
        Ok(())
    }
}
