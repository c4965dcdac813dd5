//! What kept a thread from running: other processes by name, the hypervisor, interrupts and softirqs, the quota of its
//! cgroup, signals, its own page faults.
//!
//! One program runs at every switch of every processor and reads the kernel's own account of the threads that are
//! followed; others time the interrupts of their processors.

use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::fence;
use std::time::{Duration, Instant};

use libbpf_rs::{Link, Object};
use netfathom_sys::cpu::{scheduling, thread_id};

mod account;
#[cfg(test)]
pub(crate) mod tests;

pub use account::{Account, Interrupt};

crate::mapping::abi!("contention");

use self::abi::shared::{self, Shared};
use crate::mapping::Mapping;
use crate::set::{Set, SetError, set_namespace};
use crate::{load, tracepoint};

const SET: Set = Set {
    name: "the program that sees who has the processor",
    object: include_bytes!(concat!(env!("OUT_DIR"), "/contention.bpf.o")),
    shares_clock: true,
};
/// Tracepoints that not every architecture has.
const LOCAL_TIMER: [&str; 2] = ["local_timer_entry", "local_timer_exit"];

/// What the kernel calls the function of the timer's tick: before Linux 6.9, where the other name is that of something else,
/// and since.
const TICKS: [&str; 2] = ["tick_sched_timer", "tick_nohz_handler"];

/// Long enough for a switch away from the thread.
const NAP: Duration = Duration::from_micros(50);
/// No program runs while certain tasks of some machines are current, so one switch may not be seen. Begun within the
/// lead-in of a load.
const LONGEST: Duration = Duration::from_millis(3);
/// A hypervisor may stop the machine for longer than that, so these many in any case.
const LEAST_NAPS: u32 = 3;
/// A thread that waits while its account is read has it read again, so often at most.
const READINGS: usize = 8;

/// Why waits for a processor cannot be attributed.
#[derive(Debug, thiserror::Error)]
pub enum ContentionError {
    #[error(transparent)]
    Set(#[from] SetError),
    #[error("the program that sees who has the processor saw no switch of this thread")]
    Unseen,
}

/// Follows threads until it is dropped, or the process ends.
pub struct Contention {
    object: Object,
    mapping: Mapping<Shared>,
    links: Vec<Link>,
    detail: Detail,
}

/// What is seen besides switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Device interrupts, the local timer and softirqs: two hooks at each, and a message has a softirq of its own.
    pub interrupts: bool,
    /// Times in which nothing of this kernel ran. A tick of the timer that is late shows them, as do sections without
    /// interrupts: on a machine of its own, what is late is the kernel.
    pub pauses: bool,
}

impl Contention {
    /// As yet of no thread.
    ///
    /// # Errors
    /// What the kernel refused. Needs CAP_BPF and CAP_PERFMON, Linux 5.17, CONFIG_SCHED_INFO and
    /// CONFIG_FAIR_GROUP_SCHED.
    pub fn attach(detail: Detail) -> Result<Self, ContentionError> {
        let is_missing = |name: &str, timer: &str| {
            name.strip_prefix("on_") == Some(timer) && tracepoint::is_missing(timer)
        };
        let is_wanted = |name: &str| match name {
            "on_any_switch" => true,
            "on_hrtimer_expire_entry" => detail.pauses,
            _ => detail.interrupts && !LOCAL_TIMER.iter().any(|timer| is_missing(name, timer)),
        };
        let object = SET.load(SET.open(is_wanted)?)?;
        let mapping = SET.memory(&object)?;
        let mut contention = Self { object, mapping, links: Vec::new(), detail };
        contention.begin()?;
        Ok(contention)
    }

    /// Takes the programs away from their hooks; accounts of threads end.
    pub fn detach(&mut self) {
        self.links.clear();
    }

