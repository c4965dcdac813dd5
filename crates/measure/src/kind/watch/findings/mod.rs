//! What takes much of the time, why, and what to do: in the words of `ttcp --explain`. `blocked`, `cpu`, `drops`, `faults`,
//! `sending` and `unread` have those of one subject, `run` those of the whole run.

use std::collections::BTreeMap;
use std::iter;

use netfathom_model::plan::WatchTarget;
use netfathom_model::print;
use netfathom_model::record::{Distribution, WatchResult, WatchSocket, WatchStage, WatchedStage};
use netfathom_model::verdict::Finding;

use super::judge::MOST_UNTIMED;

mod blocked;
mod cpu;
pub(super) mod drops;
pub(super) mod faults;
mod run;
mod sending;
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
/// A wait below this part of the longest of these mean times is not worth a word: to receive, to send, and until an answer. Without
/// it, what a user waits for is as long as before.
const TRIFLE: f64 = 0.05;

/// What is seen, its cause, its remedy.
type Words = (&'static str, String, String);

/// Those of stages first, the longest mean time before the others, of whichever direction. `receiver` is the port that the
/// application sends to.
pub(super) fn findings(result: &WatchResult, receiver: Option<u16>) -> Vec<Finding> {
    let of_stage = |&stage: &WatchStage| of(result, stage, receiver);
    let refused = drops::refused(result);
    let is_first = result.account.refuses_many() && !cpu::is_throttled(result);
    let (first, refused) = if is_first { (refused, None) } else { (None, refused) };
    let first = unread::unread(result).into_iter().chain(first);
    let taken = cpu::taken(result).filter(|of| of.0 >= least_ns(result));
    let mut of_time: Vec<(f64, Finding)> = WatchStage::ALL.iter().filter_map(of_stage).chain(taken).collect();
    of_time.sort_by(|a, b| b.0.total_cmp(&a.0));
    let of_time = of_time.into_iter().map(|(_, finding)| finding);
    let lost = refused.into_iter().chain(drops::dropped(result)).chain(sending::lost(result));
    first.chain(of_time).chain(lost).chain(doubts(result)).collect()
}

fn times(stages: &[WatchedStage], of: WatchStage) -> Option<&Distribution> {
    stages.iter().find(|stage| stage.stage == of).map(|stage| &stage.times)
}

/// The least mean time of a message that is more than a trifle.
fn least_ns(result: &WatchResult) -> f64 {
    let ways = iter::once(&result.total).chain(result.send.iter().map(|send| &send.total));
    // Programs of a whole host have no common time.
    let is_one = result.plan.target != WatchTarget::All;
    let answers = [&result.application, &result.answer].into_iter().flatten().filter(|_| is_one);
    let long = ways.chain(answers).filter(|times| times.n >= FEWEST);
    TRIFLE * long.map(|times| times.mean_ns).fold(0.0, f64::max)
}

/// The direction of a stage: its total, its stages, and what they are of.
fn way(result: &WatchResult, stage: WatchStage) -> (&Distribution, &[WatchedStage], &'static str) {
    match &result.send {
        Some(send) if stage as usize >= WatchStage::Socket as usize => {
            (&send.total, &send.stages, "the sent messages")
        }
        _ => (&result.total, &result.stages, "its messages"),
    }
}

/// The times of a stage that takes much of the whole.
fn much(result: &WatchResult, stage: WatchStage) -> Option<&Distribution> {
    let (total, stages, _) = way(result, stage);
    let least = if stage == WatchStage::Hole { LOST } else { MUCH };
    times(stages, stage)
        .filter(|times| times.n.min(total.n) >= FEWEST)
        .filter(|times| times.sum_ns as f64 > least * total.sum_ns as f64)
        .filter(|times| times.sum_ns as f64 >= least_ns(result) * total.n as f64)
}

/// That of a stage, and its mean time of a message.
fn of(result: &WatchResult, stage: WatchStage, receiver: Option<u16>) -> Option<(f64, Finding)> {
    let times = much(result, stage)?;
    let (seen, cause, remedy) = text(result, stage, receiver)?;
    let (total, _, what) = way(result, stage);
    let mean_ns = times.sum_ns as f64 / total.n as f64;
    let evidence = evidence(stage, times, total, what);
    let is_one = result.plan.target != WatchTarget::All && result.process().is_some();
    let longest = if is_one { None } else { longest(result, stage) };
    let (pid, of) = longest.unwrap_or_else(|| (result.pid_argument(), String::new()));
    let remedy = remedy.replace("-p PID", &format!("-p {pid}"));
    Some((mean_ns, Finding { seen: seen.into(), cause, evidence: evidence + &of, remedy }))
}

/// Such as `cwnd: 62.1 % of the time of the sent messages, 1.04 ms a message on average; 20 of 300 have it`.
fn evidence(stage: WatchStage, times: &Distribution, total: &Distribution, what: &str) -> String {
    let part = print::percent(times.sum_ns as f64 / total.sum_ns.max(1) as f64);
    let mean = print::time(times.sum_ns as f64 / total.n as f64);
    let few = match (times.n, total.n) {
        (n, all) if n < all => format!("; {} of {} have it", print::count(n), print::count(all)),
        _ => String::new(),
    };
    format!("{}: {part} of the time of {what}, {mean} a message on average{few}", stage.name())
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

/// `None` of what is the work itself.
fn text(result: &WatchResult, stage: WatchStage, receiver: Option<u16>) -> Option<Words> {
    let (seen, cause, remedy) = match stage {
        WatchStage::Runqueue => return cpu::runqueue(result),
        WatchStage::Nagle => return Some(sending::nagle(result)),
        WatchStage::Blocked => return Some(blocked::blocked(result)),
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
        WatchStage::Rwnd => return Some(sending::rwnd(result, receiver)),
        WatchStage::Cwnd => return Some(sending::cwnd(result)),
        WatchStage::Pacing => return Some(sending::pacing(result)),
        WatchStage::Qdisc => return sending::qdisc(result),
        WatchStage::Sndbuf => (
            "messages wait for room in the send buffer",
            "the send buffer is smaller than a message, or than what is in flight at the full rate",
            "if the application sets SO_SNDBUF, have it set more, or none; otherwise raise the last number of net.ipv4.tcp_wmem",
        ),
        WatchStage::Cork => (
            "TCP_CORK or MSG_MORE holds messages",
            "the application announces more to send, and sends it late",
            "clear TCP_CORK when a message is complete",
        ),
        _ => return None,
    };
    Some((seen, cause.into(), remedy.into()))
}

fn sockqueue(result: &WatchResult) -> Option<Words> {
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
    if mean_ns(WatchStage::Sockqueue) <= mean_ns(WatchStage::Wakeup) {
        return None;
    }
    if account.long as f64 > MOST_UNTIMED * account.timed as f64 {
        return Some((
            "messages wait in the socket until their reader comes to them",
            "it was switched more than 16 times meanwhile: whether it ran or slept is not known for all of it".into(),
            "find out whether it computes (`perf top -p PID`) or waits (`strace -f -T -p PID`); give it more threads or processes".into(),
        ));
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
            account.missed_events,
            "events",
            "netfathom's programs missed events: some messages may have no times, or too long ones",
            "the kernel runs no program twice at a time on a CPU; from Linux 7.0 on, a thread may lose its CPU within one",
            "compare it with the number of messages: few events change little",
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
