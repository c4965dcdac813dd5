//! What takes much of the time, why, and what to do: in the words of `ttcp --explain`.

use std::collections::BTreeMap;

use netfathom_model::plan::WatchTarget;
use netfathom_model::print;
use netfathom_model::record::{Distribution, WatchResult, WatchSocket, WatchStage, WatchedStage};
use netfathom_model::verdict::Finding;

use super::judge::MOST_UNTIMED;

mod cpu;
pub(super) mod drops;
mod run;
#[cfg(test)]
mod tests;
mod unread;

pub(super) use run::{denied, ended};

/// Of fewer messages nothing is concluded.
const FEWEST: u64 = 10;
/// The part of the time from which a stage is worth a word.
const MUCH: f64 = 0.3;
/// Loss is worth one earlier: without it there is none of its stage.
const LOST: f64 = 0.05;
/// With more threads than that for each message a server makes one for each connection, which has few messages.
const A_THREAD_EACH: f64 = 0.3;
/// A reader that takes this part of the datagrams before they are stamped is awake when they come.
const POLLS: f64 = 0.05;
/// A wait that long is for an ACK that the receiver delays: 40 ms in Linux, up to 200 in others.
const DELAYED_ACK_NS: f64 = 30e6;
/// Without a setting, Linux and Windows open a window of some 64 KB at first.
const SMALL_WINDOW: u64 = 60_000;

/// Those of stages first, the longest mean time before the others, of whichever direction. `receiver` is the port that the
/// application sends to.
pub(super) fn findings(result: &WatchResult, receiver: Option<u16>) -> Vec<Finding> {
    let of_stage = |&stage: &WatchStage| of(result, stage, receiver);
    let refused = drops::refused(result);
    let is_first = result.account.refuses_many() && !cpu::is_throttled(result);
    let (first, refused) = if is_first { (refused, None) } else { (None, refused) };
    let first = unread::unread(result).into_iter().chain(first);
    let of_time = WatchStage::ALL.iter().filter_map(of_stage).chain(cpu::taken(result));
    let mut of_time: Vec<(f64, Finding)> = of_time.collect();
    of_time.sort_by(|a, b| b.0.total_cmp(&a.0));
    let of_time = of_time.into_iter().map(|(_, finding)| finding);
    let lost = refused.into_iter().chain(drops::dropped(result));
    first.chain(of_time).chain(lost).chain(doubts(result)).collect()
}

fn times(stages: &[WatchedStage], of: WatchStage) -> Option<&Distribution> {
    stages.iter().find(|stage| stage.stage == of).map(|stage| &stage.times)
}

/// That of a stage, and its mean time of a message.
fn of(result: &WatchResult, stage: WatchStage, receiver: Option<u16>) -> Option<(f64, Finding)> {
    let (total, stages, what) = match &result.send {
        Some(send) if stage as usize >= WatchStage::Socket as usize => {
            (&send.total, &send.stages, "the sent messages")
        }
        _ => (&result.total, &result.stages, "its messages"),
    };
    let sum_ns = times(stages, stage).map_or(0, |times| times.sum_ns);
    let part = if total.sum_ns > 0 { sum_ns as f64 / total.sum_ns as f64 } else { 0.0 };
    if total.n < FEWEST || part <= if stage == WatchStage::Hole { LOST } else { MUCH } {
        return None;
    }
    let (seen, cause, remedy) = text(result, stage, receiver)?;
    let mean_ns = sum_ns as f64 / total.n.max(1) as f64;
    let mean = print::time(mean_ns);
    let evidence = format!("{} of the time of {what}, {mean} a message on average", print::percent(part));
    let process = result.process().filter(|_| result.plan.target != WatchTarget::All);
    let (pid, of) = match process {
        Some(process) => (process.pid.to_string(), String::new()),
        None => longest(result, stage).unwrap_or_else(|| ("PID".into(), String::new())),
    };
    let remedy = remedy.replace("-p PID", &format!("-p {pid}"));
    Some((mean_ns, Finding { seen: seen.into(), cause, evidence: evidence + &of, remedy }))
}