    /// Begins anew, of no thread: much faster than loading.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn again(&mut self) -> Result<(), ContentionError> {
        self.detach();
        load::clear(&self.object).map_err(SET.step("clear"))?;
        self.begin()
    }

    fn begin(&mut self) -> Result<(), ContentionError> {
        let shared = self.mapping.get();
        set_namespace(&shared.namespace.device, &shared.namespace.inode)?;
        if self.detail.pauses {
            shared.tick.store(tick().unwrap_or(0), Relaxed);
        }
        let programs = self.object.progs_mut().filter(|program| program.autoload());
        let links: Result<_, _> = programs.map(|program| program.attach()).collect();
        self.links = links.map_err(SET.step("attach"))?;
        Ok(())
    }

    /// Follows the calling thread. One that is not bound to a processor is followed to all, and [`Self::is_disturbed`]
    /// knows nothing of it. `None` if [`Shared::THREADS`] were followed before:
    /// places are not used twice. On a slow machine it may be followed only from a later switch on.
    pub fn follow(&self) -> Option<Followed<'_>> {
        let shared = self.mapping.get();
        let place = shared.places.fetch_add(1, Relaxed);
        let followed = Followed { contention: self, place, thread: shared.threads.get(place as usize)? };
        followed.thread.number.store(thread_id(), Relaxed);
        let (start, mut naps) = (Instant::now(), 0);
        // Acquire: what the account was before is stored before it.
        while followed.thread.task.load(Acquire) == 0 && (naps < LEAST_NAPS || start.elapsed() < LONGEST) {
            std::thread::sleep(NAP);
            naps += 1;
        }
        Some(followed)
    }

    /// Whether something foreign had this processor for over 5 µs (LEAST_STINT_NS in abi.h) within that time,
    /// CLOCK_MONOTONIC: a task of another process, or the hypervisor. What the hypervisor took shows at the next switch or late tick.
    /// Known of processors that a thread is or was bound to while it is followed; of the last 64 times only, before
    /// which everything counts as disturbed.
    pub fn is_disturbed(&self, cpu: usize, from_ns: u64, until_ns: u64) -> bool {
        let threads = &self.mapping.get().threads;
        let on_it = |t: &&shared::Thread| t.cpu.load(Relaxed) as usize == cpu + 1;
        let Some(thread) = threads.iter().find(on_it) else { return true };
        // Acquire: all of these are stored.
        let n = thread.stints_n.load(Acquire);
        let places = thread.stints.len() as u64;
        let oldest = n.saturating_sub(places);
        for i in (oldest..n).rev() {
            let stint = &thread.stints[i as usize % thread.stints.len()];
            if stint.end.load(Relaxed) < from_ns {
                return false;
            }
            if stint.start.load(Relaxed) < until_ns {
                return true;
            }
        }
        // One that was written over meanwhile was newer, and no reason to return. The fence keeps the loads above before this
        // one: it sees at least as many as were stored when the place was taken.
        fence(Acquire);
        thread.stints_n.load(Relaxed) >= places
    }
}

/// Where the kernel has the function of the timer's tick, read once; `None` where it hides that.
fn tick() -> Option<u64> {
    static TICK: OnceLock<Option<u64>> = OnceLock::new();
    *TICK.get_or_init(|| {
        let symbols = std::fs::read_to_string("/proc/kallsyms").ok()?;
        let address = |name: &str| {
            let of_line = |line: &str| {
                let mut words = line.split_whitespace();
                let address = words.next().map(str::to_owned);
                address.filter(|_| words.nth(1) == Some(name))
            };
            symbols.lines().find_map(of_line)
        };
        let address = TICKS.into_iter().find_map(address);
        // 0 without the right to see it (kernel.kptr_restrict).
        u64::from_str_radix(&address?, 16).ok().filter(|&address| address > 0)
    })
}

/// A thread that is followed until the value is dropped, which must be while it lives.
pub struct Followed<'a> {
    contention: &'a Contention,
    place: u32,
    thread: &'a shared::Thread,
}

impl Followed<'_> {
    /// Up to now, asked by the thread itself.
    ///
    /// # Errors
    /// If the map cannot be read, or the program saw no switch of the thread.
    pub fn account(&self) -> Result<Account, ContentionError> {
        if self.thread.task.load(Acquire) == 0 {
            return Err(ContentionError::Unseen);
        }
        let mut before = self.waited_ns();
        for _ in 1..READINGS {
            let account = self.reading()?;
            if account.waited_ns == before {
                return Ok(account);
            }
            before = account.waited_ns;
        }
        self.reading()
    }

    /// The whole comes last: its parts, which grow while they are read, do not exceed it.
    fn reading(&self) -> Result<Account, ContentionError> {
        let (interrupts, holders) = (self.interrupts()?, self.holders()?);
        let (stolen, ns) = (&self.thread.stolen, |ns: &AtomicU64| ns.load(Relaxed));
        Ok(Account {
            holders,
            stolen_waiting_ns: ns(&stolen.waiting),
            stolen_running_ns: ns(&stolen.running),
            interrupts,
            throttled_ns: ns(&self.thread.throttled),
            stopped_ns: ns(&self.thread.stopped),
            blocked_ns: ns(&self.thread.blocked),
            waited_ns: self.waited_ns(),
        })
    }

    /// The program does not see every switch to the thread, but the kernel's account has each.
    fn waited_ns(&self) -> u64 {
        let known = scheduling(thread_id()).map(|account| account.run_delay_ns);
        let waited = known.map(|ns| ns.saturating_sub(self.thread.waited_before.load(Relaxed)));
        waited.unwrap_or_else(|_| self.thread.waited.load(Relaxed))
    }
}

impl Drop for Followed<'_> {
    fn drop(&mut self) {
        self.thread.number.store(0, Relaxed);
        self.thread.task.store(0, Relaxed);
    }
}
