use netfathom_model::accounting::FateCount;
use netfathom_model::record::{Contention, Distribution, Held, Refused, Series};
use netfathom_model::verdict::Reason;
use netfathom_testkit::needs;

use super::*;

fn load(waited_ns: u64, by: Holder, stolen_ns: u64) -> Load {
    let distribution = Distribution::from(&netfathom_stats::Distribution::new(5));
    let holders = vec![Held { by: Holder::Idle, ns: 1 }, Held { by, ns: waited_ns }];
    Load {
        planned: 1,
        sent: 1,
        refused: Vec::new(),
        unsent: 0,
        missed_slots: 0,
        span_ns: 0,
        lag: distribution.clone(),
        lag_p99_of_interval: 0.0,
        send_call: distribution,
        series: Series::default(),
        contention: vec![Contention {
            thread: LoadThread::Sender,
            cpu: 1,
            span_ns: 1000,
            waited_ns,
            holders,
            stolen_ns,
            interrupts: Vec::new(),
            stopped_ns: 0,
            blocked_ns: 0,
        }],
    }
}

#[test]
fn a_few_trials_may_break_a_rule_with_room_where_that_is_allowed() {
    let rules = [
        Rule::degraded(1.0, |lag: &f64| *lag, no_number, "late"),
        Rule::void(0.0, |lag: &f64| flag(*lag > 9.0), no_number, "does not add up"),
    ];
    let level = |bad: &[f64], spared| {
        let all: Vec<f64> = bad.iter().copied().chain(std::iter::repeat_n(0.5, 10 - bad.len())).collect();
        let mut verdict = Verdict::default();
        lower_beyond(&mut verdict, &[Part::Rx], &rules, &all.iter().collect::<Vec<_>>(), spared);
        verdict.of(Part::Rx)
    };
    assert_eq!([level(&[2.0], 0.1), level(&[2.0], 0.0)], [Level::Valid, Level::Degraded]);
    assert_eq!([level(&[2.0, 2.0], 0.1), level(&[10.0], 0.1)], [Level::Degraded, Level::Void]);
}

#[test]
fn two_limits_make_one_reason() {
    let rules = [Rule::degraded(1.0, |lag: &f64| *lag, count, "late by {}").void_beyond(10.0)];
    let judged = |lags: &[f64]| {
        let mut verdict = Verdict::default();
        lower(&mut verdict, &[], &rules, &lags.iter().collect::<Vec<_>>());
        let [reason] = &verdict.reasons[..] else { panic!("{verdict:?}") };
        (reason.level, reason.text.clone())
    };
    assert_eq!(judged(&[2.0, 0.0, 20.0, 20.0]), (Level::Void, "3 of 4 trials: late by up to 20".into()));
    assert_eq!(judged(&[2.0, 0.0, 0.0, 20.0]), (Level::Degraded, "2 of 4 trials: late by up to 20".into()));
    assert_eq!(judged(&[2.0, 0.0]), (Level::Degraded, "1 of 2 trials: late by 2".into()));
}

struct Sent(Load, Accounting);

impl Judged for Sent {
    fn load(&self) -> &Load {
        &self.0
    }

    fn accounting(&self) -> &Accounting {
        &self.1
    }
}

/// A sender that never had its CPU is as one that was late with all; nothing of it was lost.
#[test]
fn a_trial_without_a_message_is_one_of_many() {
    let rustc = Holder::Process { name: "rustc".into(), pid: 3121, cgroup: None };
    let trial = |sent| {
        let load = Load { sent, unsent: 1 - sent, ..load(900, rustc.clone(), 0) };
        let accounting = Accounting {
            sent,
            fates: vec![FateCount { fate: Fate::Delivered, count: sent }],
            ..Accounting::default()
        };
        Sent(load, accounting)
    };
    let (good, none) = (trial(1), trial(0));
    let of = |trials: &[&Sent]| run(&load_rules(), trials, 1);
    let verdict = of(&[&good, &good, &good, &none]);
    let reasons: Vec<&str> = verdict.reasons.iter().map(|reason| reason.text.as_str()).collect();
    assert_eq!((verdict.level, reasons.len()), (Level::Degraded, 1), "{reasons:?}");
    assert!(reasons[0].starts_with("1 of 4 trials: nothing was sent: "), "{reasons:?}");
    assert!(reasons[0].contains("rustc (pid 3121)"), "{reasons:?}");
    assert_eq!(of(&[&none]).level, Level::Void);
}

