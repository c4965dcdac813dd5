//! The experiments of the papers: their list, their names, and an end in the middle of one.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Child;

use netfathom_model::record::{Measurement, State};
use netfathom_sys::process::{Process, SIGCONT, SIGKILL, SIGSTOP, descendants, lives};
use netfathom_testkit::needs_root;

use crate::child::{end, netfathom, netfathom_to, out, record, run, signal, start, until, until_holds};
use crate::refusals::refused_for;

const NAMES: &str = "\
    borodin-tx borodin-rx borodin-rx-triangle borodin-reverse borodin-asymmetry borodin-instances \
    borodin-protocols ttcp-sndbuf zccl-1 zccl-1-ethernet zccl-2 zccl-2-ethernet zccl-3 zccl-3-ethernet \
    zccl-4 zccl-4-ethernet zccl-anomaly";

#[test]
fn without_a_name_the_experiments_are_listed() {
    let ended = run(&mut netfathom("reproduce")).quietly();
    for name in NAMES.split(' ') {
        assert!(
            ended.out.lines().any(|line| line.split_whitespace().next() == Some(name)),
            "{name}: {ended}"
        );
    }
    assert!(ended.out.contains("(root)") && ended.out.lines().count() <= 40, "{ended}");
    assert!(ended.out.lines().all(|line| line.chars().count() <= 80), "{ended}");
    run(&mut netfathom("reproduce -v")).shows(&["needs    root", "with --quick"]);
}

#[test]
fn the_list_is_there_as_json_too() {
    let all: Vec<serde_json::Value> = run(&mut netfathom("reproduce --json")).json();
    for name in NAMES.split(' ') {
        let entry = all.iter().find(|entry| entry["name"] == name).unwrap();
        assert!(entry["quick_s"].as_u64().unwrap() <= 120, "{entry}");
        assert!(["root", "nothing"].contains(&entry["needs"].as_str().unwrap()), "{entry}");
    }
}

#[test]
fn an_unknown_name_is_wrong_usage_and_the_nearest_is_named_first() {
    let first = "no experiment `borodin-revers`; choose one of: borodin-reverse, ";
    let reply: Vec<&str> = NAMES.split(' ').chain([first]).collect();
    refused_for(&mut netfathom("reproduce borodin-revers"), 2, &reply);
}

#[test]
fn a_tap_without_a_use_is_wrong_usage() {
    let mut command = netfathom("reproduce borodin-reverse --quick --tap timestamping");
    refused_for(&mut command, 2, &["--tap timestamping", "choose from auto, bpf"]);
}

#[test]
fn an_end_in_the_middle_keeps_what_there_is() {
    let dir = out();
    let args = "reproduce borodin-rx-triangle --quick --tap timestamping --quiet";
    let child = start(&mut netfathom_to(dir.path(), args));
    until("the plan on disk", || record(dir.path()));
    signal("INT", &child);
    // Not a single trial was finished.
    assert_eq!(end(child).status, 3);
    let record = record(dir.path()).unwrap();
    assert_eq!(record.state, State::Interrupted);
    let Measurement::Reproduce(result) = record.measurement else { panic!("another measurement") };
    assert_eq!((result.plan.name.as_str(), result.runs.len()), ("borodin-rx-triangle", 1));
    assert!(result.tables.iter().all(|table| !table.rows.is_empty()), "the source's rows are there");
}

/// Two instances of the sender at the same time, which are stopped, and the process that started them.
fn two_instances(child: &Child) -> (u32, Vec<u32>) {
    let is_instance = |pid: &u32| {
        let called = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        // Its second thread is that of signals: earlier it would end without a word.
        let is_ready = || fs::read_dir(format!("/proc/{pid}/task")).is_ok_and(|tasks| tasks.count() > 1);
        called.split('\0').skip(1).take(2).eq(["load", "instance"]) && is_ready()
    };
    let signal_all = |all: &[u32], signal| {
        all.iter().filter_map(|&pid| Process::open(pid).ok()?.signal(signal).ok()).count() == all.len()
    };
    until("two instances", || {
        let all = descendants(child.id()).unwrap();
        let instances: Vec<u32> = all.iter().copied().filter(is_instance).collect();
        let [first, second] = instances[..] else { return None };
        let stopped = signal_all(&instances, SIGSTOP) && lives(first) && lives(second);
        if !stopped {
            signal_all(&instances, SIGCONT);
        }
        stopped.then(|| (all[0], instances))
    })
}

#[test]
fn each_instance_is_a_process_with_a_socket_of_its_own() {
    needs_root!();
    let dir = out();
    let child = start(netfathom("reproduce borodin-instances --quick --quiet --out").arg(dir.path()));
    let (parent, instances) = two_instances(&child);
    let sends_from = |pid: &u32| fs::read_link(format!("/proc/{pid}/fd/0")).unwrap();
    let sockets: BTreeSet<PathBuf> = instances.iter().map(sends_from).collect();
    assert!(
        sockets.len() == 2 && sockets.iter().all(|socket| socket.to_string_lossy().starts_with("socket:")),
        "{sockets:?}"
    );
    let of_parent: Vec<u32> = descendants(parent).unwrap();
    assert_eq!(of_parent, instances);
    for &pid in &instances {
        Process::open(pid).unwrap().signal(SIGCONT).unwrap();
    }
    let finished = |at: usize| {
        let Measurement::Reproduce(result) = record(dir.path())?.measurement else { return None };
        let Measurement::Stack(run) = &result.runs.get(at)?.measurement else { return None };
        (!run.trials.is_empty()).then(|| run.trials.clone())
    };
    for (at, senders) in [1, 2].into_iter().enumerate() {
        for trial in until("a trial", || finished(at)) {
            let from: BTreeSet<_> = trial.from.iter().collect();
            assert_eq!((from.len(), trial.accounting.gap()), (senders, 0));
            assert!(trial.load.sent > 0 && trial.load.lag.n > 0, "the accounts of the processes");
        }
    }
    signal("INT", &child);
    let ended = end(child);
    assert!(matches!(ended.status, 0 | 3) && ended.err.is_empty(), "{ended}");
    assert_eq!(record(dir.path()).unwrap().state, State::Interrupted);
    assert!(!lives(parent));
}

#[test]
fn no_instance_outlives_a_kill_of_its_parent() {
    needs_root!();
    let dir = out();
    let mut child = start(netfathom("reproduce borodin-instances --quick --quiet --out").arg(dir.path()));
    let (parent, instances) = two_instances(&child);
    let parent = Process::open(parent).unwrap();
    // First the one that would end what is left.
    child.kill().unwrap();
    parent.signal(SIGKILL).unwrap();
    until_holds("the end of the instances", || !instances.iter().any(|&pid| lives(pid)));
    // They did not end by themselves, as they do once there is no one to give their account to.
    assert_eq!(end(child).err, "");
}
