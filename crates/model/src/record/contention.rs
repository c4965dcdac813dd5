//! Who had the CPUs that the threads of a load needed.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::holders::{Holders, each};
use crate::accounting::is_zero;

/// No run has more threads in all its trials; a record may say anything.
const MOST_POOLED: usize = 10_000;
/// Of one thread in all its trials; what further ones had counts as [`Holder::Others`].
const MOST_POOLED_HOLDERS: usize = 1024;

/// What kept one thread of a load from running, by the kernel's own account of the thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contention {
    /// What the thread does.
    pub thread: LoadThread,
    /// The CPU that it is bound to.
    pub cpu: usize,
    /// How long it was followed.
    pub span_ns: u64,
    /// How long of that it could run and did not have the CPU.
    pub waited_ns: u64,
    /// Who had it meanwhile, the longest first; the times add up to `waited_ns`.
    pub holders: Vec<Held>,
    /// What the hypervisor took while the thread ran; 0 where the kernel does not know.
    pub stolen_ns: u64,
    /// What interrupts and softirqs took while the thread ran, the longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interrupts: Vec<Held>,
    /// How long a signal, a debugger or a freezer stopped the thread.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stopped_ns: u64,
    /// How long it slept in the kernel for what no signal wakes it from: page faults, disks, locks.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blocked_ns: u64,
}

/// What a thread of a load does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadThread {
    /// It sends.
    Sender,
    /// It receives.
    Reader,
    /// It sends messages, and takes the answers.
    Client,
    /// It takes messages, and answers.
    Server,
    /// It sends the load that comes in.
    FarEnd,
}

named! { LoadThread:
    Sender = "sender", Reader = "reader", Client = "client", Server = "server", FarEnd = "far end"
}

/// A part of a wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    /// Who had the CPU.
    pub by: Holder,
    /// How long.
    pub ns: u64,
}

/// What can have a CPU.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// Another process.
    Process {
        /// As the kernel has it.
        name: String,
        /// In the PID namespace of netfathom; 0: several processes, by their name alone.
        pid: u32,
        /// The last part of its cgroup's path; nothing in the first cgroup.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cgroup: Option<String>,
    },
    /// Processes of a name that have no number in the PID namespace of netfathom: they are outside of it, or had just ended.
    Unnumbered {
        /// As the kernel has it.
        name: String,
    },
    /// A thread of the kernel, which does somebody's work.
    Kernel {
        /// As the kernel has it.
        name: String,
    },
    /// Further processes together.
    Others,
    /// The process that measures, or other threads of it.
    Netfathom,
    /// Other threads and processes of the one that waits.
    Itself,
    /// No task: the CPU was idle, and took its time to come back.
    Idle,
    /// Another machine.
    Hypervisor,
    /// The interrupt of a device.
    Interrupt {
        /// Of its handler.
        name: String,
    },
    /// The interrupt of the CPU's timer.
    Timer,
    /// Work that interrupts and system calls leave behind.
    Softirq {
        /// As the kernel calls it, such as `NET_RX`.
        vector: String,
    },
    /// All softirqs together.
    Softirqs,
    /// All interrupts, or further ones, together.
    Interrupts,
    /// No task of the cgroup may run: its CPU quota is used up.
    Quota,
    /// The switches were not seen.
    Unknown,
}

impl Holder {
    /// Whether it is neither the load itself, nor what every wake-up takes. Interrupts may be the load's own.
    pub fn is_foreign(&self) -> bool {
        matches!(
            self,
            Self::Process { .. }
                | Self::Unnumbered { .. }
                | Self::Kernel { .. }
                | Self::Others
                | Self::Hypervisor
                | Self::Quota
        )
    }

    /// Whether it is neither the program that waited, nor netfathom, whichever packets an interrupt is for.
    pub fn is_outside(&self) -> bool {
        !matches!(self, Self::Netfathom | Self::Itself | Self::Idle | Self::Unknown)
    }

