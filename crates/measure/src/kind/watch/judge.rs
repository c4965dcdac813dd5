//! How far the times can be trusted. A run of `watch` has no trials: the rules are applied to it as to a single one, the only
//! one that their advice is given.

use netfathom_model::path::Direction;
use netfathom_model::plan::WatchTarget;
use netfathom_model::print;
use netfathom_model::record::{Holder, WatchResult, WatchSend, WatchSlow, WatchStage, WatchedStage};
use netfathom_model::verdict::Verdict;
use netfathom_sys::process;
use netfathom_sys::socket::{is_udp_port, listening_ports, unix_inodes};

use super::findings::drops::dropped;
use super::follow::TICK;
use crate::load::judge::{Rule, count, flag, no_number, percent, trial};

/// Stamps of packets may be wrong by this when the clock is set.
const MOST_MOVED_NS: f64 = 1000.0;

/// With a larger share of messages without times, or slowed by netfathom, the others do not stand for all.
pub const MOST_UNTIMED: f64 = 0.05;
/// So few are no share of all: the first message of each thread has no times either.
const FEW: u64 = 4;

const RULES: [Rule<WatchResult>; 16] = [
    Rule::<WatchResult>::void(
        0.0,
        |r| flag(came(r) == 0 && r.plan.watches(Direction::Rx) && sent(r) == 0),
        no_number,
        "no message came while messages were followed: ",
    )
    .advise(|r, _| nothing_came(r[0])),
    Rule::<WatchResult>::void(0.0, |r| flag(sends_nothing(r)), no_number, "no message was sent: ")
        .advise(|r, _| nothing_sent(r[0])),
    Rule::void(
        0.0,
        |r| of_sent(r, |send| (-send.account.unsent()).max(0) as f64),
        count,
        "{} more sent messages have an outcome than were seen: the account does not add up",
    ),
    Rule::void(
        0.0,
        |r| of_sent(r, |send| miss(send.total.sum_ns, &send.stages)),
        count,
        "the stages of sending differ from the total by {} ns",
    ),
    Rule::<WatchResult>::degraded(
        MOST_UNTIMED,
        |r| of_sent(r, |send| if send.account.seen == 0 { 0.0 } else { 1.0 - send.account.share_timed() }),
        percent,
        "{} of the sent messages have no times: ",
    )
    .advise(|r, _| {
        let account = r[0].send.as_ref().map(|send| &send.account);
        account.map_or_else(String::new, |of| why(of.seen, &of.outcomes(), ("unsent", of.unsent())))
    }),
    Rule::void(
        0.0,
        |r| flag(came(r) > 0 && r.account.timed == 0),
        no_number,
        "no message has times: the account lists why",
    ),
    Rule::void(
        0.0,
        |r| (-r.account.unread()).max(0) as f64,
        count,
        "{} more messages have an outcome than were seen: the account does not add up",
    ),
    Rule::<WatchResult>::degraded(
        0.0,
        beyond_read,
        percent,
        "messages with times have {} more bytes than were read: the account does not add up",
    )
    .void_beyond(MOST_UNTIMED),
    Rule::void(
        0.0,
        |r| miss(r.total.sum_ns, &r.stages),
        count,
        "the stages of receiving differ from the total by {} ns",
    ),
    Rule::<WatchResult>::degraded(
        MOST_UNTIMED,
        |r| if r.account.timed == 0 || untimed(r) <= FEW { 0.0 } else { share_untimed(r) },
        percent,
        "{} of the received messages have no times: ",
    )
    .advise(|r, _| {
        let of = &r[0].account;
        let at_ends = of.unfollowed.saturating_add_signed(of.unread().max(0));
        let longer = if 2 * at_ends > untimed(r[0]) {
            "; a connection's first and last message often have none: a longer --time has fewer of them"
        } else {
            ""
        };
        why(of.seen, &of.outcomes(), ("unread", of.unread())) + longer
    }),
    Rule::degraded(
        MOST_UNTIMED,
        |r| r.account.missed_events as f64 / r.messages().max(1) as f64,
        percent,
        "netfathom's programs missed events, as many as {} of the messages: some may have no times, or too long ones",
    ),
    Rule::degraded(
        MOST_UNTIMED,
        share_not_found,
        percent,
        "for up to {} of the time a UDP socket was open and not found yet: its messages are not seen",
    ),
    Rule::degraded(
        MOST_UNTIMED,
        |r| r.account.bytes_outside as f64 / r.account.bytes_read.max(1) as f64,
        percent,
        "{} of the bytes read came to half-closed connections, where no hook sees messages: the times are of the others",
    ),
    Rule::degraded(
        MOST_UNTIMED,
        |r| r.slow.as_ref().filter(|slow| slow.by_netfathom > FEW).map_or(0.0, WatchSlow::share_by_netfathom),
        percent,
        "netfathom itself made {} of the messages and answers beyond the bound slow: pin it to another CPU (`taskset -c CPU netfathom ...`)",
    ),
    Rule::degraded(
        MOST_UNTIMED,
        held_by_netfathom,
        percent,
        "netfathom itself had the CPU that readers waited for, {} of the time to receive: pin it to another (`taskset -c CPU netfathom ...`)",
    ),
    Rule::degraded(
        MOST_MOVED_NS,
        |r| r.clock_moved_ns as f64,
        count,
        "the clock that stamps packets was set meanwhile, by {} ns in a second: stage protocol is off by as much",
    ),
];

