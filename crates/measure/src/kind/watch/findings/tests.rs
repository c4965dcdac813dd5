//! What is worth a word, and in which order.

use netfathom_model::path::Direction;
use netfathom_model::plan::WatchPlan;
use netfathom_model::record::{
    CpuWaits, Distribution, Held, Holder, SocketWay, WatchDrop, WatchSampling, WatchSend, WatchSendAccount,
    WatchSocket, WatchUser, WatchedProcess, WatchedStage, WatchedSum,
};
use netfathom_model::verdict::Level;

use super::*;
use crate::kind::watch::empty;
use crate::kind::watch::judge::verdict;

const US: i64 = 1000;

pub(super) fn times(n: u64, each_ns: i64) -> Distribution {
    let mut times = netfathom_stats::Distribution::new(5);
    (0..n).for_each(|_| times.add(each_ns));
    (&times).into()
}

/// A hundred messages in a stage, and those that waited for a wake-up.
pub(super) fn result(stage: WatchStage, each_ns: i64, woken: u64, wakeup_ns: i64) -> WatchResult {
    let plan = WatchPlan::new(WatchTarget::Port(1), vec![Direction::Rx]);
    let mut result = empty(&plan, None);
    result.stages = vec![
        WatchedStage { stage: WatchStage::Wakeup, times: times(woken, wakeup_ns) },
        WatchedStage { stage, times: times(100, each_ns) },
    ];
    result.total = times(100, each_ns + wakeup_ns * woken as i64 / 100);
    (result.account.timed, result.account.threads) = (100, 1);
    result
}

fn only(result: &WatchResult) -> Finding {
    let [finding] = &findings(result, None)[..] else { panic!("one") };
    finding.clone()
}

pub(super) fn sent(total: Distribution, stages: Vec<WatchedStage>, account: WatchSendAccount) -> WatchSend {
    WatchSend { total, stages, acknowledged: times(0, 0), account, datagram_calls: None }
}

#[test]
fn more_threads_are_advised_only_where_the_wait_is_longer_than_a_wake_up() {
    let sockqueue = |each_ns, woken| findings(&result(WatchStage::Sockqueue, each_ns, woken, 10 * US), None);
    assert_eq!(sockqueue(9 * US, 10), []);
    let longer = only(&result(WatchStage::Sockqueue, 20 * US, 10, 10 * US));
    assert!(longer.remedy.contains("more threads"), "{longer:?}");
    assert!(longer.evidence.ends_with(", 20.0 µs a message on average"), "{longer:?}");
    let mut polled = result(WatchStage::Sockqueue, 20 * US, 10, 10 * US);
    (polled.account.seen, polled.account.unstamped) = (100, 30);
    assert!(only(&polled).remedy.contains("between two reads"), "a reader that polls has no use for more");
    // It is never asleep.
    assert_eq!(sockqueue(9 * US, 0).len(), 1);
    let mut few = result(WatchStage::Sockqueue, 20 * US, 10, 10 * US);
    few.total = times(FEWEST - 1, 21 * US);
    assert_eq!(findings(&few, None), []);
}

#[test]
fn what_a_reader_did_that_is_not_known_is_not_called_busy() {
    let seen = |long| {
        let mut result = result(WatchStage::Sockqueue, 20 * US, 10, 10 * US);
        result.account.long = long;
        let seen: Vec<String> = findings(&result, None).into_iter().map(|finding| finding.seen).collect();
        (seen.len(), seen[0].contains("busy"))
    };
    assert_eq!([0, 5, 6].map(seen), [(1, true), (2, true), (2, false)]);
}

#[test]
fn messages_with_more_bytes_than_were_read_are_never_valid() {
    let level = |bytes_timed| {
        let mut result = result(WatchStage::Sockqueue, 20 * US, 10, 10 * US);
        (result.account.seen, result.account.bytes_read) = (100, 400);
        result.account.bytes_timed = bytes_timed;
        let sampled = WatchResult { sampling: Some(WatchSampling::default()), ..result.clone() };
        [result, sampled].map(|result| verdict(&result).level)
    };
    assert_eq!(level(400), [Level::Valid; 2]);
    assert_eq!(level(401), [Level::Degraded, Level::Valid]);
    assert_eq!(level(441), [Level::Void, Level::Valid]);
}