    /// What it did to those that waited, such as `had the CPU`; a quota has none.
    pub fn had(&self, the_cpu: &str) -> String {
        if *self == Self::Quota { "was used up".into() } else { format!("had {the_cpu}") }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process { pid: 0, .. } => write!(f, "{}", Holders::from(self)),
            Self::Process { name, pid, cgroup: None } => write!(f, "{name} (pid {pid})"),
            Self::Process { name, pid, cgroup: Some(cgroup) } => {
                write!(f, "{name} (pid {pid}, cgroup {cgroup})")
            }
            Self::Unnumbered { name } => write!(f, "{name} (no PID here)"),
            Self::Kernel { name } => write!(f, "the kernel's {name}"),
            Self::Others => f.write_str("other processes"),
            Self::Netfathom => f.write_str("netfathom itself"),
            Self::Itself => f.write_str("its own processes"),
            Self::Idle => f.write_str("nothing (idle, waking up)"),
            Self::Hypervisor => f.write_str("the hypervisor"),
            Self::Interrupt { name } => write!(f, "interrupt {name}"),
            Self::Timer => f.write_str("the timer interrupt"),
            Self::Softirq { vector } => write!(f, "softirq {vector}"),
            Self::Softirqs => f.write_str("softirqs"),
            Self::Interrupts => f.write_str("interrupts"),
            Self::Quota => f.write_str("the CPU quota of its cgroup"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

impl Contention {
    /// The same threads of several trials together: one for each CPU and what is done on it.
    pub fn pooled<'a>(all: impl IntoIterator<Item = &'a Self>) -> Vec<Self> {
        let mut pooled: Vec<Self> = Vec::new();
        for one in all.into_iter().take(MOST_POOLED) {
            match pooled.iter_mut().find(|p| (p.thread, p.cpu) == (one.thread, one.cpu)) {
                Some(same) => same.add(one),
                None => pooled.push(one.clone()),
            }
        }
        for thread in &mut pooled {
            thread.holders = bounded(&thread.holders, &Holder::Others);
            thread.interrupts = bounded(&thread.interrupts, &Holder::Interrupts);
        }
        pooled
    }

    fn add(&mut self, other: &Self) {
        let sums = [
            (&mut self.span_ns, other.span_ns),
            (&mut self.waited_ns, other.waited_ns),
            (&mut self.stolen_ns, other.stolen_ns),
            (&mut self.stopped_ns, other.stopped_ns),
            (&mut self.blocked_ns, other.blocked_ns),
        ];
        sums.into_iter().for_each(|(sum, ns)| *sum = sum.saturating_add(ns));
        self.holders.extend_from_slice(&other.holders);
        self.interrupts.extend_from_slice(&other.interrupts);
    }

    /// The part of its time that it waited, 0 to 1.
    pub fn waited_share(&self) -> f64 {
        self.waited_ns as f64 / self.span_ns.max(1) as f64
    }

    /// The foreign holders, with their part of the wait, the longest first.
    pub fn foreign(&self) -> impl Iterator<Item = (&Holder, f64)> {
        let waited_ns = self.waited_ns.max(1) as f64;
        self.holders.iter().filter(|h| h.by.is_foreign()).map(move |h| (&h.by, h.ns as f64 / waited_ns))
    }
}

/// Equal ones together, the longest first; what is beyond the bound counts as the rest.
fn bounded(held: &[Held], rest: &Holder) -> Vec<Held> {
    let together = |held: &[Held]| -> Vec<Held> {
        each(held).into_iter().map(|(by, ns)| Held { by: by.clone(), ns }).collect()
    };
    let mut all = together(held);
    for further in all.iter_mut().skip(MOST_POOLED_HOLDERS).filter(|held| held.by != Holder::Unknown) {
        further.by = rest.clone();
    }
    together(&all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cpu: usize, waited_ns: u64, holders: &[(Holder, u64)]) -> Contention {
        let holders = holders.iter().map(|(by, ns)| Held { by: by.clone(), ns: *ns }).collect();
        Contention {
            thread: LoadThread::Reader,
            cpu,
            span_ns: 1000,
            waited_ns,
            holders,
            stolen_ns: 1,
            interrupts: vec![Held { by: Holder::Timer, ns: 3 }],
            stopped_ns: 5,
            blocked_ns: 0,
        }
    }

    #[test]
    fn trials_are_pooled_by_thread_and_processor() {
        let rustc = || Holder::Process { name: "rustc".into(), pid: 7, cgroup: None };
        let trials = [
            of(1, 100, &[(Holder::Idle, 60), (rustc(), 40)]),
            of(0, 5, &[(Holder::Hypervisor, 5)]),
            of(1, 300, &[(rustc(), 300)]),
        ];
        let pooled = Contention::pooled(&trials);
        assert_eq!(pooled.len(), 2);
        let reader = &pooled[0];
        assert_eq!((reader.span_ns, reader.waited_ns, reader.stolen_ns), (2000, 400, 2));
        assert_eq!(
            (&reader.interrupts[..], reader.stopped_ns),
            (&[Held { by: Holder::Timer, ns: 6 }][..], 10)
        );
        assert_eq!(reader.foreign().collect::<Vec<_>>(), [(&rustc(), 0.85)]);
        assert_eq!(reader.holders[1], Held { by: Holder::Idle, ns: 60 });
    }

    #[test]
    fn pooled_holders_are_bounded_and_lose_no_time() {
        let process = |pid| Holder::Process { name: "sh".into(), pid, cgroup: None };
        let trial = |pid| of(1, 10, &[(process(pid), 9), (Holder::Unknown, 1)]);
        let trials: Vec<Contention> = (0..2000).map(trial).collect();
        let pooled = Contention::pooled(&trials);
        let holders = &pooled[0].holders;
        assert!(holders.len() <= MOST_POOLED_HOLDERS + 2);
        assert_eq!(holders.iter().map(|held| held.ns).sum::<u64>(), pooled[0].waited_ns);
        assert_eq!(holders[0].by, Holder::Others);
        assert_eq!(holders[1], Held { by: Holder::Unknown, ns: 2000 });
    }
}
