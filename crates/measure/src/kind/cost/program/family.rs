//! A program with everything that descends from it: found, measured, and ended.
//!
//! This process adopts orphans: a process that leaves its parent becomes our child. A word in the
//! environment, which children inherit, names its family. A process that has cleared its environment
//! belongs to the program under test.

use std::collections::BTreeSet;
use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{io, thread};

use netfathom_sys::process::{self, Process, SIGCHLD, SIGCONT, SIGKILL, SIGTERM};

use crate::kind::cost::error::{CostError, step};

mod known;

use known::{Kin, Known};

/// How often it is looked whether somebody is still there.
const LOOK: Duration = Duration::from_millis(2);
/// A process that does not end after SIGKILL waits in the kernel for a device.
const LONGEST: Duration = Duration::from_secs(10);
/// How long ended orphans wait to be reaped.
const REAP: Duration = Duration::from_millis(200);
/// One of this many attempts finds the same members before and after, unless members leave all the time.
const LOOKS: usize = 20;
/// Not a permission (EPERM).
const NOT_OURS: io::ErrorKind = io::ErrorKind::PermissionDenied;

/// A program's family, for as long as this is there.
#[derive(Debug)]
pub struct Family {
    what: &'static str,
    word: String,
}

/// While it exists, no other thread reaps: the end of a program that is started meanwhile is not lost.
pub struct Starting {
    known: Known,
    /// Who was adopted before.
    before: Vec<u32>,
}

/// A value of [`Family::WORD`] that no other family has, nor one of an earlier start.
pub fn fresh_word() -> String {
    static STARTS: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), STARTS.fetch_add(1, Relaxed))
}

impl Starting {
    pub fn now() -> Self {
        let known = Known::now();
        Self { known, before: process::children_of_first_thread().unwrap_or_default() }
    }

    /// The family of what was started, `what` it is for messages, with its word in the environment. `strangers` who are
    /// in no other family belong to it too.
    pub fn family(mut self, what: &'static str, word: String, root: u32, strangers: bool) -> Family {
        let (root, seen) = (Some(root), Vec::new());
        let kin = Kin { word: word.clone(), root, reaped_ns: 0, strangers, before: self.before, seen };
        self.known.0.push(kin);
        Family { what, word }
    }

    /// A family's program was started once more, after it was reaped.
    pub fn again(mut self, family: &Family, root: u32) {
        if let Some(kin) = self.known.of(&family.word) {
            kin.root = Some(root);
        }
    }
}

impl Family {
    /// The environment variable that identifies a family.
    pub const WORD: &str = "NETFATHOM_FAMILY";

    /// Those of the family who live, the root first, if it does. Where all whom a look finds end during it, time after
    /// time, it is them: only who lived forks, so the family is not over.
    pub fn members(&self) -> Result<Vec<u32>, CostError> {
        let mut known = Known::now();
        let mut ended = Vec::new();
        for _ in 0..LOOKS {
            known.reap_orphans();
            let root = known.of(&self.word).and_then(|kin| kin.root).filter(|&root| process::lives(root));
            let mut members = self.all(&mut known)?;
            members.retain(|&pid| process::lives(pid));
            // The look misses whom they forked after it had listed them. Orphans stay until they are reaped here.
            ended = known.ended_orphans();
            ended.extend(root.filter(|&root| !process::lives(root)));
            if !members.is_empty() || ended.is_empty() {
                return Ok(members);
            }
        }
        ended.retain(|&pid| known.owner(pid).is_none_or(|at| known.0[at].word == self.word));
        Ok(ended)
    }

    fn all(&self, known: &mut Known) -> Result<Vec<u32>, CostError> {
        known.members(&self.word).map_err(step("look at the processes in /proc"))
    }

    /// The most memory that a living member had.
    pub fn peak_rss_bytes(&self) -> Option<u64> {
        let members = self.members().unwrap_or_default();
        members.into_iter().filter_map(process::peak_rss_bytes).max()
    }

