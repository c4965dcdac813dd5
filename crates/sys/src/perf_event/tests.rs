use std::process::{Command, Stdio};

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

fn counted(event: PerfEvent, rounds: u32) -> Result<f64, CounterError> {
    let (mut child, counters) = ChildCounters::start(&mut work(rounds)).unwrap();
    assert!(child.wait().unwrap().success());
    let count = counters.read().count(event)?;
    assert!(count.counted_share > 0.0 && count.counted_share <= 1.0, "{count:?}");
    Ok(count.count as f64)
}

/// How often the loop of three times as many rounds takes as much, without what every program takes.
fn growth(event: PerfEvent) -> Result<f64, CounterError> {
    let [none, few, many] = [0, 40_000, 120_000].map(|rounds| counted(event, rounds));
    let (none, few, many) = (none?, few?, many?);
    Ok((many - none) / (few - none))
}

#[test]
fn instructions_rise_with_the_work() {
    match growth(PerfEvent::Instructions) {
        Ok(ratio) => assert!((2.7..3.3).contains(&ratio), "{ratio}"),
        Err(error) => netfathom_testkit::skipped("sys::perf_event", &error.to_string()),
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
    assert!(ChildCounters::start(&mut Command::new("/is/not/there")).is_err());
    let (mut child, counters) = ChildCounters::start(&mut work(0)).unwrap();
    assert!(child.wait().unwrap().success());
    let whole = counters.read();
    assert!(whole.count(PerfEvent::PageFaults).unwrap().count > 50, "{whole:?}");
    // What this thread does itself is not in it, whatever pages it touches.
    std::hint::black_box(vec![1_u8; 4 << 20]);
    assert_eq!(whole, counters.read());
}

#[test]
fn a_program_that_still_runs_is_counted() {
    // Without a program of its own, which would outlive it.
    let mut busy = shell("while :; do :; done");
    let (mut child, counters) = ChildCounters::start(&mut busy).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let ran_ns = || counters.read().count(PerfEvent::TaskClock).map_or(0, |count| count.count);
    while ran_ns() < 20_000_000 && std::time::Instant::now() < deadline {}
    let seen_ns = ran_ns();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(seen_ns >= 20_000_000, "{seen_ns}");
}

#[test]
fn a_partial_count_is_scaled_and_no_count_is_an_error() {
    let reading = Reading { value: 300, enabled_ns: 1_000, running_ns: 250 };
    assert_eq!(reading.count().unwrap(), Count { count: 1_200, counted_share: 0.25 });
    assert!(Reading { running_ns: 0, ..reading }.count().unwrap_err().contains("others had all"));
    assert!(Reading::default().count().unwrap_err().contains("has not run"));
    let reason_of = |number| reason(&io::Error::from_raw_os_error(number));
    assert!(
        reason_of(libc::ENOENT).contains("no such counter")
            && reason_of(libc::EACCES).contains("CAP_PERFMON")
    );
}
