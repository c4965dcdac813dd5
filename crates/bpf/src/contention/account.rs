//! What the programs summed of a thread, read from their maps.

use std::sync::atomic::Ordering::Relaxed;

use libbpf_rs::{MapCore, MapFlags};
use netfathom_model::record::{Held, Holder};

use super::abi::copied::{self, HolderKey, IrqKey};
use super::{Followed, SET};
use crate::mapping::{Plain, from_bytes, text};
use crate::set::SetError;

/// By their vector, as the kernel calls them (include/linux/interrupt.h); then that of the local timer.
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// What kept a thread from running since it was followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// In the run queue, by the kernel's own account.
    pub waited_ns: u64,
    /// Parts of it, the longest first. What is missing has no name: no program saw the switch.
    pub holders: Vec<Held>,
    /// A part of it: the quota of the cgroup was used up (CONFIG_CFS_BANDWIDTH), whatever else had the processor.
    pub throttled_ns: u64,
    /// A part of it: by the hypervisor; 0 where the kernel does not know (CONFIG_PARAVIRT_TIME_ACCOUNTING).
    pub stolen_waiting_ns: u64,
    /// The same, while it ran.
    pub stolen_running_ns: u64,
    /// By interrupts and softirqs, the longest first.
    pub interrupts: Vec<Interrupt>,
    /// Stopped by a signal, a debugger or a freezer, up to its last switch.
    pub stopped_ns: u64,
    /// Asleep in the kernel and not to be woken by signals, up to its last switch: page faults, disks, locks.
    pub blocked_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// `Interrupt`, `Timer` or `Softirq`.
    pub source: Holder,
    /// While the thread waited.
    pub waiting_ns: u64,
    /// While it ran.
    pub running_ns: u64,
}

/// `process` and `own` are numbers in the first PID namespace; 0: the processor was idle, and took its time to come back.
fn named(process: u32, own: u32, holder: &copied::Holder) -> Holder {
    let name = text(&holder.name);
    match holder.number {
        _ if process == 0 => Holder::Idle,
        _ if process == own => Holder::Netfathom,
        _ if holder.kernel != 0 => Holder::Kernel { name },
        0 => Holder::Unnumbered { name },
        pid => Holder::Process { name, pid, cgroup: Some(text(&holder.cgroup)).filter(|of| !of.is_empty()) },
    }
}

fn softirq(vector: usize) -> Holder {
    SOFTIRQS.get(vector).map_or(Holder::Timer, |&name| Holder::Softirq { vector: name.into() })
}

impl Followed<'_> {
    pub(super) fn holders(&self) -> Result<Vec<Held>, SetError> {
        let own = self.contention.mapping.get().process.load(Relaxed);
        let mut holders = Vec::new();
        for (key, holder) in self.entries::<HolderKey, copied::Holder>("holders", |key| key.place)? {
            holders.push(Held { by: named(key.process, own, &holder), ns: holder.ns });
        }
        holders.sort_by_key(|holder| std::cmp::Reverse(holder.ns));
        Ok(holders)
    }

    pub(super) fn interrupts(&self) -> Result<Vec<Interrupt>, SetError> {
        let of_softirqs = self.thread.interrupts.iter().enumerate().map(|(vector, lost)| Interrupt {
            source: softirq(vector),
            waiting_ns: lost.waiting.load(Relaxed),
            running_ns: lost.running.load(Relaxed),
        });
        let mut all: Vec<Interrupt> = of_softirqs.collect();
        for (_, irq) in self.entries::<IrqKey, copied::Irq>("irqs", |key| key.place)? {
            let copied::Lost { waiting, running } = irq.lost;
            let source = Holder::Interrupt { name: text(&irq.name) };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_named_as_far_as_it_is_known() {
        let mut holder: copied::Holder = from_bytes(&[0; size_of::<copied::Holder>()]).unwrap();
        assert_eq!([named(0, 7, &holder), named(7, 7, &holder)], [Holder::Idle, Holder::Netfathom]);
        assert_eq!(named(8, 7, &holder), Holder::Unnumbered { name: String::new() });
        holder.number = 8;
        assert_eq!(named(8, 7, &holder), Holder::Process { name: String::new(), pid: 8, cgroup: None });
        holder.kernel = 1;
        assert_eq!(named(8, 7, &holder), Holder::Kernel { name: String::new() });
    }
}