#[test]
fn a_reader_is_stopped_if_that_is_most_of_blocked() {
    let of = |stopped_ns| {
        let mut result = result(WatchStage::Blocked, 20 * US, 0, 0);
        result.account.stopped_ns = stopped_ns;
        only(&result)
    };
    let (most, half, none) = (of(1_500_000), of(1_000_000), of(0));
    assert!(most.seen.ends_with("reader is stopped"), "{most:?}");
    assert!(most.cause.contains(": 1.50 ms of 2.00 ms blocked"), "{most:?}");
    assert!(half.seen.ends_with("something else"), "{half:?}");
    assert!(half.cause.contains("for 1.00 ms of 2.00 ms"), "{half:?}");
    assert!(none.cause.ends_with("another process"), "{none:?}");
}

#[test]
fn threads_that_share_sockets_are_to_be_more_first() {
    let remedy = |threads| {
        let mut result = result(WatchStage::Blocked, 20 * US, 0, 0);
        result.account.threads = threads;
        result.sockets = vec![WatchSocket::default(); 3];
        only(&result).remedy
    };
    let more = "give it more threads or processes";
    assert!(remedy(2).starts_with(&format!("{more} (threads that read: 2, sockets: 3); if it ")));
    let each = remedy(3);
    assert!(each.starts_with("if it does not sleep on purpose, ") && each.contains(more), "{each}");
}

#[test]
fn what_takes_a_trifle_of_the_time_until_an_answer_is_no_finding() {
    let long = || Some(times(FEWEST, 10_000 * US));
    let found = |sockqueue_us: i64, change: &dyn Fn(&mut WatchResult)| {
        let mut result = result(WatchStage::Sockqueue, sockqueue_us * US, 0, 0);
        change(&mut result);
        findings(&result, None).len()
    };
    let own = |of: &mut WatchResult| of.application = long();
    let others = |of: &mut WatchResult| of.answer = long();
    assert_eq!([found(499, &own), found(501, &own)], [0, 1]);
    assert_eq!([found(499, &others), found(501, &others)], [0, 1]);
    let few = |of: &mut WatchResult| of.application = Some(times(FEWEST - 1, 10_000 * US));
    let host = |of: &mut WatchResult| (of.application, of.plan.target) = (long(), WatchTarget::All);
    assert_eq!([found(499, &few), found(499, &host)], [1, 1]);
}

/// The finding of a closed window, of a receiver that never had a wider one.
fn closed(target: WatchTarget, receiver: Option<u16>, receiver_window: u64) -> Finding {
    let mut result = result(WatchStage::Sockqueue, 0, 0, 0);
    let stages = vec![WatchedStage { stage: WatchStage::Rwnd, times: times(10, 20 * US) }];
    result.plan.target = target;
    let account = WatchSendAccount { receiver_window, ..WatchSendAccount::default() };
    result.send = Some(sent(times(10, 25 * US), stages, account));
    let [finding] = &findings(&result, receiver)[..] else { panic!("one") };
    finding.clone()
}

#[test]
fn a_receive_buffer_is_small_if_its_window_never_was_that_of_a_new_connection() {
    let of = |window| closed(WatchTarget::Port(1), None, window);
    let small = of(16_384);
    assert!(small.cause.starts_with("the receiver's window was never larger than 16.0 KiB:"), "{small:?}");
    assert!(small.remedy.contains("SO_RCVBUF"), "{small:?}");
    // A record from before it was read has none.
    for window in [0, 64_240] {
        assert!(of(window).cause.starts_with("the receiver reads slower"), "{window}");
    }
}

