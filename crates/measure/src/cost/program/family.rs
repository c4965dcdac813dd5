//! A program with everything that descends from it: found, measured, and ended.
//!
//! This process adopts orphans, so who leaves its parent becomes our child. A word in the environment, which
//! children inherit, tells whose it is.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_sys::process::{self, Process, SIGCONT, SIGKILL, SIGTERM};

use crate::cost::error::{CostError, step};

/// How often it is looked whether somebody is still there.
const LOOK: Duration = Duration::from_millis(2);
/// A process that does not end after SIGKILL waits in the kernel for a device.
const LONGEST: Duration = Duration::from_secs(10);

/// A program's family.
#[derive(Debug)]
pub struct Family {
    /// Whose it is, for messages.
    pub what: &'static str,
    /// The value of [`Family::WORD`].
    pub word: String,
    /// The first of them.
    pub root: u32,
}

/// What ending a family took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Whether some had to be killed.
    pub killed: bool,
    /// Processor time of those that had left their parent.
    pub orphans_ns: u64,
}

/// A value of [`Family::WORD`] that no other family has, nor one of an earlier start.
pub fn fresh_word() -> String {
    static STARTS: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), STARTS.fetch_add(1, Relaxed))
}

impl Family {
    /// The variable of the environment whose value tells families apart.
    pub const WORD: &str = "NETFATHOM_FAMILY";

    /// Those of the family who live, the root first, if it does.
    pub fn members(&self) -> Result<Vec<u32>, CostError> {
        let look = step("look at the processes in /proc");
        let mut members = vec![self.root];
        members.extend(process::descendants(self.root).map_err(&look)?);
        let ours = std::process::id();
        for child in process::descendants(ours).map_err(&look)? {
            if !members.contains(&child) && self.has_word(child) {
                members.push(child);
            }
        }
        members.retain(|&pid| process::lives(pid));
        Ok(members)
    }

    fn has_word(&self, pid: u32) -> bool {
        let word = format!("{}={}", Self::WORD, self.word);
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|entry| entry == word.as_bytes())
    }

    /// The most memory that a living member had.
    pub fn peak_rss_bytes(&self) -> Option<u64> {
        let members = self.members().unwrap_or_default();
        members.into_iter().filter_map(process::peak_rss_bytes).max()
    }

    /// Asks all to end, waits for so long, and kills who is left. The root is left to be reaped by its parent;
    /// orphans are reaped here.
    ///
    /// # Errors
    /// If somebody cannot be killed.
    pub fn end(&self, grace: Duration) -> Result<Ended, CostError> {
        let mut seen = Vec::new();
        let asked = self.await_end(SIGTERM, grace, &mut seen)?;
        let killed = !asked && {
            self.await_end(SIGKILL, LONGEST, &mut seen)?;
            true
        };
        if let Some(&pid) = self.members()?.first() {
            return Err(CostError::Stuck { what: self.what, pid, after: LONGEST.as_secs() });
        }
        let reaped = seen
            .into_iter()
            .filter(|&pid| pid != self.root)
            .filter_map(|pid| process::reap_orphan(pid).ok()?);
        let orphans_ns = reaped.map(|ended| ended.usage.user_ns + ended.usage.system_ns).sum();
        Ok(Ended { killed, orphans_ns })
    }

    /// Sends each member a signal once, those that are born meanwhile too; whether all ended in time.
    fn await_end(&self, signal: i32, limit: Duration, seen: &mut Vec<u32>) -> Result<bool, CostError> {
        let deadline = Instant::now() + limit;
        let mut told = Vec::new();
        loop {
            let members = self.members()?;
            if members.is_empty() {
                return Ok(true);
            }
            for pid in members {
                if !told.contains(&pid) {
                    send(pid, signal);
                    told.push(pid);
                }
                if !seen.contains(&pid) {
                    seen.push(pid);
                }
            }
            if Instant::now() >= deadline {
                return Ok(false);
            }
            thread::sleep(LOOK);
        }
    }
}

/// Who ended in the meantime needs no signal.
fn send(pid: u32, signal: i32) {
    if let Ok(process) = Process::open(pid) {
        let _ = process.signal(signal);
        // One that is stopped sees no signal but SIGKILL before it goes on.
        let _ = process.signal(SIGCONT);
    }
}
