//! What takes much of the time, why, and what to do: in the words of `ttcp --explain`.

use netfathom_model::plan::WatchTarget;
use netfathom_model::print;
use netfathom_model::record::{Holder, WatchResult, WatchStage};
use netfathom_model::verdict::Finding;

use super::judge::{MOST_UNTIMED, held_by, held_by_netfathom};

/// Of fewer messages nothing is concluded.
const FEWEST: u64 = 10;
/// The part of the time from which a stage is worth a word.
const MUCH: f64 = 0.3;
/// What finds no room comes before all that takes time from that part of the messages on.
const MUCH_REFUSED: f64 = 0.01;
/// Loss is worth one earlier: without it there is none of its stage.
const LOST: f64 = 0.05;
/// From that part of the waits on, a holder that is not known is worth a word.
const MUCH_UNKNOWN: f64 = 0.05;
/// From that part of the time to receive on, what takes a CPU from whoever has it is worth a word.
const MUCH_TAKEN: f64 = 0.05;
/// With more threads than that for each message a server makes one for each connection, which has few messages.
const A_THREAD_EACH: f64 = 0.3;
/// A wait that long is for an ACK that the receiver delays: 40 ms in Linux, up to 200 in others.
const DELAYED_ACK_NS: f64 = 30e6;

/// Packets for each message, from which on drops are worth a word; fewer stand in the account alone.
const LEAST_DROPPED: f64 = 0.001;
/// Reasons for drops in a finding.
const MOST_DROPS: usize = 4;

/// Those of stages first, the largest part of the time before the others. `receiver` is the port that the application sends to.
pub(super) fn findings(result: &WatchResult, receiver: Option<u16>) -> Vec<Finding> {
    let of_stage = |&stage: &WatchStage| of(result, stage, receiver);
    let is_much = result.account.refused as f64 > MUCH_REFUSED * result.account.seen as f64;
    let (first, refused) = if is_much { (refused(result), None) } else { (None, refused(result)) };
    let of_time = WatchStage::ALL.iter().filter_map(of_stage).chain(taken(result));
    let mut of_time: Vec<(f64, Finding)> = of_time.collect();
    of_time.sort_by(|a, b| b.0.total_cmp(&a.0));
    let others = [
        refused,
        dropped(result),
        mptcp(result),
        encrypted(result),
        long(result),
        unmarked(result),
        late(result),
    ];
    let of_time = of_time.into_iter().map(|(_, finding)| finding);
    first.into_iter().chain(of_time).chain(others.into_iter().flatten()).collect()
}

/// That of a stage, and its part of the time.
fn of(result: &WatchResult, stage: WatchStage, receiver: Option<u16>) -> Option<(f64, Finding)> {
    let (total, stages, what) = match &result.send {
        Some(send) if stage as usize >= WatchStage::Socket as usize => {
            (&send.total, &send.stages, "the sent messages")
        }
        _ => (&result.total, &result.stages, "its messages"),
    };
    let sum_ns = stages.iter().find(|s| s.stage == stage).map_or(0, |stage| stage.times.sum_ns);
    let part = if total.sum_ns > 0 { sum_ns as f64 / total.sum_ns as f64 } else { 0.0 };
    if total.n < FEWEST || part <= if stage == WatchStage::Hole { LOST } else { MUCH } {
        return None;
    }
    let (seen, cause, remedy) = text(result, stage, receiver)?;
    let mean = print::time(sum_ns as f64 / total.n.max(1) as f64);
    let evidence = format!("{} of the time of {what}, {mean} a message on average", print::percent(part));
    let remedy = match (&result.reader, &result.plan.target) {
        // The first of many.
        (_, WatchTarget::All) => remedy.replace("perf top -p PID", "perf top"),
        (None, _) => remedy,
        (Some(reader), _) => remedy.replace("-p PID", &format!("-p {}", reader.pid)),
    };
    Some((part, Finding { seen: seen.into(), cause, evidence, remedy }))
}

