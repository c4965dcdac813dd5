//! The processor time of the network's soft interrupts (NET_RX and NET_TX), by whom it is
//! charged to.
//!
//! What arrives is worked on in a soft interrupt, on top of whatever the processor was at: of a
//! thread that has just sent something (on the loopback device and over veth that is the receiver's
//! part), of one that has nothing to do with it, of none, or in ksoftirqd. On most kernels
//! the time of it goes to the thread it ran on top of. The cost of a transfer is then
//! the time of its threads and what ran on top of others; see [`accounting_splits_softirq`].
//!
//! Hardware interrupts that come in between are within the time. Not within it is what threads of
//! NAPI do (`/sys/class/net/*/threaded`) and what a reader polls itself (SO_BUSY_POLL): neither is a
//! soft interrupt. Soft interrupts that do other work, timers of TCP above all, are not counted. On a
//! kernel with PREEMPT_RT they can be preempted, and the time of whoever did so is within.

use std::sync::atomic::Ordering::Relaxed;

use libbpf_rs::{Link, Object};

mod accounting;
#[cfg(test)]
mod tests;

crate::mapping::abi!("softirq");

pub use accounting::accounting_splits_softirq;

use self::abi::copied::Cpu;
use self::abi::shared::Control;
use crate::mapping::Mapping;
pub use crate::set::SetError as SoftirqError;
use crate::set::{Set, set_namespace};

const SET: Set = Set {
    name: "the programs that time soft interrupts",
    object: include_bytes!(concat!(env!("OUT_DIR"), "/softirq.bpf.o")),
    shares_clock: false,
};

/// Time in soft interrupts of the network since [`Softirq::attach`], all processors together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoftirqTimes {
    /// On top of threads of the process, in nanoseconds.
    pub own_ns: u64,
    /// On top of anything else: other processes, none, ksoftirqd; in nanoseconds.
    pub others_ns: u64,
    pub count: u64,
}

impl SoftirqTimes {
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            own_ns: self.own_ns - earlier.own_ns,
            others_ns: self.others_ns - earlier.others_ns,
            count: self.count - earlier.count,
        }
    }
}

/// Programs that time soft interrupts; dropping them detaches them, and so does the end of
/// this process. They cost some 200 ns each soft interrupt, which is charged as it is itself but not
/// within what they tell.
pub struct Softirq {
    object: Object,
    _links: Vec<Link>,
}

impl Softirq {
    /// Begins to time soft interrupts on all processors. The process is given by its number in the
    /// PID namespace of the caller, as [`std::process::id`] has it.
    ///
    /// # Errors
    /// What the kernel refused. Needs CAP_BPF and CAP_PERFMON, BTF, and Linux 5.7
    /// (`bpf_get_ns_current_pid_tgid`).
    pub fn attach(process: u32) -> Result<Self, SoftirqError> {
        Self::attach_to(process, false)
    }

    /// The same with one thread as the own: what runs on top of others of its process is the others'.
    pub fn attach_to_thread(thread: u32) -> Result<Self, SoftirqError> {
        Self::attach_to(thread, true)
    }

    fn attach_to(number: u32, one_thread: bool) -> Result<Self, SoftirqError> {
        let object = SET.load(SET.open(|_| true)?)?;
        let control: Mapping<Control> = SET.memory(&object)?;
        set(control.get(), number, one_thread)?;
        // The exit first: an entry without one would wait in its processor's state.
        let mut programs: Vec<_> = object.progs_mut().collect();
        programs.sort_by_key(|program| program.name() != "on_softirq_exit");
        let links = programs.iter_mut().map(|program| program.attach()).collect::<Result<_, _>>();
        let links = links.map_err(SET.step("attach"))?;
        Ok(Self { object, _links: links })
    }

    /// The sums so far; a soft interrupt that runs just now is not in them, which takes up to
    /// some 10 ms under load.
    pub fn read(&self) -> Result<SoftirqTimes, SoftirqError> {
        let mut times = SoftirqTimes::default();
        for cpu in SET.per_cpu::<Cpu>(&self.object, "cpus", 0)? {
            times.own_ns += cpu.own_ns;
            times.others_ns += cpu.others_ns;
            times.count += cpu.own_n + cpu.others_n;
        }
        Ok(times)
    }
}

fn set(control: &Control, number: u32, one_thread: bool) -> Result<(), SoftirqError> {
    set_namespace(&control.namespace.device, &control.namespace.inode)?;
    control.number.store(number, Relaxed);
    control.one_thread.store(one_thread.into(), Relaxed);
    Ok(())
}
