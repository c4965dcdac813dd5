use std::sync::mpsc;
use std::thread;

use netfathom_sys::cpu::thread_id;
use netfathom_testkit::{again_in_pid_namespace, needs_root};

use super::*;

const KNOWN: u64 = 1000;

/// Calls that nothing else here makes.
fn call(number: libc::c_long, times: u64) {
    for _ in 0..times {
        // SAFETY: these calls have no arguments and do nothing but answer.
        unsafe { libc::syscall(number) };
    }
}

fn of(counts: &[CallCount], number: libc::c_long) -> u64 {
    counts.iter().filter(|c| i64::from(c.number) == number).map(|c| c.count).sum()
}

#[test]
fn each_call_of_the_threads_that_are_followed_is_counted_for_their_end() {
    needs_root!();
    let calls = Calls::attach().unwrap();
    let (say, hear) = mpsc::channel();
    let (go, wait) = mpsc::channel();
    let end_1 = thread::spawn(move || {
        say.send(thread_id()).unwrap();
        wait.recv().unwrap();
        call(libc::SYS_getppid, KNOWN);
        thread_id()
    });
    calls.follow(hear.recv().unwrap(), 1).unwrap();
    go.send(()).unwrap();
    // This thread is followed from somewhere in the midst, and not up to its end.
    call(libc::SYS_geteuid, 300);
    calls.follow(thread_id(), 0).unwrap();
    call(libc::SYS_geteuid, KNOWN + 1);
    calls.let_go(thread_id()).unwrap();
    call(libc::SYS_geteuid, 200);
    // No account follows this one.
    thread::spawn(|| call(libc::SYS_getppid, 77)).join().unwrap();
    let thread = end_1.join().unwrap();
    let [first, second] = calls.counts();
    assert_eq!((of(&first, libc::SYS_geteuid), of(&first, libc::SYS_getppid)), (KNOWN + 1, 0), "{first:?}");
    assert_eq!((of(&second, libc::SYS_geteuid), of(&second, libc::SYS_getppid)), (0, KNOWN), "{second:?}");
    let named = second.iter().find(|c| c.count == KNOWN).unwrap();
    assert_eq!(named.name(), Some("getppid"));
    calls.let_go(thread).unwrap();
    assert!(calls.let_go(thread).unwrap_err().to_string().contains("take a thread from"));
}

#[test]
fn a_number_that_no_call_has_is_counted_and_has_no_name() {
    needs_root!();
    let calls = Calls::attach().unwrap();
    calls.follow(thread_id(), 0).unwrap();
    call(5_000_000, 5);
    calls.let_go(thread_id()).unwrap();
    let last = *calls.counts()[0].last().unwrap();
    assert_eq!((last, last.name()), (CallCount { number: 511, count: 5 }, None));
}

#[test]
fn threads_are_distinct_in_a_pid_namespace_too() {
    const SAME: &str = "calls::tests::each_call_of_the_threads_that_are_followed_is_counted_for_their_end";
    needs_root!();
    again_in_pid_namespace(SAME);
}