/// Their part of the waits for a CPU, and that of the time to receive.
pub fn held_by(result: &WatchResult, is: impl Fn(&Holder) -> bool) -> f64 {
    let waited = result.stages.iter().find(|stage| stage.stage == WatchStage::Runqueue);
    let part: f64 = result.waits.parts().filter(|(by, _)| is(by.first)).map(|(_, part)| part).sum();
    let (Some(waited), true) = (waited, result.total.sum_ns > 0) else { return 0.0 };
    part * waited.times.sum_ns as f64 / result.total.sum_ns as f64
}

pub fn held_by_netfathom(result: &WatchResult) -> f64 {
    held_by(result, |by| *by == Holder::Netfathom)
}

/// Although that alone is watched.
fn sends_nothing(result: &WatchResult) -> bool {
    !result.plan.watches(Direction::Rx) && sent(result) == 0
}

fn sent(result: &WatchResult) -> u64 {
    result.send.as_ref().map_or(0, |send| send.account.seen)
}

/// Messages that were seen, or what shows that there were others.
fn came(result: &WatchResult) -> u64 {
    result.account.seen.saturating_add(result.account.bytes_outside)
}

/// What found no room in the socket came to no reader: the times are of all that did.
fn untimed(result: &WatchResult) -> u64 {
    let account = &result.account;
    account.seen.saturating_sub(account.timed + account.merged + account.refused)
}

/// In samples, what is read after one ended is not counted, and its messages have times.
fn beyond_read(result: &WatchResult) -> f64 {
    let account = &result.account;
    let beyond = account.bytes_timed.saturating_sub(account.bytes_read);
    if result.sampling.is_some() { 0.0 } else { beyond as f64 / account.bytes_read.max(1) as f64 }
}

/// They may have been open for as long as it takes to look again.
fn share_not_found(result: &WatchResult) -> f64 {
    let sent = result.send.as_ref().map_or(0, |send| send.account.udp);
    if result.account.udp + sent == 0 {
        return 0.0;
    }
    let open_ns = result.late_looks as f64 * TICK.as_nanos() as f64;
    (open_ns / result.watched_ns.max(1) as f64).min(1.0)
}

fn share_untimed(result: &WatchResult) -> f64 {
    let accepted = result.account.seen.saturating_sub(result.account.refused);
    untimed(result) as f64 / accepted.max(1) as f64
}

fn of_sent(result: &WatchResult, value: fn(&WatchSend) -> f64) -> f64 {
    result.send.as_ref().map_or(0.0, value)
}

fn miss(total_ns: i64, stages: &[WatchedStage]) -> f64 {
    (total_ns - stages.iter().map(|stage| stage.times.sum_ns).sum::<i64>()).unsigned_abs() as f64
}

