//! What the programs summed of a thread, read from their maps.

use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

use libbpf_rs::{MapCore, MapFlags};

use super::abi::copied::{self, HolderKey, IrqKey};
use super::{Followed, SET};
use crate::mapping::{Plain, from_bytes, text};
use crate::set::SetError;

/// By their vector, as the kernel calls them (include/linux/interrupt.h); then that of the local timer.
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// A process that had the processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its number in the first PID namespace; 0: the processor was idle, and took its time to come back.
    pub process: u32,
    /// The same in the PID namespace of this process; 0: it has none there.
    pub number: u32,
    /// It is this process.
    pub own: bool,
    /// It is a thread of the kernel.
    pub kernel: bool,
    /// Of the process, not of its thread.
    pub name: String,
    /// The last part of its cgroup's path, cut at 39 bytes; empty in the first one.
    pub cgroup: String,
    /// While a followed thread waited.
    pub ns: u64,
}

/// What kept a thread from running since it was followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// In the run queue, by the kernel's own account.
    pub waited_ns: u64,
    /// Parts of it, the longest first. What is missing has no name: no program saw the switch.
    pub holders: Vec<Holder>,
    /// A part of it: the quota of the cgroup was used up (CONFIG_CFS_BANDWIDTH), whatever else had the processor.
    pub throttled_ns: u64,
    /// Parts of it that no task had.
    pub waiting: Lost,
    /// While it ran.
    pub running: Lost,
    /// Both by what interrupted, the longest first.
    pub interrupts: Vec<Interrupt>,
    /// Stopped by a signal, a debugger or a freezer, up to its last switch.
    pub stopped_ns: u64,
    /// Asleep in the kernel and not to be woken by signals, up to its last switch: page faults, disks, locks.
    pub blocked_ns: u64,
}

/// Time of a processor in which no task ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// By the hypervisor; 0 where the kernel does not know (CONFIG_PARAVIRT_TIME_ACCOUNTING).
    pub stolen_ns: u64,
    /// By interrupts and softirqs.
    pub interrupted_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupt {
    pub source: Source,
    /// While the thread waited.
    pub waiting_ns: u64,
    /// While it ran.
    pub running_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Of a device, by the name of its handler.
    Device(String),
    /// Of the processor's own timer, where that is no device.
    Timer,
    /// Work that interrupts and system calls leave behind, by its vector.
    Softirq(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device(name) => write!(f, "interrupt {name}"),
            Self::Timer => f.write_str("interrupt of the timer"),
            Self::Softirq(vector) => write!(f, "softirq {vector}"),
        }
    }
}

impl Followed<'_> {
    pub(super) fn holders(&self) -> Result<Vec<Holder>, SetError> {
        let own = self.contention.mapping.get().process.load(Relaxed);
        let mut holders = Vec::new();
        for (key, holder) in self.entries::<HolderKey, copied::Holder>("holders", |key| key.place)? {
            let copied::Holder { ns, name, cgroup, kernel, number } = holder;
            holders.push(Holder {
                process: key.process,
                number,
                own: key.process == own,
                kernel: kernel != 0,
                name: text(&name),
                cgroup: text(&cgroup),
                ns,
            });
        }
        holders.sort_by_key(|holder| std::cmp::Reverse(holder.ns));
        Ok(holders)
    }

    pub(super) fn interrupts(&self) -> Result<Vec<Interrupt>, SetError> {
        let of_softirqs = self.thread.interrupts.iter().enumerate().map(|(vector, lost)| Interrupt {
            source: SOFTIRQS.get(vector).map_or(Source::Timer, |name| Source::Softirq(name)),
            waiting_ns: lost.waiting.load(Relaxed),
            running_ns: lost.running.load(Relaxed),
        });
        let mut all: Vec<Interrupt> = of_softirqs.collect();
        for (_, irq) in self.entries::<IrqKey, copied::Irq>("irqs", |key| key.place)? {
            let copied::Lost { waiting, running } = irq.lost;
            let source = Source::Device(text(&irq.name));
            all.push(Interrupt { source, waiting_ns: waiting, running_ns: running });
        }
        all.retain(|interrupt| interrupt.waiting_ns + interrupt.running_ns > 0);
        all.sort_by_key(|interrupt| std::cmp::Reverse(interrupt.waiting_ns + interrupt.running_ns));
        Ok(all)
    }

    /// Those of a map that are of this thread.
    fn entries<K: Plain, V: Plain>(
        &self,
        name: &'static str,
        place: impl Fn(&K) -> u32,
    ) -> Result<Vec<(K, V)>, SetError> {
        let abi = || SET.abi(name);
        let map = SET.map(&self.contention.object, name)?;
        let mut entries = Vec::new();
        for key in map.keys() {
            let of: K = from_bytes(&key).ok_or_else(abi)?;
            if place(&of) != self.place {
                continue;
            }
            let Some(value) = map.lookup(&key, MapFlags::ANY).map_err(SET.step("ask"))? else { continue };
            entries.push((of, from_bytes(&value).ok_or_else(abi)?));
        }
        Ok(entries)
    }
}
