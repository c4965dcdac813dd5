//! `netfathom burn`: it takes what it was asked for, by the kernel's own account.

use std::fs;
use std::time::Duration;

use netfathom_sys::cpu::machine_usage;
use serde_json::Value;

use crate::child::{end, netfathom, run, signal, start, unprivileged, until_holds};
use crate::refusals::all_refused;

/// Nanoseconds that a process has been on a processor, all its threads (/proc/PID/task/*/schedstat).
fn on_processors_ns(pid: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let stats = tasks.filter_map(|task| fs::read_to_string(task.path().join("schedstat")).ok());
    stats.filter_map(|text| text.split(' ').next()?.parse::<u64>().ok()).sum()
}

#[test]
fn a_quarter_is_a_quarter_until_it_is_stopped() {
    let before = machine_usage().unwrap();
    let child = start(&mut netfathom("burn --cpu 25% --on 0"));
    let pid = child.id();
    until_holds("the burner to burn", || on_processors_ns(pid) > 100_000_000);
    let seen_ns = on_processors_ns(pid);
    std::thread::sleep(Duration::from_millis(300));
    signal("TERM", &child);
    let burnt: Value = end(child).exited(0).json();
    let number = |name: &str| burnt[name].as_u64().unwrap();
    // What the kernel saw before is in it, and more came.
    assert!(number("cpu_ns") + 50_000_000 > seen_ns, "{burnt} {seen_ns}");
    let share = number("share_ns") as f64 / number("wall_ns") as f64;
    let whole = number("cpu_ns") as f64 / number("wall_ns") as f64;
    assert!(share <= 0.251, "{burnt}");
    assert_eq!((number("bytes"), number("calls")), (0, 0));
    assert!(whole < 0.29, "{burnt}");
    // Only the hypervisor can keep it from its processor, if it may be first.
    let stolen_ns = machine_usage().unwrap().since(&before).times.steal_ns;
    let least = 0.22 - stolen_ns as f64 / number("wall_ns") as f64;
    assert!(burnt["first"] == false || share > least, "{burnt}, and {stolen_ns} ns stolen");
}

#[test]
fn without_privilege_it_says_what_it_cannot() {
    let ended = run(&mut unprivileged("burn --cpu 10% --time 50ms")).exited(0);
    let burnt: Value = ended.explains(&["SCHED_FIFO", "CAP_SYS_NICE"]).json();
    assert_eq!(burnt["first"], false);
    assert!(burnt["not_first"].as_str().unwrap().contains("SCHED_FIFO"), "{burnt}");
    // Whoever asks for it hears nothing of it; on a busy machine, that it was not enough.
    let ended = run(&mut unprivileged("burn --cpu 10% --time 50ms --ordinary"));
    assert!(ended.status == 0 && !ended.err.contains("SCHED_FIFO"), "{ended}");
}

#[test]
fn rates_are_written_as_people_write_them() {
    let burnt: Value =
        run(&mut netfathom("burn --memory 100M/s --calls 10k/s --time 300ms")).exited(0).json();
    let number = |name: &str| burnt[name].as_f64().unwrap();
    let wall_s = number("wall_ns") / 1e9;
    assert!((0.5..=1.0).contains(&(number("bytes") / (100e6 * wall_s))), "{burnt}");
    assert!((0.5..=1.0).contains(&(number("calls") / (10e3 * wall_s))), "{burnt}");
    let impossible = run(&mut netfathom("burn --calls 900G/s --time 50ms")).exited(0);
    impossible.explains(&["did not sustain its rate: calls"]);
    let cases = [
        ("", "nothing to burn"),
        ("--cpu 25", "such as 25%"),
        ("--cpu 101%", "up to 100"),
        ("--calls 5/s", "100 up to"),
        ("--memory 5M", "such as 100k/s"),
    ];
    all_refused("burn", &cases);
}
