//! What is not started by us: a process that runs, and what commands start and stop.

use std::iter;
use std::process::Command;

use super::{Short, background, lives, measured, state, trials};
use crate::child::{children, end, start, until, until_holds};

#[test]
fn a_process_is_stopped_and_goes_on() {
    let short = Short::new();
    // Its child ends by itself soon after a test that fails.
    let process = background(Command::new("sh").args(["-c", "sleep 60 & wait"]));
    let pid = process.id().to_string();
    let child = until("its child", || children(process.id()).pop());
    let stopped = || [&pid, &child].map(|pid| state(pid) == Some('T'));
    let run = start(short.quickly("b=sleep 0.2").args(["--pid", &pid]));
    until_holds("both to be stopped", || stopped() == [true; 2]);
    until_holds("both to go on for a trial", || stopped() == [false; 2]);
    let ended = end(run).measured();
    assert!(lives(&pid) && stopped() == [false; 2]);
    let record = ended.json();
    let result = super::cost(&record);
    assert_eq!(result.subject, format!("sh (pid {pid})"));
    assert!(trials(&result, 1).iter().all(|trial| trial.program.unwrap().wall_ns > 200_000_000));
    // No marks were asked for.
    assert_eq!(result.benchmarks[0].marks, ["start", "end"]);
    assert_eq!(result.benchmarks[0].comparisons[0].blocks, 2);
    assert!(trials(&result, 0).iter().all(|trial| trial.total_ns >= 2e8));
    assert!(record.findings.iter().any(|finding| finding.seen.contains("paused, not without it")));
    drop(process);
    assert!(Command::new("kill").arg(child).status().unwrap().success());
    let gone = Short::new();
    let no_process = format!("--pid {pid}: there is no such process");
    let ours = std::process::id().to_string();
    for (pid, why) in [(&pid, &*no_process), (&ours, "netfathom was started by it")] {
        gone.refused(gone.beside(super::CHEAP).args(["--pid", pid]), 2, &[why]);
    }
}

#[test]
fn what_a_command_starts_another_stops() {
    let short = Short::new();
    let (there, log) = (short.file("there"), short.file("log"));
    let benchmark = format!("b=if test -e {there}; then echo on; else echo off; fi >>{log}");
    let (begin, stop) = (format!("touch {there}"), format!("rm {there}"));
    let (_, result) = measured(short.quickly(&benchmark).args(["--toggle", &begin, &stop]));
    let order: Vec<usize> = result.benchmarks[0].trials.iter().map(|trial| trial.condition).collect();
    let one_more = iter::repeat_n(1, super::one_more(&result));
    let order = order.into_iter().chain(one_more);
    let expected: Vec<&str> = order.map(|condition| ["off", "on"][condition]).collect();
    // Before the trials it runs once, to see how it goes.
    assert_eq!(short.lines("log")[1..], expected);
    assert_eq!((short.lines("log")[0].as_str(), trials(&result, 1).len()), ("off", super::TRIALS));
    assert!(!std::path::Path::new(&there).exists());
    let failing = ["--toggle", "echo no such service >&2; exit 6", "true"];
    let short = Short::new();
    short.refused(short.beside(super::CHEAP).args(failing), 1, &["exit status: 6", "no such service"]);
}
