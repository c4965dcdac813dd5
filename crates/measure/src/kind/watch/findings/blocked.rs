//! What the reader slept on.

use netfathom_model::print;
use netfathom_model::record::{WatchResult, WatchStage};

use super::{Words, times};

pub(super) fn blocked(result: &WatchResult) -> Words {
    let blocked_ns = times(&result.stages, WatchStage::Blocked).map_or(0, |times| times.sum_ns) as f64;
    let stopped_ns = result.account.stopped_ns as f64;
    let stopped = format!("{} of {} blocked", print::time(stopped_ns), print::time(blocked_ns));
    let by = "a signal (SIGSTOP) or a debugger stopped";
    if 2.0 * stopped_ns > blocked_ns {
        return (
            "messages wait while their reader is stopped",
            format!("{by} its thread: {stopped}, all messages together"),
            "find out what sends the signal (`strace -f -e trace=none -p PID`), or detach the debugger"
                .into(),
        );
    }
    let besides = if stopped_ns > 0.0 { format!("; for {stopped}, {by} it") } else { String::new() };
    (
        "messages wait while their reader sleeps on something else",
        format!(
            "between two reads its thread slept: a timer (sleep), a disk, a page read from disk (major fault), a lock, a garbage collector's pause or another process{besides}"
        ),
        unblocking(result),
    )
}

/// Where threads are known to share them, more threads help whatever it sleeps on.
fn unblocking(result: &WatchResult) -> String {
    let (threads, sockets) = (result.account.threads, result.sockets.len() as u64);
    let [find, more] = ["find out on what (`strace -f -T -p PID`)", "give it more threads or processes"];
    let first = if sockets > threads {
        format!(
            "{more} (threads that read: {threads}, sockets: {sockets}); if it does not sleep on purpose, {find}"
        )
    } else {
        format!("if it does not sleep on purpose, {find}; where few threads serve many connections, {more}")
    };
    format!("{first}; a thread that only reads moves this wait into the application")
}
