//! kill -9, of the process that works and of the one that watches over it.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Command};

use super::{Short, background, lives, state};
use crate::child::{children, end, kill_9, netfathom, run, signal, start, until, until_holds};

#[derive(Clone, Copy, PartialEq)]
enum Whom {
    Guard,
    Worker,
}

fn worker(guard: &Child) -> String {
    children(guard.id()).join(" ")
}

fn kill(whom: Whom, guard: &Child) {
    kill_9(&match whom {
        Whom::Guard => guard.id().to_string(),
        Whom::Worker => worker(guard),
    });
}

/// Kills it while program, benchmark and tree are there, and waits until nothing is.
fn nothing_stays(whom: Whom) {
    let short = Short::new();
    let (program, benchmark, tmp) = (short.file("program"), short.file("benchmark"), short.file("tmp"));
    fs::create_dir(&tmp).unwrap();
    let family = |file: &str| format!("sleep 1000 & echo $! >>{file}; setsid sleep 1000 & echo $! >>{file}");
    let argv = format!("{}; echo $$ >>{program}; wait", family(&program));
    // It hangs as soon as the program is there.
    let script = format!(
        "b=if test -s {program} && kill -0 $(tail -n 1 {program}) 2>/dev/null; \
         then {}; echo $$ >>{benchmark}; echo hangs >>{benchmark}; wait; fi",
        family(&benchmark)
    );
    let mut command = short.quickly("tar");
    command.args(["--entries", "200", "--benchmark", &script, "--", "sh", "-c", &argv]).env("TMPDIR", &tmp);
    let guard = start(&mut command);
    until_holds("the benchmark beside the program", || short.lines("benchmark").contains(&"hangs".into()));
    let left: Vec<String> = short.lines("program").into_iter().chain(short.lines("benchmark")).collect();
    assert!(left.iter().filter(|pid| lives(pid)).count() == 6, "{left:?}");
    assert_eq!(fs::read_dir(&tmp).unwrap().count(), 1);
    kill(whom, &guard);
    end(guard).exited(128 + 9);
    until_holds("its processes to end", || !left.iter().any(|pid| lives(pid)));
    until_holds("its tree to be gone", || fs::read_dir(&tmp).unwrap().count() == 0);
}

#[test]
fn nothing_stays_of_a_run_with_a_killed_guard_or_worker() {
    [Whom::Guard, Whom::Worker].into_iter().for_each(nothing_stays);
}

/// Ends a run after a number of directories of the light benchmark, in some way, and waits until no process is left.
fn ended_after(short: &Short, directories: usize, way: impl FnOnce(&Child)) -> usize {
    let tmp = short.file("tmp");
    let mut command =
        netfathom("cost --nothing --phases metadata --phase 5ms --time 60s --precision 0.01% --out");
    let guard = start(command.arg(short.runs()).env("TMPDIR", &tmp));
    let mut seen = BTreeSet::new();
    until_holds("the light benchmark", || {
        seen.extend(fs::read_dir(&tmp).unwrap().flatten().map(|entry| entry.file_name()));
        seen.len() >= directories
    });
    let worker = worker(&guard);
    way(&guard);
    end(guard);
    until_holds("the worker to end", || !lives(&worker));
    fs::read_dir(&tmp).unwrap().count()
}

#[test]
fn nothing_stays_of_the_light_benchmark() {
    type Way = fn(&Child);
    let ways: [(&str, Way); 3] = [
        ("Ctrl-C", |guard| signal("INT", guard)),
        ("kill -9 of the guard", |guard| kill(Whom::Guard, guard)),
        ("kill -9 of the worker", |guard| kill(Whom::Worker, guard)),
    ];
    let short = Short::new();
    fs::create_dir(short.file("tmp")).unwrap();
    for (name, way) in ways {
        // While it is calibrated, and while it runs.
        for directories in [1, 2, 3, 5] {
            assert_eq!(ended_after(&short, directories, way), 0, "{name}, {directories}");
        }
    }
    // No process is left to remove anything: the next run does.
    ended_after(&short, 3, |guard| kill_9(&format!("{} {}", guard.id(), worker(guard))));
    assert_eq!(ended_after(&short, 2, |guard| signal("INT", guard)), 0, "the next run");
}

/// Kills it while a process is stopped for the baseline.
fn a_stopped_process_goes_on(whom: Whom) {
    let short = Short::new();
    let file = short.file("benchmark");
    let process = background(Command::new("sleep").arg("1000"));
    let pid = process.id().to_string();
    let guard = start(short.quickly(&format!("b=echo $$ >{file}; sleep 1000")).args(["--pid", &pid]));
    let benchmark = until("the benchmark", || short.lines("benchmark").first().cloned());
    assert_eq!(state(&pid), Some('T'));
    kill(whom, &guard);
    end(guard);
    until_holds("it to go on", || state(&pid) != Some('T'));
    until_holds("the benchmark to end", || !lives(&benchmark));
    assert!(lives(&pid));
}

#[test]
fn a_process_goes_on_if_the_guard_or_the_worker_is_killed() {
    [Whom::Guard, Whom::Worker].into_iter().for_each(a_stopped_process_goes_on);
}

#[test]
fn nothing_stays_after_a_second_ctrl_c() {
    let short = Short::new();
    let (pids, tmp) = (short.file("pids"), short.file("tmp"));
    fs::create_dir(&tmp).unwrap();
    // The first one makes the run wait for a program that takes its time.
    let stubborn =
        format!("trap '' TERM; setsid sleep 1000 & echo $! >>{pids}; echo $$ >>{pids}; wait; sleep 1000");
    let mut command = short.quickly("tar");
    command.args(["--entries", "200", "--grace", "60s", "--benchmark", super::CHEAP]);
    command.args(["--", "sh", "-c", &stubborn]);
    let guard = start(command.env("TMPDIR", &tmp));
    until_holds("the program", || short.lines("pids").len() == 2);
    signal("INT", &guard);
    // Later than what is one wish with the first.
    std::thread::sleep(std::time::Duration::from_millis(300));
    signal("INT", &guard);
    assert_eq!(end(guard).status, 130);
    let left = short.lines("pids");
    until_holds("its processes to end", || !left.iter().any(|pid| lives(pid)));
    assert_eq!(fs::read_dir(&tmp).unwrap().count(), 0);
}

#[test]
fn what_a_command_started_is_stopped_if_the_worker_is_killed() {
    let short = Short::new();
    let (there, hangs) = (short.file("there"), short.file("hangs"));
    let script = format!("b=test -e {there} && {{ touch {hangs}; sleep 1000; }}; true");
    let (begin, stop) = (format!("touch {there}"), format!("rm {there}"));
    let guard = start(short.quickly(&script).args(["--toggle", &begin, &stop]));
    until_holds("the benchmark beside it", || fs::exists(&hangs).unwrap());
    kill(Whom::Worker, &guard);
    assert_eq!(end(guard).status, 128 + 9);
    assert!(!fs::exists(&there).unwrap());
    assert!(run(short.beside(super::CHEAP).arg("--nothing")).measured().out.contains("\"state\""));
}
