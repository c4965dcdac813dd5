//! `netfathom light`, by hand and as a child with fixed sizes.

use std::fs;

use serde_json::Value;

use crate::child::{end, netfathom, out, run, signal, start, until_holds};
use crate::refusals::{all_refused, refused_for};

const SMALL: &str = "cpu=50,memory=2,calls=500,switches=50,metadata=10,data=5,loopback=50,timers=20";

#[test]
fn sizes_are_kept_and_each_run_has_its_times() {
    let dir = out();
    let command = format!("light --sizes {SMALL} --runs 3 --json");
    let found: Value = run(netfathom(&command).env("TMPDIR", dir.path())).quietly().json();
    assert_eq!(found["sizes"], SMALL);
    let phases = found["phases"].as_array().unwrap();
    let shown = phases.iter().map(|p| format!("{}={}", p["phase"].as_str().unwrap(), p["size"]));
    assert_eq!(shown.collect::<Vec<_>>().join(","), SMALL);
    for phase in phases {
        let times: Vec<u64> =
            phase["times_ns"].as_array().unwrap().iter().map(|t| t.as_u64().unwrap()).collect();
        assert!(times.len() == 3 && times.iter().all(|&ns| ns > 0), "{phase}");
        // Sleeps of 20 us each last that long at least.
        assert!(times.iter().all(|&ns| ns > phase["constant_ns"].as_u64().unwrap()), "{phase}");
    }
    assert_eq!(phases[7]["constant_ns"], 20 * 20_000);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing may stay");
}

#[test]
fn what_calibrate_prints_is_what_sizes_reads() {
    let ended = run(&mut netfathom("light --calibrate --phases timers,calls --target 5ms")).quietly();
    let sizes = ended.out.trim();
    assert!(sizes.starts_with("timers=") && sizes.contains(",calls="), "{sizes}");
    let again = run(&mut netfathom(&format!("light --sizes {sizes} --runs 2")));
    assert!(again.out.contains(&format!("--sizes {sizes}")), "{again}");
    assert!(again.out.contains("shortest") && !again.out.contains("memory"), "{again}");
    let once = run(&mut netfathom("light --phases cpu --target 2ms"));
    assert!(once.status == 0 && once.out.starts_with("->  1 phase of fixed work in "), "{once}");
}

#[test]
fn what_cannot_be_is_wrong_usage() {
    let cases = [
        ("--sizes cpu=0", "1 is the least"),
        ("--sizes disk=1", "there is no phase `disk`"),
        ("--phases cpu,cpu", "twice"),
        ("--phases disk", "there are cpu, memory"),
        ("--sizes cpu=1 --calibrate", "cannot be used with"),
        ("--target 1ns", "1ms to 10s"),
        ("--runs 0", "1 to 100000"),
    ];
    all_refused("light", &cases);
    refused_for(netfathom("light --sizes cpu=1").env("TMPDIR", "/is/not/there"), 1, &["TMPDIR"]);
}

#[test]
fn ctrl_c_leaves_nothing_and_what_kill_9_left_the_next_one_removes() {
    let dir = out();
    let entries = || fs::read_dir(dir.path()).unwrap().count();
    let begin = || {
        // Never done by itself: the first phase is short, the second as well, but there are many runs.
        let child =
            start(netfathom("light --sizes metadata=50,cpu=50 --runs 100000").env("TMPDIR", dir.path()));
        until_holds("its directory", || entries() == 1);
        child
    };
    let child = begin();
    signal("INT", &child);
    let ended = end(child);
    assert_eq!((ended.status, ended.out.as_str()), (1, ""));
    assert!(ended.err.contains("broken off"), "{ended}");
    assert_eq!(entries(), 0);
    let mut child = begin();
    child.kill().unwrap();
    assert_eq!((end(child).status, entries()), (128 + 9, 1));
    assert_eq!(run(netfathom("light --sizes cpu=1").env("TMPDIR", dir.path())).status, 0);
    assert_eq!(entries(), 0);
}
