//! The families of programs that run, and to which of them a process belongs.

use std::time::Duration;
use std::{io, iter, thread};

use netfathom_sys::process::{self, Environment, Parents};
use parking_lot::{Mutex, MutexGuard};

use super::Family;

/// How often it is looked at a program that is just being replaced, and how long between.
const ATTEMPTS: usize = 100;
const BETWEEN: Duration = Duration::from_millis(1);

static KNOWN: Mutex<Vec<Kin>> = Mutex::new(Vec::new());

#[derive(Debug)]
pub struct Kin {
    /// The value of [`Family::WORD`].
    pub word: String,
    /// The first of them, until it is reaped: by who started it.
    pub root: Option<u32>,
    /// Processor time of those that were reaped, in nanoseconds.
    pub reaped_ns: u64,
    /// Whether who is in no other family belongs to it.
    pub strangers: bool,
    /// Who was there before it.
    pub before: Vec<u32>,
    /// Who was found to belong to it: one that has ended has no environment any more.
    pub seen: Vec<u32>,
}

/// All families. While it is held, no other thread starts or reaps.
pub struct Known(pub MutexGuard<'static, Vec<Kin>>);

impl Known {
    /// Waits until no other thread starts or reaps.
    pub fn now() -> Self {
        Self(KNOWN.lock())
    }

    pub fn of(&mut self, word: &str) -> Option<&mut Kin> {
        self.0.iter_mut().find(|kin| kin.word == word)
    }

    /// All of a family, the root first, zombies included.
    pub fn members(&mut self, word: &str) -> io::Result<Vec<u32>> {
        let root = self.of(word).and_then(|kin| kin.root);
        let mut heads: Vec<u32> = root.into_iter().collect();
        // Where the kernel does not list them, only the word shows the family.
        let adopted = process::children_of_first_thread().unwrap_or_default();
        let parents = Parents::now()?;
        for child in parents.children(std::process::id()) {
            if self.0.iter().all(|kin| kin.root != Some(child)) && self.owns(word, child, &adopted) {
                heads.push(child);
            }
        }
        let members: Vec<u32> =
            heads.into_iter().flat_map(|head| iter::once(head).chain(parents.descendants(head))).collect();
        if let Some(kin) = self.of(word) {
            kin.seen.clone_from(&members);
        }
        Ok(members)
    }

    fn owns(&self, word: &str, child: u32, adopted: &[u32]) -> bool {
        let named = named(child);
        if let Some(kin) = named.as_deref().and_then(|named| self.0.iter().find(|kin| kin.word == named)) {
            return kin.word == word;
        }
        if let Some(kin) = self.0.iter().find(|kin| kin.seen.contains(&child)) {
            return kin.word == word;
        }
        // A process with a word of its own belongs to a family that is not registered yet, or is over.
        named.is_none() && adopted.contains(&child) && !process::is_our_fork(child) && {
            let stranger = |kin: &Kin| kin.word == word && kin.strangers && !kin.before.contains(&child);
            self.0.iter().any(stranger)
        }
    }

    /// Reaps orphans that have ended. Their CPU time counts for their family, or for the program if the
    /// family is not known any more.
    pub fn reap_orphans(&mut self) {
        for child in self.ended_orphans() {
            let Ok(Some(ended)) = process::reap_orphan(child) else { continue };
            if let Some(at) = self.owner(child) {
                self.0[at].reaped_ns += ended.usage.user_ns + ended.usage.system_ns;
                self.0[at].seen.retain(|&pid| pid != child);
            }
        }
    }

    pub fn ended_orphans(&self) -> Vec<u32> {
        let mut children = process::children_of_first_thread().unwrap_or_default();
        children.retain(|&pid| self.0.iter().all(|kin| kin.root != Some(pid)) && process::has_ended(pid));
        children
    }

    /// The family of who has ended, where it is known.
    pub fn owner(&self, child: u32) -> Option<usize> {
        let of = |is_of: &dyn Fn(&Kin) -> bool| self.0.iter().position(is_of);
        of(&|kin| kin.seen.contains(&child))
            .or_else(|| of(&|kin| kin.strangers && !kin.before.contains(&child)))
    }
}

fn named(pid: u32) -> Option<String> {
    for _ in 0..ATTEMPTS {
        match process::environment(pid) {
            Environment::Replaced => thread::sleep(BETWEEN),
            Environment::Unknown => return None,
            Environment::Known(text) => {
                let value = |entry: &[u8]| {
                    let text = str::from_utf8(entry).ok()?;
                    Some(text.strip_prefix(Family::WORD)?.strip_prefix('=')?.to_owned())
                };
                return text.split(|&byte| byte == 0).find_map(value);
            }
        }
    }
    None
}
