//! How far the times can be trusted, and what was noticed.

use netfathom_model::path::Direction;
use netfathom_model::print;
use netfathom_model::record::{WatchResult, WatchSend, WatchStage, WatchedStage};
use netfathom_model::verdict::{Finding, Verdict};

use crate::load::judge::{Rule, count, flag, no_number, percent, trial};

/// Stamps of packets may be wrong by this when the clock is set.
const MOST_MOVED_NS: f64 = 1000.0;

/// The part of the messages without times of their own, beyond which these are not those of all.
const MOST_UNTIMED: f64 = 0.05;

const RULES: [Rule<WatchResult>; 10] = [
    Rule::void(
        0.0,
        |r| flag(r.account.seen == 0 && r.plan.watches(Direction::Rx) && sent(r) == 0),
        no_number,
        "no message came: is this the right port or process, and TCP or UDP? `ss -tunap` lists sockets",
    ),
    Rule::void(
        0.0,
        |r| flag(r.account.seen == 0 && !r.plan.watches(Direction::Rx) && sent(r) == 0),
        no_number,
        "no message was sent: is this the right port or process, and TCP? `ss -tnp` lists connections",
    ),
    Rule::void(
        0.0,
        |r| of_sent(r, |send| (-send.account.unsent()).max(0) as f64),
        count,
        "{} sent messages more came to an end than were seen: the account does not close",
    ),
    Rule::void(
        0.0,
        |r| of_sent(r, |send| miss(send.total.sum_ns, &send.stages)),
        count,
        "the stages of what was sent miss the total by {} ns",
    ),
    Rule::degraded(
        MOST_UNTIMED,
        |r| of_sent(r, |send| if send.account.seen == 0 { 0.0 } else { 1.0 - send.account.share_timed() }),
        percent,
        "{} of the sent messages have no times; the account lists why",
    ),
    Rule::void(
        0.0,
        |r| flag(r.account.seen > 0 && r.account.timed == 0),
        no_number,
        "no message has times: the account lists why",
    ),
    Rule::void(
        0.0,
        |r| (-r.account.unread()).max(0) as f64,
        count,
        "{} messages more came to an end than were seen: the account does not close",
    ),
    Rule::void(0.0, |r| miss(r.total.sum_ns, &r.stages), count, "the stages miss the total by {} ns"),
    Rule::degraded(
        MOST_UNTIMED,
        |r| if r.account.timed == 0 { 0.0 } else { 1.0 - r.account.share_timed() },
        percent,
        "{} of the messages have no times; the account lists why",
    ),
    Rule::degraded(
        MOST_MOVED_NS,
        |r| r.clock_moved_ns as f64,
        count,
        "the clock that packets are stamped with was set meanwhile, by {} ns in a second: stage protocol is wrong by that",
    ),
];

fn sent(result: &WatchResult) -> u64 {
    result.send.as_ref().map_or(0, |send| send.account.seen)
}

fn of_sent(result: &WatchResult, value: fn(&WatchSend) -> f64) -> f64 {
    result.send.as_ref().map_or(0.0, value)
}

fn miss(total_ns: i64, stages: &[WatchedStage]) -> f64 {
    (total_ns - stages.iter().map(|stage| stage.times.sum_ns).sum::<i64>()).unsigned_abs() as f64
}

pub(super) fn verdict(result: &WatchResult) -> Verdict {
    trial(&RULES, result)
}

pub(super) fn findings(result: &WatchResult) -> Vec<Finding> {
    let all = [blocked(result), long(result), nagle(result), closed(result), unmarked(result)];
    all.into_iter().flatten().collect()
}

/// The part of the time from which a stage is worth a word.
const MUCH: f64 = 0.3;

fn share(total_ns: i64, stages: &[WatchedStage], stage: WatchStage) -> f64 {
    let sum = stages.iter().find(|s| s.stage == stage).map_or(0, |stage| stage.times.sum_ns);
    if total_ns > 0 { sum as f64 / total_ns as f64 } else { 0.0 }
}

fn share_of_sent(result: &WatchResult, stage: WatchStage) -> f64 {
    result.send.as_ref().map_or(0.0, |send| share(send.total.sum_ns, &send.stages, stage))
}

fn nagle(result: &WatchResult) -> Option<Finding> {
    let part = share_of_sent(result, WatchStage::Nagle);
    (part > MUCH).then(|| Finding {
        seen: "Nagle's algorithm holds small messages until the receiver acknowledges earlier ones".into(),
        cause: "the application writes a message in several calls, or several messages in a row, and the receiver delays its ACK".into(),
        evidence: format!("{} of the time of the sent messages", print::percent(part)),
        remedy: "set TCP_NODELAY on the socket, or write each message in one call".into(),
    })
}

fn closed(result: &WatchResult) -> Option<Finding> {
    let part = share_of_sent(result, WatchStage::Rwnd);
    (part > MUCH).then(|| Finding {
        seen: "messages wait as the receiver's window is closed".into(),
        cause: "the receiver reads slower than this application sends, or its receive buffer is small".into(),
        evidence: format!("{} of the time of the sent messages", print::percent(part)),
        remedy: "watch the receiver: netfathom watch rx, on its host".into(),
    })
}

fn blocked(result: &WatchResult) -> Option<Finding> {
    let part = share(result.total.sum_ns, &result.stages, WatchStage::Blocked);
    (part > MUCH).then(|| Finding {
        seen: "the application sleeps on something else while messages wait".into(),
        cause: "its reading thread waits for a disk, a lock, a timer or another process between two reads"
            .into(),
        evidence: format!("{} of the time of its messages", print::percent(part)),
        remedy: "find out what it waits for (strace -f -T -p PID), and read in another thread".into(),
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