#[test]
fn the_advice_against_losses_names_where_most_ended() {
    let advised = |fates: &[(Fate, u64)]| {
        let fates = fates.iter().map(|(fate, count)| FateCount { fate: fate.clone(), count: *count });
        let accounting = Accounting { sent: 100, fates: fates.collect(), ..Accounting::default() };
        against_loss(&[&Sent(load(0, Holder::Idle, 0), accounting)])
    };
    let of =
        |fate, count| advised(&[(Fate::Delivered, 60), (fate, count), (Fate::SocketBufferFull, 40 - count)]);
    assert!(of(Fate::QueueDrop, 21).contains("a queue of this host dropped them"));
    assert!(of(Fate::ChecksumError, 21).contains("checksums were wrong"));
    assert!(of(Fate::OnTheWay, 21).contains("find where they are dropped"));
    assert_eq!(of(Fate::QueueDrop, 20), "lower the rate");
}

#[test]
fn the_advice_against_refusals_names_the_error_that_most_had() {
    let of = |denied, full| {
        let mut load = load(0, Holder::Idle, 0);
        let named = [("EPERM", denied), ("ENOBUFS", full)];
        load.refused = named.map(|(error, count)| Refused { error: error.into(), count }).into();
        against_refusal(&[&Sent(load, Accounting::default())])
    };
    assert!(of(2, 1).starts_with("a rule drops them (EPERM)"));
    assert_eq!(of(1, 2), "lower the rate (ENOBUFS)");
}

/// A process held the CPU for 1 % of the time: enough for 5 % of missed send slots, not for 20 %.
#[test]
fn a_load_that_was_late_and_uneven_has_one_advice() {
    let rustc = Holder::Process { name: "rustc".into(), pid: 3121, cgroup: None };
    for (missed_slots, is_why) in [(50, true), (200, false)] {
        let sent =
            Load { planned: 1000, missed_slots, lag_p99_of_interval: 2.0, ..load(10, rustc.clone(), 0) };
        let mut verdict = Verdict::default();
        lower(&mut verdict, &[], &lateness_rules::<Sent>(), &[&Sent(sent, Accounting::default())]);
        let names = |reason: &Reason| reason.text.contains("rustc (pid 3121)");
        assert_eq!(verdict.reasons.len(), 2, "{verdict:?}");
        assert!(verdict.reasons.iter().all(|reason| names(reason) == is_why), "{verdict:?}");
    }
}

#[test]
fn the_limit_of_missed_slots_changes_no_advice() {
    let rustc = Holder::Process { name: "rustc".into(), pid: 3121, cgroup: None };
    let advice = |waited_ns, missed| free_sender([load(waited_ns, rustc.clone(), 0)].iter(), missed);
    for waited_ns in [0, 3] {
        let [below, beyond] = [0.9, 1.1].map(|of| advice(waited_ns, of * MOST_MISSED));
        assert_eq!((below.contains("rustc (pid 3121)"), below), (waited_ns > 0, beyond));
    }
}

