//! Where the two ends run.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// A processor for each end. Threads that an end starts stay there with it.
#[derive(Clone, Copy)]
pub struct Place {
    pub name: &'static str,
    pub here: usize,
    pub there: usize,
}

impl Place {
    /// Those this process may use.
    pub fn all() -> Vec<Self> {
        let allowed = sched_getaffinity(None).expect("the processors of this process");
        let mut cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
        let first = cpus.next().expect("a processor");
        let one = Self { name: "one", here: first, there: first };
        let own = cpus.next().map(|other| Self { name: "own", here: first, there: other });
        [Some(one), own].into_iter().flatten().collect()
    }
}

/// Keeps the calling thread, and those it starts, on one processor.
pub fn pin(cpu: usize) {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    sched_setaffinity(None, &cpus).expect("pin a thread");
}
