//! What takes much of the time, why, and what to do: in the words of `ttcp --explain`.

use netfathom_model::print;
use netfathom_model::record::{Holder, WatchResult, WatchStage, WatchedStage};
use netfathom_model::verdict::Finding;

/// The part of the time from which a stage is worth a word.
const MUCH: f64 = 0.3;
/// Loss is worth one earlier: without it there is none of its stage.
const LOST: f64 = 0.05;
/// With more threads than that for each message a server makes one for each connection, which has few messages.
const A_THREAD_EACH: f64 = 0.3;
/// A wait that long is for an ACK that the receiver delays: 40 ms in Linux, up to 200 in others.
const DELAYED_ACK_NS: f64 = 30e6;

/// Those of stages first, the largest part of the time before the others.
pub(super) fn findings(result: &WatchResult) -> Vec<Finding> {
    let mut of_stages: Vec<(f64, Finding)> = WatchStage::ALL.iter().filter_map(|&s| of(result, s)).collect();
    of_stages.sort_by(|a, b| b.0.total_cmp(&a.0));
    let others =
        [refused(result), mptcp(result), encrypted(result), long(result), unmarked(result), late(result)];
    of_stages.into_iter().map(|(_, finding)| finding).chain(others.into_iter().flatten()).collect()
}

/// That of a stage, and its part of the time.
fn of(result: &WatchResult, stage: WatchStage) -> Option<(f64, Finding)> {
    let (part, what) = match &result.send {
        Some(send) if stage as usize >= WatchStage::Socket as usize => {
            (share(send.total.sum_ns, &send.stages, stage), "the sent messages")
        }
        _ => (share(result.total.sum_ns, &result.stages, stage), "its messages"),
    };
    if part <= if stage == WatchStage::Hole { LOST } else { MUCH } {
        return None;
    }
    let (seen, cause, remedy) = text(result, stage)?;
    let evidence = format!("{} of the time of {what}", print::percent(part));
    let remedy = match &result.reader {
        Some(reader) => remedy.replace("-p PID", &format!("-p {}", reader.pid)),
        None => remedy,
    };
    Some((part, Finding { seen: seen.into(), cause, evidence, remedy }))
}