    /// Processor time of all who ever belonged to it, in nanoseconds; `None` if that cannot be known.
    pub fn spent_ns(&self) -> Option<u64> {
        let mut known = Known::now();
        // No other thread reaps during the look: an orphan that ends stays a member.
        known.reap_orphans();
        let reaped_ns = known.of(&self.word)?.reaped_ns;
        Some(reaped_ns + spent_ns(|| self.all(&mut known).ok())?)
    }

    /// Waits until one of these ends or `stop` is set, and reaps orphans all the while.
    pub fn await_one(&self, members: &[Process], stop: &AtomicBool) -> Result<(), CostError> {
        let wait = || process::wait_for_one(members, REAP, stop).map_err(step("wait for the program"));
        while wait()? == process::Waited::TimeUp {
            Known::now().reap_orphans();
        }
        Known::now().reap_orphans();
        Ok(())
    }

    /// Reaps the root, which has ended.
    pub fn reap(&self, root: Child) -> Result<process::Ended, CostError> {
        let mut known = Known::now();
        let ended = process::reap(root).map_err(step("wait for the program"))?;
        if let Some(kin) = known.of(&self.word) {
            kin.root = None;
            kin.reaped_ns += ended.usage.user_ns + ended.usage.system_ns;
        }
        Ok(ended)
    }

    /// Asks all to end, waits for so long, and kills who is left: whether that was so. The root is left to be reaped by
    /// its parent; orphans are reaped here.
    pub fn end(&self, grace: Duration) -> Result<bool, CostError> {
        if self.await_end(SIGTERM, grace)?.is_none() {
            return Ok(false);
        }
        match self.await_end(SIGKILL, LONGEST)? {
            None => Ok(true),
            Some(pid) => Err(CostError::Stuck { what: self.what, pid, after: LONGEST.as_secs() }),
        }
    }

    /// Sends each member a signal once, those that are born meanwhile too; who is left of those that were sent it.
    fn await_end(&self, signal: i32, limit: Duration) -> Result<Option<u32>, CostError> {
        let deadline = Instant::now() + limit;
        let (mut signaled, mut foreign) = (BTreeSet::new(), Vec::new());
        loop {
            let members = self.members()?;
            for &pid in members.iter().filter(|pid| !signaled.contains(*pid)) {
                if send(pid, signal) == Err(NOT_OURS) {
                    foreign.push(pid);
                }
            }
            signaled.extend(members.iter().copied());
            let Some(&left) = members.iter().find(|pid| !foreign.contains(*pid)) else {
                let foreign = |&pid| Err(CostError::Foreign { what: self.what, pid });
                return members.first().map_or(Ok(None), foreign);
            };
            if Instant::now() >= deadline {
                return Ok(Some(left));
            }
            thread::sleep(LOOK);
        }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        Known::now().0.retain(|kin| kin.word != self.word);
    }
}

/// Processor time of processes and of who they waited for, in nanoseconds; `None` if they go all the time, or
/// one of them loses that of its children.
pub fn spent_ns(mut look: impl FnMut() -> Option<Vec<u32>>) -> Option<u64> {
    let mut before = look()?;
    for _ in 0..LOOKS {
        let spent: Option<u64> = before.iter().map(|&pid| process::spent_ns(pid).ok()).sum();
        let forgets = before.iter().any(|&pid| process::ignores(pid, SIGCHLD));
        let after = look()?;
        // Who was reaped in between is in two places, or in none.
        if before.iter().all(|pid| after.contains(pid)) && spent.is_some() {
            return spent.filter(|_| !forgets);
        }
        before = after;
    }
    None
}

fn send(pid: u32, signal: i32) -> Result<(), io::ErrorKind> {
    let Ok(process) = Process::open(pid) else { return Ok(()) };
    let sent = process.signal(signal);
    // One that is stopped sees no signal but SIGKILL before it goes on.
    let _ = process.signal(SIGCONT);
    sent.map_err(|error| error.kind())
}
