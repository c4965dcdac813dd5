//! The one clock of a measurement, CLOCK_MONOTONIC, and the way to others.

use std::io;

use crate::call::done;

/// CLOCK_MONOTONIC in nanoseconds: what `bpf_ktime_get_ns()` reads in the kernel.
#[inline]
pub fn monotonic_ns() -> u64 {
    read_ns(libc::CLOCK_MONOTONIC)
}

/// CLOCK_REALTIME in nanoseconds: what hosts can agree on, as far as they are synchronized.
#[inline]
pub fn realtime_ns() -> u64 {
    read_ns(libc::CLOCK_REALTIME)
}

/// A clock that need not be there, such as that of another thread.
pub(crate) fn of_others_ns(clock: libc::clockid_t) -> io::Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec that the call writes.
    done(unsafe { libc::clock_gettime(clock, &raw mut time) })?;
    Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[inline]
pub(crate) fn read_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec that the call writes; the clocks used here exist
    // on every Linux, so the call does not fail.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sleeps until an absolute CLOCK_MONOTONIC time. May return early on a signal.
pub fn sleep_until_ns(deadline_ns: u64) {
    let time = libc::timespec {
        tv_sec: (deadline_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (deadline_ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: `time` is a valid timespec; no remainder is asked for with an absolute time.
    unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const time,
            std::ptr::null_mut(),
        )
    };
}

/// Lets the calling thread's waits end at their time: the kernel otherwise allows itself
/// 50 us more, to end several at once.
pub fn wait_punctually() {
    // SAFETY: no pointers; 1 ns is the least, as 0 means the default. It cannot fail.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0_u64, 0_u64, 0_u64) };
}

/// How far CLOCK_REALTIME stands ahead of CLOCK_MONOTONIC, in nanoseconds.
///
/// The narrowest of several brackets `monotonic, realtime, monotonic`, so it is good to
/// about half the time of one reading.
pub fn realtime_ahead_ns() -> i64 {
    let bracket = || {
        let before = monotonic_ns();
        let realtime = read_ns(libc::CLOCK_REALTIME);
        let after = monotonic_ns();
        (after - before, realtime as i64 - (before + (after - before) / 2) as i64)
    };
    (0..64).map(|_| bracket()).min().map_or(0, |(_, ahead)| ahead)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_reaches_the_deadline() {
        let deadline = monotonic_ns() + 2_000_000;
        sleep_until_ns(deadline);
        assert!(monotonic_ns() >= deadline);
    }

    #[test]
    fn the_offset_is_that_of_the_system_clock() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let ours = monotonic_ns() as i64 + realtime_ahead_ns();
        // The same second, which is all that two separate readings can promise.
        assert!((ours - now.as_nanos() as i64).abs() < 1_000_000_000);
    }
}
