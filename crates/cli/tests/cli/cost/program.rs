//! COMMAND, in all the ways in which programs come, go and misbehave.

use std::process::Command;

use netfathom_model::record::Holder;
use netfathom_testkit::{needs, needs_root};

use super::{CHEAP, Short, cost, lives, measured, trials};
use crate::child::{record, run, runs};

/// Long enough for a program to end in the middle of it.
const SLOW: &str = "b=sleep 0.2";
/// A trial counts if the program was there for this part of it: docs/cost.md.
const THROUGHOUT: f64 = 0.98;

#[test]
fn one_that_cannot_be_started_or_ends_at_once() {
    let short = Short::new();
    let not_found = ["cannot start COMMAND `/nonexistent/program`", "is it installed, and in PATH?"];
    short.refused(short.beside(CHEAP).args(["--", "/nonexistent/program"]), 1, &not_found);
    let plain = short.file("plain");
    std::fs::write(&plain, "x").unwrap();
    short.refused(short.beside(CHEAP).args(["--", &plain]), 1, &["chmod +x"]);
    let done = ["COMMAND `true` ended at once (exit status: 0)", "--again", "--job"];
    short.refused(short.beside(CHEAP).args(["--settle", "5s", "--", "true"]), 1, &done);
    let script = "echo wrong >&2; echo no such device >&2; exit 4";
    let failed = "ended at once (exit status: 4): its last line was `no such device`";
    short.refused(short.beside(CHEAP).args(["--settle", "5s", "--", "sh", "-c", script]), 1, &[failed]);
}

#[test]
fn one_that_ends_in_the_middle_was_not_measured() {
    let short = Short::new();
    let script = "sleep 0.1; echo out of memory >&2; exit 3";
    // Long enough that the program ends first, also where others keep it from the processor.
    run(short.quickly("b=sleep 1").args(["--", "sh", "-c", script])).exited(3);
    let result = cost(&record(&short.runs()).unwrap());
    let with: Vec<_> = result.benchmarks[0].trials.iter().filter(|trial| trial.condition == 1).collect();
    assert!(!with.is_empty());
    for trial in with {
        let why = trial.failed.as_ref().unwrap();
        let end = " of the benchmark only (exit status: 3: its last line was `out of memory`)";
        assert!(why.starts_with("COMMAND was there for ") && why.ends_with(end), "{why}");
        let present = trial.program.unwrap().present;
        assert!(present > 0.0 && present < 1.0, "{present}");
    }
}

#[test]
fn a_daemon_is_measured_and_ended() {
    let short = Short::new();
    let pids = short.file("pids");
    let daemon = format!("setsid sh -c 'echo $$ >>{pids}; exec sleep 1000' >/dev/null 2>&1 & exit 0");
    let (_, result) = measured(short.quickly(SLOW).args(["--", "sh", "-c", &daemon]));
    let measured = trials(&result, 1);
    assert!(!measured.is_empty());
    for trial in &measured {
        assert!((trial.program.unwrap().present - 1.0).abs() < 1e-9, "{trial:?}");
    }
    let pids = short.lines("pids");
    // Once more than there are trials: to see whether it comes. On a busy machine the time ends before all are made.
    assert_eq!(pids.len(), measured.len() + 1 + super::one_more(&result));
    assert!(!pids.iter().any(|pid| lives(pid)), "{pids:?}");
}

#[test]
fn one_that_ignores_sigterm_is_killed_and_reported() {
    let short = Short::new();
    let script = format!("echo $$ >>{}; trap '' TERM; while :; do sleep 0.05; done", short.file("pids"));
    let args = ["--grace", "100ms", "--", "sh", "-c", &script];
    let (record, result) = measured(short.quickly(CHEAP).args(args));
    assert!(trials(&result, 1).iter().all(|trial| trial.program.unwrap().killed));
    assert!(record.findings.iter().any(|finding| finding.seen.contains("had to be killed")));
    assert!(!short.lines("pids").iter().any(|pid| lives(pid)));
    let (record, result) = measured(short.quickly(CHEAP).args(["--", "sleep", "1000"]));
    assert!(!trials(&result, 1).iter().any(|trial| trial.program.unwrap().killed));
    assert!(record.findings.is_empty(), "{:?}", record.findings);
}