/// What to do about a closed window, of an application that connects to one port or to several.
#[test]
fn who_does_not_read_is_watched_by_what_is_known_of_it() {
    let remedy = |target, receiver| closed(target, receiver, 0).remedy;
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
fn a_run_that_ends_with_its_processes_shows_after_what_time() {
    let seen = |target, time_ns| {
        let mut result = result(WatchStage::Sockqueue, 0, 0, 0);
        (result.plan.target, result.plan.time_ns, result.watched_ns) = (target, time_ns, 1_720_000_000);
        ended(&result).seen
    };
    let pid = seen(WatchTarget::Process(7), Some(10_000_000_000));
    assert_eq!(pid, "the run ended after 1.72 s of 10.0 s, as process 7 ended");
    let name = seen(WatchTarget::Name("redis-server".into()), None);
    assert_eq!(name, "the run ended after 1.72 s, as the last process of redis-server ended");
}

#[test]
fn processes_with_unix_sockets_alone_are_watched_again_without_a_port() {
    let remedy = |target, stage, unix| {
        let mut result = result(stage, 20 * US, 0, 0);
        (result.plan.target, result.plan.unix) = (target, unix);
        result.reader = Some(WatchedProcess { pid: 7, name: "redis-server".into() });
        ended(&result).remedy
    };
    let quoted = remedy(WatchTarget::Name("Web Content".into()), WatchStage::Sockqueue, Some(true));
    assert!(quoted.ends_with(": `netfathom watch 'Web Content' --unix`"), "{quoted}");
    let (by_pid, by_name) = (WatchTarget::Process(7), WatchTarget::Container("cache".into()));
    let unix = remedy(by_pid.clone(), WatchStage::Sockqueue, Some(true));
    assert!(unix.ends_with(": `netfathom watch redis-server --unix`"), "{unix}");
    let unix = remedy(by_name, WatchStage::Sockqueue, Some(true));
    assert!(unix.ends_with(" --container cache --unix`"), "{unix}");
    for (stage, unix) in [(WatchStage::Protocol, Some(true)), (WatchStage::Sockqueue, None)] {
        assert!(remedy(by_pid.clone(), stage, unix).ends_with(" --port PORT`"));
    }
}

#[test]
fn what_has_no_times_is_that_of_the_account() {
    let mut result = result(WatchStage::Sockqueue, 20 * US, 10, 10 * US);
    result.plan.directions = vec![Direction::Tx];
    let account = WatchSendAccount { seen: 88, timed: 30, merged: 31, ..WatchSendAccount::default() };
    result.send = Some(sent(times(0, 0), Vec::new(), account));
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
fn a_used_up_quota_comes_before_what_found_no_room() {
    let first = |quota| {
        let mut result = result(WatchStage::Runqueue, 20 * US, 10, 10 * US);
        (result.account.seen, result.account.refused) = (1000, 160);
        let other = Holder::Process { name: "other".into(), pid: 7, cgroup: None };
        let holders = [(Holder::Quota, quota), (other, 100 - quota)].map(|(by, ns)| Held { by, ns });
        result.waits = CpuWaits { waited_ns: 100, holders: holders.into() };
        findings(&result, None)[0].seen.clone()
    };
    assert_eq!(first(90), "messages wait as their reader waits for a CPU");
    assert!(first(10).starts_with("messages find no room"));
}

#[test]
fn of_several_processes_advice_names_the_one_with_most_of_the_stage() {
    let mut result = result(WatchStage::Blocked, 20 * US, 0, 0);
    result.plan.target = WatchTarget::All;
    let socket = |pid, sum_ns| {
        let process = Some(WatchedProcess { pid, name: "python3".into() });
        let stages = vec![WatchedSum { stage: WatchStage::Blocked, sum_ns }];
        let receive = SocketWay { stages, ..SocketWay::default() };
        WatchSocket { process, receive, ..WatchSocket::default() }
    };
    result.sockets = vec![socket(7, 30), socket(8, 40), socket(7, 30)];
    let finding = only(&result);
    assert!(finding.remedy.contains("`strace -f -T -p 7`"), "{finding:?}");
    assert!(finding.evidence.ends_with("; 60.0 % of it in sockets of python3 (pid 7)"), "{finding:?}");
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
fn sockets_that_were_found_late_lower_the_verdict_by_their_part_of_the_time() {
    let is_lowered = |(late_looks, udp, seconds): (_, _, u64)| {
        let mut result = result(WatchStage::Sockqueue, 20 * US, 10, 10 * US);
        (result.late_looks, result.account.udp) = (late_looks, udp);
        result.watched_ns = seconds * 1_000_000_000;
        verdict(&result).reasons.iter().any(|reason| reason.text.contains("not found yet"))
    };
    assert_eq!(
        [(0, 1, 10), (1, 1, 10), (1, 0, 10), (1, 1, 30), (2, 1, 30)].map(is_lowered),
        [false, true, false, false, true]
    );
}

#[test]
fn missed_events_lower_the_verdict_by_their_part_of_the_messages() {
    let is_lowered = |missed| {
        let mut result = result(WatchStage::Sockqueue, 20 * US, 10, 10 * US);
        (result.account.seen, result.account.bytes_outside) = (100, 10_000);
        result.account.missed_events = missed;
        verdict(&result).reasons.iter().any(|reason| reason.text.contains("missed events"))
    };
    assert_eq!([5, 6].map(is_lowered), [false, true]);
}

#[test]
fn what_the_kernel_dropped_is_why_no_message_came() {
    let mut result = result(WatchStage::Sockqueue, 0, 0, 0);
    let reason = "NETFILTER_DROP".into();
    result.drops = vec![WatchDrop { direction: Direction::Rx, reason, packets: 2000 }];
    let reasons = verdict(&result).reasons;
    let why = reasons.iter().find(|reason| reason.text.starts_with("no message came")).unwrap();
    let dropped = "the kernel dropped 2,000 rx NETFILTER_DROP: a rule of netfilter drops them; `nft list";
    assert!(why.text.contains(dropped), "{}", why.text);
}

#[test]
fn a_port_without_a_server_is_why_no_message_came_within_a_budget_too() {
    let mut result = result(WatchStage::Sockqueue, 0, 0, 0);
    result.sampling = Some(WatchSampling::default());
    let reasons = verdict(&result).reasons;
    let why = reasons.iter().find(|reason| reason.text.starts_with("no message came")).unwrap();
    assert!(why.text.contains("no server has port 1 in this network namespace"), "{}", why.text);
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
    let [of_stage, received] = &found([(other(), 60), (Holder::Softirqs, 30), (Holder::Interrupts, 10)])[..]
    else {
        panic!("two")
    };
    assert!(of_stage.remedy.contains("move other (pid 7) to other CPUs"), "{of_stage:?}");
    assert!(
        of_stage.remedy.contains("leave a client that waits for each answer where it is"),
        "{of_stage:?}"
    );
    assert!(received.remedy.contains("rps_cpus"), "{received:?}");
    // Both had 40 % of the waits, which are 95 % of the time.
    assert_eq!(
        received.evidence,
        "softirqs 30.0 % and interrupts 10.0 % of the time that its reading threads waited for a CPU, 38.1 % of the time of its messages"
    );
    // Where it had the CPU longest, nothing is gained by moving another.
    let [stolen] = &found([(Holder::Hypervisor, 60), (other(), 38), (Holder::Softirqs, 2)])[..] else {
        panic!("one")
    };
    assert!(stolen.remedy.contains("CPUs of its own"), "{stolen:?}");
    assert_eq!(found([(other(), 90), (Holder::Softirqs, 5), (Holder::Hypervisor, 5)]).len(), 1);
}

#[test]
fn what_takes_longest_comes_first_in_whichever_direction() {
    let first = |nagle_ns| {
        // It takes two thirds of the time to receive, the other stage all of the time to send.
        let mut result = result(WatchStage::Lock, 20 * US, 100, 10 * US);
        let stages = vec![WatchedStage { stage: WatchStage::Nagle, times: times(10, nagle_ns) }];
        result.send = Some(sent(times(10, nagle_ns), stages, WatchSendAccount::default()));
        findings(&result, None)[0].seen.clone()
    };
    assert_eq!(first(5 * US), "messages wait as a system call has their socket");
    assert!(first(40 * US).starts_with("Nagle's algorithm"));
}

#[test]
fn processes_of_one_name_are_one_holder() {
    let named = |name: &str, pid| Holder::Process { name: name.into(), pid, cgroup: None };
    let held = |by, ns| Held { by, ns };
    let many = (100..130).map(|pid| held(named("cc1", pid), 2));
    let holders = [held(Holder::Netfathom, 30), held(named("tar", 7), 10)].into_iter().chain(many);
    let mut result = result(WatchStage::Runqueue, 20 * US, 10, 10 * US);
    result.waits = CpuWaits { waited_ns: 100, holders: holders.collect() };
    let finding = only(&result);
    assert_eq!(
        finding.cause,
        "cc1 (30 processes) had the CPU for 60.0 % of the time that its reading threads waited"
    );
    let moved = "start what runs cc1 (30 processes) with taskset -c CPUS (a list such as 0, ";
    assert!(finding.remedy.starts_with(moved), "{finding:?}");
    result.reader = Some(WatchedProcess { pid: 5, name: "cc1".into() });
    let finding = only(&result);
    assert!(finding.cause.starts_with("cc1 (30 processes), of the same name, had the CPU"), "{finding:?}");
    assert!(finding.remedy.contains("otherwise start what runs cc1 (30 processes) "), "{finding:?}");
    // The clients had little of it.
    result.waits.holders = [(7, 1), (8, 64), (9, 1)].map(|(pid, ns)| held(named("cc1", pid), ns)).into();
    let finding = only(&result);
    assert!(finding.cause.starts_with("cc1 (3 processes, mostly pid 8), of the same name,"), "{finding:?}");
    assert!(finding.remedy.contains("move cc1 (pid 8) to other CPUs (`taskset -acp CPUS 8`;"), "{finding:?}");
    result.waits.holders = vec![held(named("init", 1), 60)];
    assert_eq!(findings(&result, None)[0].remedy, "give the application a CPU of its own (taskset, cpuset)");
    result.waits.holders = vec![held(Holder::Quota, 60)];
    // No process has that PID, so the file of its quota is unknown.
    result.reader = Some(WatchedProcess { pid: u32::MAX, name: "cc1".into() });
    assert_eq!(
        findings(&result, None)[0].remedy,
        "raise the CPU quota of its cgroup (cpu.max, or cpu.cfs_quota_us of cgroup version 1)"
    );
    result.waits.holders = vec![held(Holder::Unnumbered { name: "cc1".into() }, 60)];
    let finding = only(&result);
    assert!(finding.cause.starts_with("cc1 (no PID here) had the CPU for 60.0 %"), "{finding:?}");
    assert!(finding.remedy.contains("hostPID: true") && !finding.remedy.contains("-acp"), "{finding:?}");
}

#[test]
fn an_application_is_not_moved_away_from_itself() {
    let remedy = |target, holders: [(u32, u64); 2]| {
        let mut result = result(WatchStage::Runqueue, 20 * US, 10, 10 * US);
        let python = |pid| Holder::Process { name: "python3".into(), pid, cgroup: None };
        let holders = holders.map(|(pid, ns)| Held { by: python(pid), ns }).into();
        result.waits = CpuWaits { waited_ns: 100, holders };
        result.plan.target = target;
        result.reader = Some(WatchedProcess { pid: 7, name: "python3".into() });
        findings(&result, None)[0].remedy.clone()
    };
    let own = "give the application more CPUs, or run fewer of its threads or processes at a time";
    assert_eq!(remedy(WatchTarget::Process(7), [(7, 60), (8, 10)]), own);
    assert_eq!(remedy(WatchTarget::Name("python3".into()), [(8, 60), (9, 10)]), own);
    let of_the_name = remedy(WatchTarget::Process(7), [(7, 10), (8, 60)]);
    assert!(of_the_name.starts_with("if part of the application, "), "{of_the_name}");
}

#[test]
fn advice_names_the_process_that_was_seen_nearly_always_or_all_that_were() {
    let remedy = |pids: &[u32]| {
        let mut result = result(WatchStage::Blocked, 20 * US, 10, 10 * US);
        for &pid in pids {
            WatchUser::add(&mut result.users, WatchedProcess { pid, name: "postgres".into() });
        }
        result.reader = result.users.first().map(|of| of.process.clone());
        findings(&result, None)[0].remedy.clone()
    };
    let is_of = |pids: &[u32], pid: &str| assert!(remedy(pids).contains(&format!("-p {pid}`)")), "{pids:?}");
    is_of(&[7], "7");
    is_of(&[7, 8, 9, 8], "7,8,9");
    is_of(&[1, 2, 3, 4, 5, 6, 7, 8, 9], "1,2,3,4,5,6,7,8");
    is_of(&[], "PID");
    is_of(&[7, 8, 8, 8, 8, 8, 8, 8, 8, 8], "8");
}

#[test]
fn where_netfathom_had_the_cpu_longest_no_other_is_moved() {
    let mut result = result(WatchStage::Runqueue, 20 * US, 10, 10 * US);
    let other = Holder::Process { name: "other".into(), pid: 7, cgroup: None };
    let held = |by: &Holder, ns| Held { by: by.clone(), ns };
    result.waits = CpuWaits { waited_ns: 100, holders: vec![held(&Holder::Netfathom, 80), held(&other, 20)] };
    assert_eq!(findings(&result, None), []);
    result.waits.holders = vec![held(&Holder::Netfathom, 4), held(&other, 3)];
    assert_eq!(findings(&result, None).len(), 1, "of so little the verdict does not name netfathom");
    result.waits.holders = vec![held(&Holder::Netfathom, 20), held(&other, 80)];
    assert_eq!(findings(&result, None).len(), 1);
    result.waits.holders = vec![held(&Holder::Netfathom, 80), held(&other, 20)];
    // The verdict names netfathom: it had 80 % of the wait, which is 95 % of the time.
    let named = |result: &WatchResult| {
        let reasons = verdict(result).reasons;
        reasons.into_iter().find(|reason| reason.text.starts_with("netfathom itself")).map(|r| r.text)
    };
    assert!(named(&result).is_some_and(|why| why.contains("waited for, 76.2 % of the time to receive")));
    result.total.sum_ns = 0;
    assert_eq!(named(&result), None);
}