/// The rows of the account: `27 unsent of 88; 30 timed, 31 merged have times`.
fn why(seen: u64, outcomes: &[(&str, u64)], (open, waits): (&str, i64)) -> String {
    let all = outcomes.iter().copied().chain([(open, waits.max(0).unsigned_abs())]);
    let (with, without): (Vec<_>, Vec<_>) =
        all.filter(|row| row.1 > 0).partition(|row| matches!(row.0, "timed" | "merged"));
    let [with, without] = [with, without]
        .map(|rows| print::listed(rows.iter().map(|&(name, n)| format!("{} {name}", print::count(n)))));
    let have = if with.is_empty() { String::new() } else { format!("; {with} have times") };
    format!("{without} of {}{have}", print::count(seen))
}

/// Who looks at what a process receives over the network alone may ask about what it sends.
fn nothing_came(result: &WatchResult) -> String {
    let plan = &result.plan;
    let receives_alone =
        || plan.directions == [Direction::Rx] && result.sampling.is_none() && !plan.follows_unix();
    let has_others = || {
        let [unix, all] = sockets(result);
        unix < all
    };
    let send = if receives_alone() && has_others() {
        let target = plan.target.arguments();
        format!("; only receiving was watched: netfathom watch tx {target} shows what it sends")
    } else {
        String::new()
    };
    ended(result).or_else(|| dropped_before(result)).unwrap_or_else(|| no_sender(result) + &send)
}

/// What the kernel dropped came to no socket.
fn dropped_before(result: &WatchResult) -> Option<String> {
    let all =
        dropped(result).map(|of| format!("the kernel dropped {}: {}; {}", of.evidence, of.cause, of.remedy));
    let all: Vec<String> = all.collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn nothing_sent(result: &WatchResult) -> String {
    let why = "is there a socket of that port or process (`ss -tunap`), and did it send?";
    ended(result).unwrap_or_else(|| why.into())
}

/// The process that was asked for, if it has ended: it is not to be looked for any more.
fn ended(result: &WatchResult) -> Option<String> {
    let of_process = matches!(result.plan.target, WatchTarget::Process(_) | WatchTarget::Name(_));
    let pid = result.reader.as_ref().filter(|_| of_process && !result.plan.awaits())?.pid;
    (!process::lives(pid)).then(|| format!("process {pid} ended during the run"))
}

/// Whether anything serves there, where that can be looked up.
fn no_sender(result: &WatchResult) -> String {
    let plan = &result.plan;
    if plan.awaits() && result.reader.is_none() {
        return "no process of the target was there (`ps -eo pid,comm` lists processes)".into();
    }
    match plan.target {
        WatchTarget::Port(port) if !has_port(port) => format!(
            "no server has port {port} in this network namespace (`ss -tulnp` lists those that listen); those of other network namespaces are watched too (`lsns -t net`)"
        ),
        _ if result.sampling.is_some() => "give it more of a CPU (--budget)".into(),
        WatchTarget::All => "no socket of TCP or UDP on this host got one (`ss -tunap` lists them)".into(),
        WatchTarget::Port(port) if listening_ports("self").contains(&port) => {
            format!(
                "a server has port {port}, and no client sent to it, or its queue of new connections is full (`nstat -az TcpExtListenOverflows`)"
            )
        }
        WatchTarget::Port(port) => {
            format!("a UDP socket has port {port}: did a client send (`tcpdump -ni any udp port {port}`)?")
        }
        _ if plan.follows_unix() => {
            "does that process have a socket (`ss -tunxap`), and did the other end send?".into()
        }
        _ => {
            let [unix, all] = sockets(result);
            match (unix > 0, unix == all) {
                (true, true) => "that process has Unix sockets alone, which watch follows with --unix",
                (true, false) => {
                    "did the other end send (`ss -tunap`)? Its Unix sockets are followed with --unix"
                }
                (false, _) => "does that process have a socket (`ss -tunap`), and did the other end send?",
            }
            .into()
        }
    }
}

fn has_port(port: u16) -> bool {
    is_udp_port(port) || listening_ports("self").contains(&port)
}

/// How many Unix sockets the first process has, and how many sockets.
fn sockets(result: &WatchResult) -> [usize; 2] {
    let Some(pid) = result.reader.as_ref().map(|reader| reader.pid) else { return [0; 2] };
    let (inodes, unix) = (process::sockets(pid).unwrap_or_default(), unix_inodes(pid));
    [inodes.iter().filter(|(inode, _)| unix.contains(inode)).count(), inodes.len()]
}

pub(super) fn verdict(result: &WatchResult) -> Verdict {
    trial(&RULES, result)
}
