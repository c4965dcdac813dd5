//! Threads that run before all ordinary ones.

use std::io;

use super::CpuError;
use crate::call::done;

/// Has the calling thread run whenever it wants to, before every ordinary thread of its
/// processor (SCHED_FIFO, of the lowest priority). Threads that it starts are ordinary again.
/// It must leave the processor by itself: what stays on it keeps the kernel's own threads away.
///
/// # Errors
/// Without CAP_SYS_NICE, or in a control group that has no real-time share.
pub fn before_all_others() -> Result<(), CpuError> {
    let hint = "; run as root or grant CAP_SYS_NICE, in a control group with a real-time share";
    set_policy(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, 1)
        .map_err(CpuError::new("run before all others (SCHED_FIFO)", hint))
}

/// Of the calling thread. It allocates nothing, so it may stand between fork and exec.
pub(crate) fn set_policy(policy: i32, priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: 0 is the calling thread; the parameters are read only.
    done(unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) })
}

/// Whether the threads that this process starts run before every ordinary one, as under `chrt -f 50`.
pub fn is_before_others() -> bool {
    // SAFETY: no pointers; that of the process is the policy of its first thread.
    let policy = unsafe { libc::sched_getscheduler(libc::getpid()) };
    matches!(policy, libc::SCHED_FIFO | libc::SCHED_RR | libc::SCHED_DEADLINE)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn policy() -> i32 {
        // SAFETY: no pointers; 0 is the calling thread.
        unsafe { libc::sched_getscheduler(0) }
    }

    #[test]
    fn a_thread_goes_first_and_those_it_starts_do_not() {
        let [own, started] = thread::spawn(|| {
            if let Err(error) = before_all_others() {
                netfathom_testkit::skipped("sys::cpu::realtime", &error.to_string());
                return [libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, libc::SCHED_OTHER];
            }
            [policy(), thread::spawn(policy).join().unwrap()]
        })
        .join()
        .unwrap();
        assert_eq!([own, started], [libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, libc::SCHED_OTHER]);
    }
}
