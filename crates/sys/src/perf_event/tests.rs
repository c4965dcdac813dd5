use std::process::{Child, Command, Stdio};

use super::*;

fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).stdout(Stdio::null());
    command
}

/// A loop of `rounds` rounds, in a child of the program that is started.
fn work(rounds: u32) -> Command {
    shell(&format!("(i=0; while [ $i -lt {rounds} ]; do i=$((i+1)); done); true"))
}

fn start(command: &mut Command) -> io::Result<(Child, ChildCounters)> {
    ChildCounters::around(|| command.spawn())
}

fn counted(event: PerfEvent, rounds: u32) -> Option<f64> {
    let (mut child, counters) = start(&mut work(rounds)).unwrap();
    assert!(child.wait().unwrap().success());
    counters.read().count(event).map(|count| count as f64)
}

/// How often the loop of three times as many rounds takes as much, without what every program takes.
fn growth(event: PerfEvent) -> Option<f64> {
    let [none, few, many] = [0, 40_000, 120_000].map(|rounds| counted(event, rounds));
    let (none, few, many) = (none?, few?, many?);
    Some((many - none) / (few - none))
}

#[test]
fn instructions_rise_with_the_work() {
    match growth(PerfEvent::Instructions) {
        Some(ratio) => assert!((2.7..3.3).contains(&ratio), "{ratio}"),
        None => netfathom_testkit::skip!("needs a counter of instructions"),
    }
}

#[test]
fn time_rises_with_the_work() {
    // Time is noisy where instructions are not: one of several tries is near enough.
    let ratios: Vec<f64> = (0..5).map(|_| growth(PerfEvent::TaskClock).unwrap()).collect();
    assert!(ratios.iter().any(|ratio| (2.4..3.6).contains(ratio)), "{ratios:?}");
}

#[test]
fn only_the_program_is_counted() {
    assert!(start(&mut Command::new("/is/not/there")).is_err());
    let (mut child, counters) = start(&mut work(0)).unwrap();
    assert!(child.wait().unwrap().success());
    let whole = counters.read();
    assert!(whole.count(PerfEvent::PageFaults).unwrap() > 50, "{whole:?}");
    // What this thread does itself is not in it, whatever pages it touches.
    std::hint::black_box(vec![1_u8; 4 << 20]);
    assert_eq!(whole, counters.read());
}

#[test]
fn a_program_that_still_runs_is_counted() {
    // Without a program of its own, which would outlive it.
    let mut busy = shell("while :; do :; done");
    let (mut child, counters) = start(&mut busy).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let ran_ns = || counters.read().count(PerfEvent::TaskClock).unwrap_or(0);
    while ran_ns() < 20_000_000 && std::time::Instant::now() < deadline {}
    let seen_ns = ran_ns();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(seen_ns >= 20_000_000, "{seen_ns}");
}

#[test]
fn a_partial_count_is_scaled_and_no_count_is_none() {
    let reading = Reading { value: 300, enabled_ns: 1_000, running_ns: 250 };
    assert_eq!(reading.count(), Some(1_200));
    assert_eq!(Reading { running_ns: 0, ..reading }.count(), None);
    assert_eq!(Reading::default().count(), None);
}