/// What is seen, its cause, its remedy. `None` of what is the work itself.
fn text(
    result: &WatchResult,
    stage: WatchStage,
    receiver: Option<u16>,
) -> Option<(&'static str, String, String)> {
    let (seen, cause, remedy) = match stage {
        WatchStage::Runqueue => return runqueue(result),
        WatchStage::Nagle => return Some(nagle(result)),
        WatchStage::Blocked => (
            "messages wait while their reader sleeps on something else",
            "between two reads its thread slept: a timer (sleep), a disk, a lock or another process",
            "if it does not sleep on purpose, find out on what (strace -f -T -p PID); a thread that only reads ends the wait",
        ),
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

/// A server's receivers are its clients, each with a port of its own.
fn rwnd(result: &WatchResult, receiver: Option<u16>) -> (&'static str, String, String) {
    let there = match (&result.plan.target, receiver) {
        (WatchTarget::Flow { local, peer }, _) => format!("netfathom watch rx --flow {peer}:{local}"),
        (_, Some(port)) => format!("netfathom watch rx --port {port}"),
        (WatchTarget::Port(port), None) => {
            format!("netfathom watch rx --pid PID, which `ss -tnp dport = :{port}` shows there")
        }
        _ => "netfathom watch rx --port PORT, which `ss -tnp` shows as that of the peer".into(),
    };
    (
        "messages wait as the receiver's window is closed",
        "the receiver reads slower than this application sends, or its receive buffer is small".into(),
        format!("watch the receiver, on its host: {there}"),
    )
}

/// Without somebody to name it is the wake-ups of an idle CPU.
fn runqueue(result: &WatchResult) -> Option<(&'static str, String, String)> {
    let first = result.waits.parts().find(|(by, _)| by.is_outside() || **by == Holder::Netfathom);
    if first.is_some_and(|(by, _)| *by == Holder::Netfathom) && held_by_netfathom(result) > MOST_UNTIMED {
        // The verdict names it.
        return None;
    }
    let takes = |by: &Holder| TAKERS.iter().find(|(is, ..)| is(by));
    let outside = || result.waits.parts().filter(|(by, _)| by.is_outside());
    let (longest, _) = outside().next()?;
    if takes(longest).is_some_and(|(is, ..)| held_by(result, is) > MUCH_TAKEN) {
        // It has a finding of its own.
        return None;
    }
    let (by, part) = outside().find(|(by, _)| takes(by).is_none())?;
    let part = print::percent(part);
    let (of_itself, remedy) = match (by, &result.reader) {
        _ if result.plan.target == WatchTarget::All => (
            "",
            "see who else had the CPUs (-v): stop, or move to other CPUs (taskset -p), what may wait".into(),
        ),
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
        _ => ("", "give the application a CPU of its own (taskset, cpuset)".into()),
    };
    let rest = match result.waits.unknown() {
        rest if rest >= MUCH_UNKNOWN => format!("; who had it for {} is unknown", print::percent(rest)),
        _ => String::new(),
    };
    let had = by.had("the CPU");
    let cause = format!("{by}{of_itself} {had} for {part} of the time that its reading threads waited{rest}");
    Some(("messages wait as their reader waits for a CPU", cause, remedy))
}

/// What takes a CPU from whoever has it: which holders, what is seen, its cause, its remedy.
type Taker = (fn(&Holder) -> bool, &'static str, &'static str, &'static str);

const TAKERS: [Taker; 2] = [
    (
        |by| matches!(by, Holder::Softirqs | Holder::Interrupts),
        "messages wait as softirqs and interrupts take the CPU that their reader waits for",
        "softirqs, which often receive packets, or interrupts of a device run on the reader's own CPU (/proc/softirqs)",
        "receive packets on another CPU: RPS (/sys/class/net/DEVICE/queues/rx-N/rps_cpus), or the affinity of the device's interrupts (/proc/irq/N/smp_affinity_list)",
    ),
    (
        |by| matches!(by, Holder::Hypervisor),
        "messages wait as the hypervisor takes the CPU that their reader waits for",
        "this virtual machine shares its CPUs with others",
        "give this virtual machine CPUs of its own, or move it to a host with less work",
    ),
];

fn taken(result: &WatchResult) -> impl Iterator<Item = (f64, Finding)> {
    TAKERS.iter().filter_map(move |&(is, seen, cause, remedy)| {
        let part = held_by(result, is);
        let waited: f64 = result.waits.parts().filter(|(by, _)| is(by)).map(|(_, part)| part).sum();
        let evidence = format!(
            "{} of the time that its reading threads waited for a CPU, {} of the time of its messages",
            print::percent(waited),
            print::percent(part)
        );
        let is_much = result.total.n >= FEWEST && part > MUCH_TAKEN;
        let finding = Finding { seen: seen.into(), cause: cause.into(), evidence, remedy: remedy.into() };
        is_much.then_some((part, finding))
    })
}

fn sockqueue(result: &WatchResult) -> Option<(&'static str, String, String)> {
    let account = &result.account;
    // Of one that was there before, the first message is not followed. Samples see all threads that are made, and few messages.
    let made = account.threads.saturating_sub(account.unfollowed);
    if result.sampling.is_none() && made as f64 > A_THREAD_EACH * account.timed as f64 {
        return Some((
            "messages wait in the socket until a thread or process is made for their connection",
            format!("{made} threads were made for {} messages", account.timed),
            "keep connections open, or have threads ready for new ones (a pool)".into(),
        ));
    }
    // Another thread would have to be woken first: it gains nothing where that takes as long as the wait.
    let mean_ns = |stage| result.stages.iter().find(|s| s.stage == stage).map_or(0.0, |s| s.times.mean_ns);
    if mean_ns(WatchStage::Sockqueue) <= mean_ns(WatchStage::Wakeup) {
        return None;
    }
    let seen = "messages wait in the socket while their reader is busy";
    let busy = "works on earlier messages";
    let cause = match result.account.threads {
        1 => format!("one thread reads all of them, and {busy}"),
        n => format!("each of {n} threads {busy} of its own sockets"),
    };
    let remedy = "find out what it computes (perf top -p PID); give it more threads or processes, or run another instance";
    Some((seen, cause, remedy.into()))
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

fn refused(result: &WatchResult) -> Option<Finding> {
    let account = &result.account;
    (account.refused > 0).then(|| Finding {
        seen: "messages find no room in the receive buffer of their socket".into(),
        cause: "the application reads slower than they come, or the buffer is too small for a burst".into(),
        evidence: format!("{} of {} messages; those of UDP are lost", account.refused, account.seen),
        remedy: "set SO_RCVBUF, up to net.core.rmem_max, or read in more threads".into(),
    })
}

/// Why the kernel drops packets for a reason, and what to do. `None` of reasons without a remedy, of those that healthy
/// connections have too (keep-alive probes, retransmissions that were not needed), and of what `refused` has.
fn drop_words(reason: &str) -> Option<(&'static str, &'static str)> {
    Some(match reason {
        "QDISC_DROP" | "QDISC_OVERLIMIT" | "QDISC_CONGESTED" | "FQ_BAND_LIMIT" | "FQ_FLOW_LIMIT" => (
            "the queueing discipline of their device is full",
            "`tc -s qdisc` shows which; raise its limit, or send less at a time",
        ),
        "NETFILTER_DROP" => (
            "a rule of netfilter drops them",
            "`nft list ruleset` or `iptables -vL` shows the counts of the rules",
        ),
        "SOCKET_BACKLOG" => (
            "too many came while a system call had their socket",
            "read and send less at a time, or set a larger SO_RCVBUF",
        ),
        "PROTO_MEM" => (
            "the receive buffer of a TCP socket is full, or TCP or UDP have as much memory as they may",
            "read in more threads, or set a larger SO_RCVBUF; `ss -tm` shows who does not read",
        ),
        "TCP_LISTEN_OVERFLOW" => (
            "connections wait until the application accepts them, and the queue for them is full",
            "accept in more threads, or raise the backlog of listen() and net.core.somaxconn",
        ),
        "TCP_ZEROWINDOW" | "TCP_OVERWINDOW" => (
            "they came to a closed window: the application reads too late",
            "read in more threads, or set a larger SO_RCVBUF",
        ),
        "NEIGH_FAILED" | "NEIGH_QUEUEFULL" => (
            "the next hop does not answer (ARP, neighbor discovery)",
            "`ip neigh` shows it as FAILED or INCOMPLETE",
        ),
        _ => return None,
    })
}

/// By the most frequent reason.
fn dropped(result: &WatchResult) -> Option<Finding> {
    let drops = result.drops.iter().filter(|drop| drop_words(&drop.reason).is_some());
    let (cause, remedy) = drop_words(&drops.clone().next()?.reason)?;
    let packets: u64 = drops.clone().map(|drop| drop.packets).sum();
    let seen = result.account.seen + result.send.as_ref().map_or(0, |send| send.account.seen);
    if packets < FEWEST || (packets as f64) < LEAST_DROPPED * seen as f64 {
        return None;
    }
    let each =
        drops.map(|drop| format!("{} {} {}", print::count(drop.packets), drop.direction.name(), drop.reason));
    Some(Finding {
        seen: "the kernel drops packets of the watched sockets".into(),
        cause: cause.into(),
        evidence: print::listed_first(MOST_DROPS, each),
        remedy: remedy.into(),
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

#[cfg(test)]
mod tests {
    use netfathom_model::path::Direction;
    use netfathom_model::plan::WatchPlan;
    use netfathom_model::record::{CpuWaits, Held, WatchDrop, WatchSend, WatchSendAccount, WatchedStage};

    use super::super::judge::verdict;
    use super::*;
    use crate::kind::watch::{distribution, nothing};

    const US: i64 = 1000;

    fn times(n: u64, each_ns: i64) -> netfathom_model::record::Distribution {
        let mut times = netfathom_stats::Distribution::new(5);
        (0..n).for_each(|_| times.add(each_ns));
        distribution(&times)
    }

    /// A hundred messages in a stage, and those that waited for a wake-up.
    fn result(stage: WatchStage, each_ns: i64, woken: u64, wakeup_ns: i64) -> WatchResult {
        let plan = WatchPlan {
            target: WatchTarget::Port(1),
            directions: vec![Direction::Rx],
            time_ns: None,
            by_socket: false,
            slow: None,
            stop_after: None,
            budget: None,
            unix: None,
        };
        let mut result = nothing(&plan, None);
        result.stages = vec![
            WatchedStage { stage: WatchStage::Wakeup, times: times(woken, wakeup_ns) },
            WatchedStage { stage, times: times(100, each_ns) },
        ];
        result.total = times(100, each_ns + wakeup_ns * woken as i64 / 100);
        (result.account.timed, result.account.threads) = (100, 1);
        result
    }

    #[test]
    fn more_threads_are_advised_only_where_the_wait_is_longer_than_a_wake_up() {
        let sockqueue =
            |each_ns, woken| findings(&result(WatchStage::Sockqueue, each_ns, woken, 10 * US), None);
        assert_eq!(sockqueue(9 * US, 10), []);
        let [longer] = &sockqueue(20 * US, 10)[..] else { panic!("one") };
        assert!(longer.remedy.contains("more threads"), "{longer:?}");
        assert!(longer.evidence.ends_with(", 20.0 µs a message on average"), "{longer:?}");
        // It is never asleep.
        assert_eq!(sockqueue(9 * US, 0).len(), 1);
        let mut few = result(WatchStage::Sockqueue, 20 * US, 10, 10 * US);
        few.total = times(FEWEST - 1, 21 * US);
        assert_eq!(findings(&few, None), []);
    }

    /// What to do about a closed window, of an application that connects to one port or to several.
    #[test]
    fn who_does_not_read_is_watched_by_what_is_known_of_it() {
        let remedy = |target, receiver| {
            let mut result = result(WatchStage::Sockqueue, 0, 0, 0);
            let stages = vec![WatchedStage { stage: WatchStage::Rwnd, times: times(10, 20 * US) }];
            result.plan.target = target;
            result.send = Some(WatchSend {
                total: times(10, 25 * US),
                stages,
                acknowledged: times(0, 0),
                account: WatchSendAccount::default(),
                datagram_calls: None,
            });
            let [finding] = &findings(&result, receiver)[..] else { panic!("one") };
            finding.remedy.clone()
        };
        let ends = |target, receiver, end: &str| {
            let remedy = remedy(target, receiver);
            assert!(remedy.ends_with(end), "{remedy}");
        };
        ends(WatchTarget::Process(7), Some(5001), "netfathom watch rx --port 5001");
        ends(
            WatchTarget::Process(7),
            None,
            "netfathom watch rx --port PORT, which `ss -tnp` shows as that of the peer",
        );
        ends(WatchTarget::Port(6379), None, "--pid PID, which `ss -tnp dport = :6379` shows there");
        let [local, peer] = ["10.0.0.1:80", "10.0.0.2:40312"].map(|at| at.parse().unwrap());
        ends(WatchTarget::Flow { local, peer }, None, "netfathom watch rx --flow 10.0.0.2:40312:10.0.0.1:80");
    }

    #[test]
    fn what_has_no_times_is_that_of_the_account() {
        let mut result = result(WatchStage::Sockqueue, 20 * US, 10, 10 * US);
        result.plan.directions = vec![Direction::Tx];
        let (total, acknowledged) = (times(0, 0), times(0, 0));
        let account = WatchSendAccount { seen: 88, timed: 30, merged: 31, ..WatchSendAccount::default() };
        result.send =
            Some(WatchSend { total, stages: Vec::new(), acknowledged, account, datagram_calls: None });
        let reasons = verdict(&result).reasons;
        let why = reasons.iter().find(|reason| reason.text.contains("have no times")).unwrap();
        assert_eq!(
            why.text,
            "30.7 % of the sent messages have no times: 27 unsent of 88; 30 timed, 31 merged have times"
        );
    }

    #[test]
    fn what_found_no_room_comes_first_from_a_hundredth_of_the_messages_on() {
        let found = |refused| {
            let mut result = result(WatchStage::Sockqueue, 20 * US, 10, 10 * US);
            (result.account.seen, result.account.refused) = (1000, refused);
            findings(&result, None).iter().position(|finding| finding.seen.contains("find no room"))
        };
        assert_eq!([found(11), found(9), found(0)], [Some(0), Some(1), None]);
    }

    #[test]
    fn what_healthy_connections_drop_is_no_finding() {
        let found = |reason: &str, packets| {
            let mut result = result(WatchStage::Sockqueue, 20 * US, 10, 10 * US);
            result.account.seen = 10_000;
            result.drops = vec![WatchDrop { direction: Direction::Rx, reason: reason.into(), packets }];
            findings(&result, None).iter().any(|finding| finding.seen.contains("drops packets"))
        };
        assert_eq!([found("QDISC_DROP", 10), found("QDISC_DROP", 9)], [true, false]);
        assert!(!found("TCP_OLD_SEQUENCE", 10_000));
    }

    #[test]
    fn what_takes_a_cpu_from_whoever_has_it_is_a_finding_of_its_own() {
        let found = |holders: [(Holder, u64); 3]| {
            let mut result = result(WatchStage::Runqueue, 20 * US, 10, 10 * US);
            let holders = holders.into_iter().map(|(by, ns)| Held { by, ns }).collect();
            result.waits = CpuWaits { waited_ns: 100, holders };
            findings(&result, None)
        };
        let other = || Holder::Process { name: "other".into(), pid: 7, cgroup: None };
        let [of_stage, received] =
            &found([(other(), 60), (Holder::Softirqs, 30), (Holder::Interrupts, 10)])[..]
        else {
            panic!("two")
        };
        assert!(of_stage.remedy.contains("move other (pid 7) to other CPUs"), "{of_stage:?}");
        assert!(received.remedy.contains("rps_cpus"), "{received:?}");
        // They had 40 % of the waits, which are 95 % of the time.
        assert_eq!(
            received.evidence,
            "40.0 % of the time that its reading threads waited for a CPU, 38.1 % of the time of its messages"
        );
        // Where it had the CPU longest, nothing is gained by moving another.
        let [stolen] = &found([(Holder::Hypervisor, 60), (other(), 38), (Holder::Softirqs, 2)])[..] else {
            panic!("one")
        };
        assert!(stolen.remedy.contains("CPUs of its own"), "{stolen:?}");
        assert_eq!(found([(other(), 90), (Holder::Softirqs, 5), (Holder::Hypervisor, 5)]).len(), 1);
    }

    #[test]
    fn where_netfathom_had_the_cpu_longest_no_other_is_moved() {
        let mut result = result(WatchStage::Runqueue, 20 * US, 10, 10 * US);
        let other = Holder::Process { name: "other".into(), pid: 7, cgroup: None };
        let held = |by: &Holder, ns| Held { by: by.clone(), ns };
        result.waits =
            CpuWaits { waited_ns: 100, holders: vec![held(&Holder::Netfathom, 80), held(&other, 20)] };
        assert_eq!(findings(&result, None), []);
        result.waits.holders = vec![held(&Holder::Netfathom, 4), held(&other, 3)];
        assert_eq!(findings(&result, None).len(), 1, "of so little the verdict does not name netfathom");
        result.waits.holders = vec![held(&Holder::Netfathom, 80), held(&other, 20)];
        result.waits.holders.reverse();
        assert_eq!(findings(&result, None).len(), 1);
        // The verdict names netfathom: it had 80 % of the wait, which is 95 % of the time.
        let named = |result: &WatchResult| {
            let reasons = verdict(result).reasons;
            reasons.into_iter().find(|reason| reason.text.starts_with("netfathom itself")).map(|r| r.text)
        };
        assert!(named(&result).is_some_and(|why| why.contains("waited for, 76.2 % of the time to receive")));
        result.total.sum_ns = 0;
        assert_eq!(named(&result), None);
    }
}
