//! Signal handlers that make marks, in the middle of marks.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use netfathom_mark::{mark, status};

use crate::turns::{Program, collect, half, ready, say, wait};

static HANDLED: AtomicU64 = AtomicU64::new(0);
const OUTSIDE: u64 = 400_000;

extern "C" fn handler(_: libc::c_int) {
    mark("in the handler");
    HANDLED.fetch_add(1, Relaxed);
}

/// A signal for this very thread, every so often.
fn storm(every_ns: i64) {
    let action = handler as extern "C" fn(libc::c_int);
    // SAFETY: the handler makes marks and counts; both are allowed there.
    unsafe { libc::signal(libc::SIGALRM, action as libc::sighandler_t) };
    // SAFETY: all zero is a valid value; the rest is set below.
    let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_signo = libc::SIGALRM;
    // SAFETY: no arguments.
    event.sigev_notify_thread_id = unsafe { libc::gettid() };
    let every = libc::timespec { tv_sec: 0, tv_nsec: every_ns };
    let times = libc::itimerspec { it_interval: every, it_value: every };
    let mut timer: libc::timer_t = std::ptr::null_mut();
    // SAFETY: all three are valid; what was set before is not asked for.
    let set = unsafe {
        libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer)
            + libc::timer_settime(timer, 0, &raw const times, std::ptr::null_mut())
    };
    assert_eq!(set, 0);
}

/// No more of them.
fn calm() {
    // SAFETY: nothing is handed over but the numbers.
    unsafe { libc::signal(libc::SIGALRM, libc::SIG_IGN) };
}

#[test]
#[ignore = "run by a_storm_of_signals_tears_no_mark"]
fn in_a_storm() {
    ready();
    storm(30_000);
    (0..OUTSIDE).for_each(|number| mark(if number % 2 == 0 { "outside: even" } else { "outside: odd" }));
    calm();
    say(&format!("handled {}", HANDLED.load(Relaxed)));
    wait();
}

#[test]
fn a_storm_of_signals_tears_no_mark() {
    let (mut program, mut listener) = Program::heard("signals::in_a_storm");
    let mut marks = collect(&mut listener, OUTSIDE);
    let handled: u64 = program.until("handled").parse().unwrap();
    assert!(handled > 0, "no signal came: this test shows nothing");
    listener.drain(&mut marks);
    assert_eq!(marks.len() as u64 + listener.lost(), OUTSIDE + handled);
    let known = ["in the handler", "outside: even", "outside: odd"];
    let strange: Vec<_> = marks.iter().filter(|m| !known.contains(&m.name.as_str())).collect();
    assert!(strange.is_empty(), "{strange:?}");
    let inside = marks.iter().filter(|m| m.name == known[0]).count() as u64;
    assert!(inside + listener.lost() >= handled);
    // Outside they alternate, whatever came in between, as long as none was lost.
    let outside: Vec<&str> = marks.iter().map(|m| m.name.as_str()).filter(|n| n.starts_with('o')).collect();
    let repeated = outside.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
    assert!(repeated <= listener.lost(), "{repeated} out of order");
    assert!(marks.iter().all(|m| (m.process, m.thread) == (program.pid(), marks[0].thread)));
}

#[test]
#[ignore = "run by errno_is_left_alone"]
fn with_errno() {
    // SAFETY: the place of this thread's errno.
    unsafe { *libc::__errno_location() = 77 };
    mark("the first one makes the ring");
    mark("the second is recorded or not");
    // SAFETY: as above.
    assert_eq!(unsafe { *libc::__errno_location() }, 77);
    assert_eq!(status().lost, 0);
}

#[test]
fn errno_is_left_alone() {
    // A descriptor that is none has to be tried, and fails.
    let mut command = half("signals::with_errno");
    assert!(command.env("NETFATHOM_MARK_FD", "4321").output().unwrap().status.success());
}