#[test]
fn one_that_floods_its_outputs_never_waits() {
    let short = Short::new();
    // A pipe holds 64 KiB; it says where it is only if somebody reads all the time.
    let script = format!(
        "while :; do head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2; echo >>{}; done",
        short.file("megabytes")
    );
    let (_, result) = measured(short.quickly(SLOW).args(["--", "sh", "-c", &script]));
    for trial in trials(&result, 1) {
        assert!(trial.program.unwrap().output_bytes.unwrap() >= 1_000_000, "{trial:?}");
    }
    assert!(short.lines("megabytes").len() > super::TRIALS);
}

#[test]
fn one_that_wants_a_terminal_gets_one_if_asked_for() {
    let short = Short::new();
    let script = "test -t 0 -a -t 1 -a -t 2 || { echo no terminal >&2; exit 1; }; exec sleep 1000";
    let why = "its last line was `no terminal`";
    short.refused(short.beside(CHEAP).args(["--settle", "5s", "--", "sh", "-c", script]), 1, &[why]);
    let (_, result) = measured(short.quickly(CHEAP).args(["--terminal", "--", "sh", "-c", script]));
    assert_eq!(trials(&result, 1).len(), super::TRIALS);
}

#[test]
fn a_job_may_end_also_before_the_benchmark_begins_and_again_starts_it_anew() {
    let short = Short::new();
    let (_, result) = measured(short.beside(CHEAP).args(["--job", "--settle", "500ms", "--", "true"]));
    assert!(trials(&result, 1).iter().all(|trial| trial.program.unwrap().starts == 1));
    let args = ["--job", "--", "sh", "-c", "sleep 0.05"];
    let (_, result) = measured(short.beside(SLOW).args(args));
    for trial in trials(&result, 1) {
        let program = trial.program.unwrap();
        assert!(program.starts == 1 && program.present < 0.9, "{program:?}");
    }
    let args = ["--again", "--", "sh", "-c", "sleep 0.02"];
    let (_, result) = measured(short.quickly(SLOW).args(args));
    let again: Vec<_> = result.benchmarks[0].trials.iter().filter(|trial| trial.condition == 1).collect();
    assert_eq!(again.len(), super::TRIALS);
    for trial in again {
        let program = trial.program.unwrap();
        assert!(program.starts > 1 && program.present > 0.5, "{program:?}");
        // Whoever starts it again may have to wait for a CPU, long enough for the trial not to count.
        assert_eq!(trial.failed.is_some(), program.present < THROUGHOUT, "{trial:?}");
    }
    // A job that fails is none.
    run(short.beside(SLOW).args(["--job", "--", "sh", "-c", "sleep 0.05; exit 5"])).exited(3);
    assert_eq!(runs(&short.runs()).len(), 4);
}

#[test]
fn one_beside_a_netfathom_with_real_time_priority_has_none() {
    let may = Command::new("chrt").args(["-f", "50", "true"]).status().is_ok_and(|ended| ended.success());
    needs!(may, "needs chrt, and CAP_SYS_NICE for real-time priority");
    let short = Short::new();
    let plain = short.quickly(CHEAP);
    let mut first = Command::new("chrt");
    first.args(["-f", "50"]).arg(plain.get_program()).args(plain.get_args());
    let script = format!("cut -d ' ' -f 41 /proc/$$/stat >>{}; exec sleep 1000", short.file("policies"));
    measured(first.args(["--", "sh", "-c", &script]));
    let policies = short.lines("policies");
    assert!(!policies.is_empty() && policies.iter().all(|policy| policy == "0"), "{policies:?}");
}

#[test]
fn one_that_takes_the_cpu_is_named() {
    needs_root!();
    let short = Short::new();
    let cpu = netfathom_sys::cpu::allowed().unwrap()[0].to_string();
    let work = "b=i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let alone = ["--cpu", &cpu, "--program-cpu", &cpu];
    // More than what other tests run there.
    let program = ["--", "nice", "-n", "-10", "sh", "-c", "while :; do :; done"];
    let (_, result) = measured(short.quickly(work).args(alone).args(program));
    let found = result.benchmarks[0].waits.as_ref().unwrap();
    assert!(result.conditions[found.condition].program && found.waits.waited_ns > 0);
    let most = found.waits.holders.iter().max_by_key(|held| held.ns).unwrap();
    assert!(matches!(&most.by, Holder::Process { name, .. } if name == "sh"), "{found:?}");
    // The run that it took is no trial.
    assert_eq!(result.benchmarks[0].trials.len(), trials(&result, 0).len() + trials(&result, 1).len());
}