/// Of several processes, the one with most of this stage in its sockets: its number, and what part it has.
fn longest(result: &WatchResult, stage: WatchStage) -> Option<(String, String)> {
    let in_stage = |socket: &WatchSocket| {
        let ways = [&socket.receive, &socket.send].into_iter().flat_map(|way| &way.stages);
        ways.filter(|sum| sum.stage == stage).map(|sum| sum.sum_ns.max(0)).sum::<i64>()
    };
    let mut sums = BTreeMap::new();
    for (socket, process) in result.sockets.iter().filter_map(|of| Some((of, of.process.as_ref()?))) {
        *sums.entry((process.pid, &process.name)).or_insert(0) += in_stage(socket);
    }
    let all_ns = sums.values().sum::<i64>() + result.other_sockets.as_ref().map_or(0, in_stage);
    let ((pid, name), ns) = sums.into_iter().max_by_key(|of| of.1).filter(|of| of.1 > 0)?;
    let part = print::percent(ns as f64 / all_ns as f64);
    Some((pid.to_string(), format!("; {part} of it in sockets of {name} (pid {pid})")))
}

/// What is seen, its cause, its remedy. `None` of what is the work itself.
fn text(
    result: &WatchResult,
    stage: WatchStage,
    receiver: Option<u16>,
) -> Option<(&'static str, String, String)> {
    let (seen, cause, remedy) = match stage {
        WatchStage::Runqueue => return cpu::runqueue(result),
        WatchStage::Nagle => return Some(nagle(result)),
        WatchStage::Blocked => return Some(blocked(result)),
        WatchStage::Sockqueue => return sockqueue(result),
        WatchStage::Lock => (
            "messages wait as a system call has their socket",
            "the application reads or sends by large calls, or by several threads on one socket",
            "read and send less at a time, or use a socket a thread",
        ),
        WatchStage::Hole => (
            "messages wait for earlier bytes that were lost or late",
            "segments were lost on the path, or came out of order",
            "find where they are dropped: netfathom ttcp --explain over the same path, `nstat -az TcpExtTCPOFOQueue`",
        ),
        WatchStage::Rwnd => return Some(rwnd(result, receiver)),
        WatchStage::Sndbuf => (
            "messages wait for room in the send buffer",
            "the send buffer is smaller than a message, or than what is in flight at the full rate",
            "if the application sets SO_SNDBUF, have it set more, or none; otherwise raise the last number of net.ipv4.tcp_wmem",
        ),
        WatchStage::Cwnd => (
            "messages wait for the congestion window",
            "the path is full, lost segments, or the connection is new or was idle",
            "keep connections open; net.ipv4.tcp_slow_start_after_idle=0; netfathom ttcp --explain shows the path",
        ),
        WatchStage::Cork => (
            "TCP_CORK or MSG_MORE holds messages",
            "the application announces more to send, and sends it late",
            "clear TCP_CORK when a message is complete",
        ),
        WatchStage::Pacing => (
            "pacing holds messages",
            "SO_MAX_PACING_RATE, the congestion control, or the fq qdisc spreads them over time",
            "raise the pacing rate, if that is not what it is for",
        ),
        _ => return None,
    };
    Some((seen, cause.into(), remedy.into()))
}

fn blocked(result: &WatchResult) -> (&'static str, String, String) {
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
        format!("between two reads its thread slept: a timer (sleep), a disk, a lock or another process{besides}"),
        "if it does not sleep on purpose, find out on what (`strace -f -T -p PID`); a thread that only reads ends the wait".into(),
    )
}

fn rwnd(result: &WatchResult, receiver: Option<u16>) -> (&'static str, String, String) {
    let seen = "messages wait as the receiver's window is closed";
    let window = result.send.as_ref().map_or(0, |send| send.account.receiver_window);
    if (1..SMALL_WINDOW).contains(&window) {
        let window = print::bytes(window as f64);
        return (
            seen,
            format!("the receiver's window was never larger than {window}: its receive buffer is small"),
            "if the receiver sets SO_RCVBUF, have it set more, or none; otherwise raise the last two numbers of net.ipv4.tcp_rmem on its host".into(),
        );
    }
    (
        seen,
        "the receiver reads slower than this application sends, or its receive buffer is small".into(),
        format!("watch the receiver, on its host: {}", watching(result, receiver)),
    )
}

/// A server's receivers are its clients, each with a port of its own.
fn watching(result: &WatchResult, receiver: Option<u16>) -> String {
    match (&result.plan.target, receiver) {
        (WatchTarget::Flow { local, peer }, _) => format!("netfathom watch rx --flow {peer}:{local}"),
        (_, Some(port)) => format!("netfathom watch rx --port {port}"),
        (WatchTarget::Port(port), None) => {
            format!("netfathom watch rx --pid PID, which `ss -tnp dport = :{port}` shows there")
        }
        _ => "netfathom watch rx --port PORT, which `ss -tnp` shows as that of the peer".into(),
    }
}

