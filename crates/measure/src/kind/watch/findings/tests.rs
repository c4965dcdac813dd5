//! What is worth a word, and in which order.

use netfathom_model::path::Direction;
use netfathom_model::plan::WatchPlan;
use netfathom_model::record::{
    CpuWaits, Held, Holder, WatchDrop, WatchSend, WatchSendAccount, WatchedProcess, WatchedStage,
};

use super::*;
use crate::ground::environment::cgroup::raise_quota;
use crate::kind::watch::judge::verdict;
use crate::kind::watch::{distribution, empty};

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
    let mut result = empty(&plan, None);
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
    let sockqueue = |each_ns, woken| findings(&result(WatchStage::Sockqueue, each_ns, woken, 10 * US), None);
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
fn what_has_no_times_is_that_of_the_account() {
    let mut result = result(WatchStage::Sockqueue, 20 * US, 10, 10 * US);
    result.plan.directions = vec![Direction::Tx];
    let (total, acknowledged) = (times(0, 0), times(0, 0));
    let account = WatchSendAccount { seen: 88, timed: 30, merged: 31, ..WatchSendAccount::default() };
    result.send = Some(WatchSend { total, stages: Vec::new(), acknowledged, account, datagram_calls: None });
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
        result.send = Some(WatchSend {
            total: times(10, nagle_ns),
            stages: vec![WatchedStage { stage: WatchStage::Nagle, times: times(10, nagle_ns) }],
            acknowledged: times(0, 0),
            account: WatchSendAccount::default(),
            datagram_calls: None,
        });
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
    let [finding] = &findings(&result, None)[..] else { panic!("one") };
    assert_eq!(
        finding.cause,
        "cc1 (30 processes) had the CPU for 60.0 % of the time that its reading threads waited"
    );
    let moved = "start what runs cc1 (30 processes) with taskset -c CPUS (a list such as 0, ";
    assert!(finding.remedy.starts_with(moved), "{finding:?}");
    result.reader = Some(WatchedProcess { pid: 5, name: "cc1".into() });
    let [finding] = &findings(&result, None)[..] else { panic!("one") };
    assert!(finding.cause.starts_with("cc1 (30 processes), of the same name, had the CPU"), "{finding:?}");
    assert!(finding.remedy.contains("otherwise start what runs cc1 (30 processes) "), "{finding:?}");
    // The clients had little of it.
    result.waits.holders = [(7, 1), (8, 64), (9, 1)].map(|(pid, ns)| held(named("cc1", pid), ns)).into();
    let [finding] = &findings(&result, None)[..] else { panic!("one") };
    assert!(finding.cause.starts_with("cc1 (3 processes, mostly pid 8), of the same name,"), "{finding:?}");
    assert!(finding.remedy.contains("move cc1 (pid 8) to other CPUs (taskset -acp CPUS 8;"), "{finding:?}");
    result.waits.holders = vec![held(named("init", 1), 60)];
    assert_eq!(findings(&result, None)[0].remedy, "give the application a CPU of its own (taskset, cpuset)");
    result.waits.holders = vec![held(Holder::Quota, 60)];
    assert_eq!(findings(&result, None)[0].remedy, raise_quota(Some(5)));
    result.waits.holders = vec![held(Holder::Unnumbered { name: "cc1".into() }, 60)];
    let [finding] = &findings(&result, None)[..] else { panic!("one") };
    assert!(finding.cause.starts_with("cc1 (no PID here) had the CPU for 60.0 %"), "{finding:?}");
    assert!(finding.remedy.contains("hostPID: true") && !finding.remedy.contains("-acp"), "{finding:?}");
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