#[test]
fn the_advice_names_whoever_had_the_processor_of_the_sender() {
    let named = |name: &str, pid| Holder::Process { name: name.into(), pid, cgroup: None };
    let rustc = || named("rustc", 3121);
    let advised = |loads: &[Load], least| {
        occupied(loads.iter().flat_map(|load| &load.contention), &[LoadThread::Sender], least)
    };
    let advice = |waited_ns, by, stolen_ns| advised(&[load(waited_ns, by, stolen_ns)], 0.005);
    let stop = |who| Some(format!("stop {who} on CPU 1"));
    assert_eq!(advice(300, rustc(), 10), stop("rustc (pid 3121)"));
    let in_turn = Some("run one at a time, or on CPUs of their own: another netfathom (pid 5) had CPU 1");
    assert_eq!(advice(300, named("netfathom", 5), 10).as_deref(), in_turn);
    assert_eq!(advice(2, rustc(), 0), None);
    assert_eq!(advice(0, rustc(), 0), None);
    let stolen = Some("move the load (--cpu): the hypervisor had CPU 1");
    assert_eq!(advice(2, rustc(), 10).as_deref(), stolen);
    assert_eq!(advice(300, Holder::Hypervisor, 0).as_deref(), stolen);
    let quota = advice(300, Holder::Quota, 0).unwrap();
    assert!(
        quota.starts_with("raise the CPU quota of its cgroup") && quota.ends_with(": netfathom used it up"),
        "{quota}"
    );
    assert_eq!(advised(&[load(3, rustc(), 0)], 0.04), None, "it is not why 40 % were missed");
    let qemu = || named("qemu", 4);
    let missed = |loads: &[Load]| free_sender(loads.iter(), 0.4);
    assert!(missed(&[load(3, rustc(), 0), load(500, rustc(), 0)]).contains("rustc"));
    assert_eq!(missed(&[load(3, rustc(), 0)]), NO_ONE_HAD_IT, "no priority helps a sender that has its CPU");
    let one = [load(300, rustc(), 0), load(0, rustc(), 0), load(0, rustc(), 0), load(0, rustc(), 0)];
    assert!(free_sender(one.iter(), 1.0).contains("rustc"), "it explains the worst trial");
    let unfollowed = Load { contention: Vec::new(), ..load(3, rustc(), 0) };
    assert!(missed(&[unfollowed]).starts_with(&priority()));
    let trials = [load(300, rustc(), 0), load(200, qemu(), 0), load(200, qemu(), 0)];
    assert_eq!(advised(&trials, 0.005), stop("qemu (pid 4)"), "of all trials");
    let many = [load(200, rustc(), 0), load(300, qemu(), 0), load(200, Holder::Others, 0)];
    let of_many = match is_before_others() {
        true => stop("qemu (pid 4)"),
        false => Some(format!("{}: qemu (pid 4) and others had CPU 1", priority())),
    };
    assert_eq!(advised(&many, 0.005), of_many, "to stop one of many helps little");
    let of_rustc = |pid| load(200, named("rustc", pid), 0);
    let several = [load(300, qemu(), 0), of_rustc(3121), of_rustc(3122)];
    assert_eq!(advised(&several, 0.005), stop("rustc (pids 3121, 3122)"), "together they had most");
    let of_bash = |(ns, pid)| load(ns, named("bash", pid), 0);
    let shells: Vec<Load> = [20, 900, 30].into_iter().zip(7..).map(of_bash).collect();
    assert_eq!(advised(&shells, 0.005), stop("bash (pid 8)"), "the others hardly matter");
    let equal: Vec<Load> = (7..14).map(|pid| of_bash((200, pid))).collect();
    let of_equal = Some(format!("{}: bash (7 processes) had CPU 1", priority()));
    assert_eq!(advised(&equal, 0.005), of_equal, "not all shells of the host");
    let runs: Vec<Load> = (7..14).map(|pid| load(200, named("netfathom", pid), 0)).collect();
    let of_runs = Some(format!("{}: another netfathom (7 processes) had CPU 1", priority()));
    assert_eq!(advised(&runs, 0.005), of_runs);
    assert!(!advice(300, named("init", 1), 10).unwrap().contains("stop"), "no machine goes on without it");
}

#[test]
fn a_stopped_sender_needs_no_lower_rate() {
    let rustc = || Holder::Process { name: "rustc".into(), pid: 3121, cgroup: None };
    let missed = |stopped_ns| {
        let mut load = load(300, rustc(), 0);
        load.contention[0].stopped_ns = stopped_ns;
        free_sender([load, self::load(0, rustc(), 0)].iter(), 0.4)
    };
    let stopped = missed(500);
    assert!(stopped.starts_with("repeat the run: ") && stopped.contains("stopped the sender"), "{stopped}");
    assert!(missed(200).contains("rustc"), "it took more than the stop");
}

/// The policy is that of the process, so the test runs itself again under each.
#[test]
fn chrt_is_advised_exactly_where_it_is_not_in_force() {
    const POLICY: &str = "NETFATHOM_TEST_POLICY";
    const ITSELF: &str = "load::judge::tests::chrt_is_advised_exactly_where_it_is_not_in_force";
    if let Ok(policy) = std::env::var(POLICY) {
        let advice = [priority(), advice_of_others()];
        let named = advice.map(|advice| advice.contains("chrt -f 50"));
        assert_eq!(named, [policy == "-o"; 2], "under chrt {policy}");
        return;
    }
    let itself = std::env::current_exe().unwrap();
    for (policy, priority) in [("-o", "0"), ("-f", "50")] {
        let under = |program: &std::path::Path, args: &[&str]| {
            let mut chrt = std::process::Command::new("chrt");
            let ended = chrt.args([policy, priority]).arg(program).args(args).env(POLICY, policy).output();
            ended.ok().filter(|ended| ended.status.code() != Some(127))
        };
        needs!(
            under("true".as_ref(), &[]).is_some_and(|ended| ended.status.success()),
            "needs chrt, and CAP_SYS_NICE for real-time priority"
        );
        let ended = under(&itself, &["--exact", ITSELF]).unwrap();
        let out = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success() && out.contains("1 passed"), "{out}");
    }
}

#[test]
fn another_cpu_is_advised_only_where_there_is_one() {
    assert_eq!([2, 4].map(another_cpu), ["use a machine with more CPUs", "choose another CPU with --cpu"]);
}

#[test]
fn only_root_may_use_chrt_by_itself() {
    assert_eq!([0, 1000].map(chrt_of), ["chrt -f 50", "sudo chrt -f 50"]);
}

fn advice_of_others() -> String {
    occupied(
        [&load(300, Holder::Others, 0)].iter().flat_map(|load| &load.contention),
        &[LoadThread::Sender],
        0.005,
    )
    .unwrap()
}