fn sockqueue(result: &WatchResult) -> Option<(&'static str, String, String)> {
    let account = &result.account;
    // Of one that was there before, the first message is not followed. Samples see few messages of each.
    let made = account.threads.saturating_sub(account.unfollowed);
    if result.sampling.is_none() && made as f64 > A_THREAD_EACH * account.timed as f64 {
        return Some((
            "messages wait in the socket until a thread or process is made for their connection",
            format!("{made} threads were made for {} messages", account.timed),
            "keep connections open, or have threads ready for new ones (a pool)".into(),
        ));
    }
    // Another thread would have to be woken first: it gains nothing where that takes as long as the wait.
    let mean_ns = |stage| times(&result.stages, stage).map_or(0.0, |times| times.mean_ns);
    // It may as well have slept: `doubts` has these messages.
    let is_unknown = account.long as f64 > MOST_UNTIMED * account.timed as f64;
    if is_unknown || mean_ns(WatchStage::Sockqueue) <= mean_ns(WatchStage::Wakeup) {
        return None;
    }
    if account.unstamped as f64 > POLLS * account.seen as f64 {
        return Some((
            "messages wait in the socket until their reader polls again",
            format!(
                "it does not sleep for them: it took {} datagrams as they came",
                print::count(account.unstamped)
            ),
            "shorten what it does between two reads (`perf top -p PID`)".into(),
        ));
    }
    let seen = "messages wait in the socket while their reader is busy";
    let busy = "works on earlier messages";
    let cause = match result.account.threads {
        1 => format!("one thread reads all of them, and {busy}"),
        n => format!("each of {n} threads {busy} of its own sockets"),
    };
    let remedy = "find out what it computes (`perf top -p PID`); give it more threads or processes, or run another instance";
    Some((seen, cause, remedy.into()))
}

fn nagle(result: &WatchResult) -> (&'static str, String, String) {
    let nagle = result.send.as_ref().and_then(|send| times(&send.stages, WatchStage::Nagle));
    let delays = if nagle.is_some_and(|times| times.mean_ns > DELAYED_ACK_NS) {
        "and the receiver delays its ACK"
    } else {
        "and the next one waits for a round trip"
    };
    (
        "Nagle's algorithm holds small messages until the receiver acknowledges earlier ones",
        format!("the application writes a message in several calls, or several messages in a row, {delays}"),
        "set TCP_NODELAY on the socket, or write each message in one call".into(),
    )
}

/// What some of them make doubtful: how many, of what, what is seen, its cause, its remedy.
fn doubts(result: &WatchResult) -> impl Iterator<Item = Finding> {
    let account = &result.account;
    let all = [
        (
            account.mptcp,
            "connections",
            "some connections are of MPTCP, and are not watched",
            "the application's socket is above those that the hooks see; programs in Go listen by MPTCP by default",
            "to watch them, have the application or its peer use TCP: GODEBUG=multipathtcp=0, or `sysctl -w net.mptcp.enabled=0`",
        ),
        (
            account.encrypted,
            "sockets",
            "the kernel encrypts some sockets (kTLS)",
            "a message there is what TCP gets at once, which may be a part of a TLS record",
            "read the counts of these sockets as segments, not as requests",
        ),
        (
            account.long,
            "messages",
            "some messages waited while their reader was switched more than 16 times",
            "only the last 16 times that a thread left its CPU are kept; what it did before counts as sockqueue",
            "read blocked, runqueue and sockqueue of their sum only",
        ),
        (
            result.unmarked,
            "sockets",
            "some sockets of the process are not watched",
            "the kernel has no memory for them: net.core.optmem_max limits what a socket may hold",
            "`sysctl -w net.core.optmem_max=131072`",
        ),
        (
            result.late,
            "found later",
            "UDP sockets were opened during the run: their first messages are not seen",
            "the first socket of UDP, and those of a process that has just started, are looked for once a second",
            "read the counts of UDP as too low; to see all, start watch once the application has its sockets, or watch their port (--port)",
        ),
    ];
    all.into_iter().filter(|of| of.0 > 0).map(|(n, of, seen, cause, remedy)| Finding {
        seen: seen.into(),
        cause: cause.into(),
        evidence: format!("{n} {of}"),
        remedy: remedy.into(),
    })
}
