//! The system calls of some threads of this process, by what they work for.
//!
//! Every call that any thread of the machine makes passes the program; one of another process costs a
//! comparison there, one of this process a look-up.

use std::sync::atomic::Ordering::Relaxed;

use libbpf_rs::{Link, MapCore, MapFlags, Object};

#[cfg(test)]
mod tests;

crate::mapping::abi!("calls");

use self::abi::shared::Shared;
use crate::mapping::Mapping;
use crate::set::{Set, SetError, set_namespace};

const SET: Set = Set {
    name: "the program that counts system calls",
    object: include_bytes!(concat!(env!("OUT_DIR"), "/calls.bpf.o")),
    shares_clock: false,
};

/// What distinguishes threads: the ends of a conversation.
pub const ENDS: usize = Shared::COUNTS;

/// How often one system call was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallCount {
    /// Its number on this architecture. A number from 511 on counts as 511, which no call has.
    pub number: u32,
    pub count: u64,
}

impl CallCount {
    /// Its name, such as `sendto`; `None` of a number that has none here.
    pub fn name(&self) -> Option<&'static str> {
        syscalls::Sysno::new(self.number as usize).map(|call| call.name())
    }
}

/// Counts system calls until it is dropped, or the process ends.
pub struct Calls {
    object: Object,
    mapping: Mapping<Shared>,
    _link: Link,
}

impl Calls {
    /// Begins to count, as yet of no thread.
    ///
    /// # Errors
    /// What the kernel refused. Needs CAP_BPF and CAP_PERFMON, and Linux 5.7.
    pub fn attach() -> Result<Self, SetError> {
        let object = SET.load(SET.open(|_| true)?)?;
        let mapping: Mapping<Shared> = SET.memory(&object)?;
        let shared = mapping.get();
        set_namespace(&shared.namespace.device, &shared.namespace.inode)?;
        shared.process.store(std::process::id().into(), Relaxed);
        let program = object.progs_mut().next().ok_or_else(|| SET.abi("the program"))?;
        let link = program.attach().map_err(SET.step("attach"))?;
        Ok(Self { object, mapping, _link: link })
    }

    /// Counts the calls of a thread of this process for an end from now on, up to 4096 of them. Its number
    /// is that of gettid(2).
    ///
    /// # Panics
    /// With an end that is not below [`ENDS`].
    pub fn follow(&self, thread: u32, end: usize) -> Result<(), SetError> {
        assert!(end < ENDS, "end {end}; there are {ENDS}");
        let end = (end as u32).to_ne_bytes();
        let threads = SET.map(&self.object, "threads")?;
        threads.update(&thread.to_ne_bytes(), &end, MapFlags::ANY).map_err(SET.step("add a thread to"))
    }

    /// Counts no more of a thread's calls; what was counted stays. A thread should not end before it is let
    /// go: another may get its number.
    pub fn let_go(&self, thread: u32) -> Result<(), SetError> {
        SET.map(&self.object, "threads")?
            .delete(&thread.to_ne_bytes())
            .map_err(SET.step("take a thread from"))
    }

    /// What was called so far, by end, in the order of numbers, without what was never called.
    pub fn counts(&self) -> [Vec<CallCount>; ENDS] {
        self.mapping.get().counts.each_ref().map(|of_end| {
            let counts = of_end.iter().map(|cell| cell.load(Relaxed)).zip(0..);
            counts
                .filter(|&(count, _)| count > 0)
                .map(|(count, number)| CallCount { number, count })
                .collect()
        })
    }
}