/// What is seen, its cause, its remedy. `None` of what is the work itself.
fn text(result: &WatchResult, stage: WatchStage) -> Option<(&'static str, String, String)> {
    let (seen, cause, remedy) = match stage {
        WatchStage::Runqueue => return runqueue(result),
        WatchStage::Nagle => return Some(nagle(result)),
        WatchStage::Blocked => (
            "the application sleeps on something else while messages wait",
            "its reading thread waits for a disk, a lock, a timer or another process between two reads",
            "find out what it waits for (strace -f -T -p PID), and read in another thread",
        ),
        WatchStage::Sockqueue => return Some(sockqueue(result)),
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
        WatchStage::Rwnd => (
            "messages wait as the receiver's window is closed",
            "the receiver reads slower than this application sends, or its receive buffer is small",
            "watch the receiver: netfathom watch rx, on its host",
        ),
        WatchStage::Sndbuf => (
            "messages wait for room in the send buffer",
            "the send buffer is smaller than a message, or than what is in flight at the full rate",
            "let the kernel use more: raise the last number of net.ipv4.tcp_wmem, or set SO_SNDBUF",
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

/// Without somebody to name it is the wake-ups of an idle CPU.
fn runqueue(result: &WatchResult) -> Option<(&'static str, String, String)> {
    let (by, part) = result.waits.parts().find(|(by, _)| by.is_foreign())?;
    let part = print::percent(part);
    let (of_itself, remedy) = match (by, &result.reader) {
        (Holder::Process { name, .. }, Some(reader)) if *name == reader.name => (
            ", of the same name,",
            format!(
                "if it is of the application, run fewer of its processes at a time; otherwise move {by} to other CPUs (taskset -p)"
            ),
        ),
        (Holder::Process { .. }, _) => (
            "",
            format!(
                "move {by} to other CPUs (taskset -p), or give the application a CPU of its own (taskset, cpuset)"
            ),
        ),
        (Holder::Quota, _) => ("", "raise the CPU quota of its cgroup (cpu.max)".into()),
        (Holder::Hypervisor, _) => {
            ("", "give this virtual machine CPUs of its own, or move it to a host with less work".into())
        }
        _ => ("", "give the application a CPU of its own (taskset, cpuset)".into()),
    };
    let cause = format!("{by}{of_itself} had the CPU for {part} of the time that its reading threads waited");
    Some(("messages wait as their reader waits for a CPU", cause, remedy))
}

fn sockqueue(result: &WatchResult) -> (&'static str, String, String) {
    let account = &result.account;
    // Of one that was there before, the first message is not followed. Samples see all threads that are made, and few messages.
    let made = account.threads.saturating_sub(account.unfollowed);
    if result.sampling.is_none() && made as f64 > A_THREAD_EACH * account.timed as f64 {
        return (
            "messages wait in the socket until a thread or process is made for their connection",
            format!("{made} threads were made for {} messages", account.timed),
            "keep connections open, or have threads ready for new ones (a pool)".into(),
        );
    }
    let seen = "messages wait in the socket while their reader is busy";
    let busy = "works on earlier messages";
    let cause = match result.account.threads {
        1 => format!("one thread reads all of them, and {busy}"),
        n => format!("each of {n} threads {busy} of its own sockets"),
    };
    (
        seen,
        cause,
        "find out what it computes (perf top -p PID); give it more threads or processes, or run another instance".into(),
    )
}

fn nagle(result: &WatchResult) -> (&'static str, String, String) {
    let stage = result.send.iter().flat_map(|send| &send.stages).find(|s| s.stage == WatchStage::Nagle);
    let delays = if stage.is_some_and(|stage| stage.times.mean_ns > DELAYED_ACK_NS) {
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

fn share(total_ns: i64, stages: &[WatchedStage], stage: WatchStage) -> f64 {
    let sum = stages.iter().find(|s| s.stage == stage).map_or(0, |stage| stage.times.sum_ns);
    if total_ns > 0 { sum as f64 / total_ns as f64 } else { 0.0 }
}

fn refused(result: &WatchResult) -> Option<Finding> {
    let account = &result.account;
    (account.refused > 0).then(|| Finding {
        seen: "messages find no room in the receive buffer of their socket".into(),
        cause: "the application reads slower than they come, or the buffer is too small for a burst".into(),
        evidence: format!("{} of {} messages; those of UDP are lost", account.refused, account.seen),
        remedy: "set SO_RCVBUF, up to net.core.rmem_max, or read in more threads".into(),
    })
}

fn mptcp(result: &WatchResult) -> Option<Finding> {
    (result.account.mptcp > 0).then(|| Finding {
        seen: "some connections are of MPTCP, and are not watched".into(),
        cause: "the application's socket is above those that the hooks see; programs in Go listen by MPTCP by default".into(),
        evidence: format!("{} connections", result.account.mptcp),
        remedy: "to watch them, have the application or its peer use TCP: GODEBUG=multipathtcp=0, or sysctl -w net.mptcp.enabled=0".into(),
    })
}

fn encrypted(result: &WatchResult) -> Option<Finding> {
    (result.account.encrypted > 0).then(|| Finding {
        seen: "the kernel encrypts some sockets (kTLS)".into(),
        cause: "a message there is what TCP gets at once, which may be a part of a TLS record".into(),
        evidence: format!("{} sockets", result.account.encrypted),
        remedy: "read the counts of these sockets as segments, not as requests".into(),
    })
}

fn long(result: &WatchResult) -> Option<Finding> {
    (result.account.long > 0).then(|| Finding {
        seen: "some messages waited while their reader was switched more than 16 times".into(),
        cause: "only the last 16 times that a thread left its CPU are kept; what it did before counts as sockqueue".into(),
        evidence: format!("{} messages", result.account.long),
        remedy: "read blocked, runqueue and sockqueue of their sum only".into(),
    })
}

fn unmarked(result: &WatchResult) -> Option<Finding> {
    (result.unmarked > 0).then(|| Finding {
        seen: "some sockets of the process are not watched".into(),
        cause: "the kernel has no memory for them: net.core.optmem_max limits what a socket may hold".into(),
        evidence: format!("{} sockets", result.unmarked),
        remedy: "sysctl -w net.core.optmem_max=131072".into(),
    })
}

fn late(result: &WatchResult) -> Option<Finding> {
    (result.late > 0).then(|| Finding {
        seen: "UDP sockets were opened during the run: their first messages are not seen".into(),
        cause: "no hook shows that a process opens one: they are looked for once a second".into(),
        evidence: format!("{} found later", result.late),
        remedy: "read the counts of UDP as too low; start watch once the application has its sockets".into(),
    })
}
