//! What a thread took of the processors.

use crate::call::rusage;
use crate::clock;

/// Processor time, in nanoseconds; the kernel splits what it knows exactly by sampling, so that
/// the sum is exact and the two parts of a short time are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub user_ns: u64,
    /// In the kernel, in the program's name.
    pub system_ns: u64,
}

impl Spent {
    /// What was added since an earlier reading.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
        }
    }
}

/// What the calling thread took so far (getrusage(2), since Linux 2.6.26 for a thread).
pub fn spent_by_thread() -> Spent {
    spent_by(libc::RUSAGE_THREAD)
}

/// What all threads of this process took so far, those that have ended among them.
pub fn spent_by_process() -> Spent {
    spent_by(libc::RUSAGE_SELF)
}

/// Processor time of all threads of this process so far, in nanoseconds, exact.
pub fn process_time_ns() -> u64 {
    clock::read_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn spent_by(who: i32) -> Spent {
    let usage = rusage(who);
    let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    Spent { user_ns: ns(usage.ru_utime), system_ns: ns(usage.ru_stime) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted_once() {
        let (before, clock) = (spent_by_thread(), crate::cpu::thread_time_ns());
        while crate::cpu::thread_time_ns() < clock + 40_000_000 {}
        let spent = spent_by_thread().since(&before);
        let sum = spent.user_ns + spent.system_ns;
        assert!((30_000_000..400_000_000).contains(&sum), "{spent:?}");
        let all = spent_by_process();
        assert!(all.user_ns + all.system_ns >= sum, "{all:?} {spent:?}");
        // The sum is in microseconds, each part rounded down.
        assert!(process_time_ns() >= all.user_ns + all.system_ns, "{all:?}");
    }
}
