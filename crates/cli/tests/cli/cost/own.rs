//! A program that is its own benchmark, and one that marks itself.

use std::process::Command;

use netfathom_model::record::CostTrial;
use netfathom_testkit::needs_root;

use super::{Short, measured, trials};
use crate::child::{out, run, unprivileged};
use crate::marks::Marked;

/// Marks in turn until it is killed; says when it begins.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <unistd.h>
#include "netfathom_mark.h"
int main(void) {
    int round;
    for (round = 0;; round++) {
        netfathom_mark("asked");
        usleep(2000);
        netfathom_mark("answered");
        if (round == 0) { puts("ready"); fflush(stdout); }
    }
}
"#;

#[test]
fn a_run_that_takes_longer_than_asked_shows_it_before() {
    needs_root!();
    let short = Short::new();
    let ended = run(short.command().args(["--self", "--", "sleep", "0.3"])).measured();
    ended.explains(&["this run takes at least ", " s: --min-blocks 2 goes before --time 1s"]);
}

#[test]
fn its_own_calls_are_ranked() {
    needs_root!();
    let short = Short::new();
    // Many calls of one kind, and two that take nearly all of the time.
    let script = "for i in 1 2 3 4 5; do :; done; sleep 0.05; sleep 0.05";
    let (_, result) = measured(short.command().args(["--self", "--", "sh", "-c", script]));
    assert_eq!(result.conditions.len(), 1);
    let counted = trials(&result, 0);
    assert!(counted.iter().all(|trial| trial.calls.iter().any(|call| call.name == "wait4")), "{counted:?}");
    let ranked = &result.benchmarks[0].calls;
    let total_ns: Vec<f64> = ranked.iter().map(|call| call.times[0].unwrap().total_ns).collect();
    assert!(total_ns.len() > 3 && total_ns.is_sorted_by(|a, b| a >= b), "{ranked:?}");
    // The shell waits for its sleeps, and they sleep.
    let slow: Vec<&str> = ranked[..2].iter().map(|call| call.name.as_str()).collect();
    assert!(slow.contains(&"wait4") && slow.contains(&"clock_nanosleep"), "{slow:?}");
    assert!(total_ns[0] >= 1e8, "{total_ns:?}");
}

/// A program that makes two calls and ends: whoever starts it makes more.
const TWO_CALLS: &str = r#"
#include <sys/syscall.h>
#include <unistd.h>
void _start(void) {
    syscall(SYS_getppid);
    syscall(SYS_exit_group, 0);
}
"#;

#[test]
fn the_calls_of_whoever_starts_it_are_not_its_own() {
    needs_root!();
    let short = Short::new();
    let (source, program) = (short.file("two.c"), short.file("cost-two"));
    std::fs::write(&source, TWO_CALLS).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-static", "-nostartfiles"]).arg(&source).arg("-o").arg(&program);
    assert!(cc.status().unwrap().success());
    let (_, result) = measured(short.command().args(["--self", "--"]).arg(&program));
    let counted = trials(&result, 0);
    let calls = |trial: &CostTrial| -> Vec<(String, u64)> {
        trial.calls.iter().map(|call| (call.name.clone(), call.calls)).collect()
    };
    let own = [("getppid".to_owned(), 1), ("exit_group".to_owned(), 1)];
    for trial in &counted {
        let mut made = calls(trial);
        made.sort_by_key(|(name, _)| own.iter().position(|(known, _)| known == name));
        assert_eq!(made, own);
    }
}

/// There is no other way to time calls, so no option is named that was not given.
#[test]
fn without_privilege_its_calls_cannot_be_timed() {
    let dir = out();
    let ended = run(unprivileged("cost --self --out").arg(dir.path()).args(["--", "true"])).exited(1);
    let ended = ended.explains(&["--self: cannot record system calls"]);
    assert!(!ended.err.contains("--sequence") && !ended.err.contains("--marks"), "{ended}");
}

#[test]
fn a_program_that_marks_itself_is_watched() {
    let short = Short::new();
    let marked = Marked::of("cost", PROGRAM);
    let marking = marked.running();
    let pid = marking.id().to_string();
    let args = ["--marks-from", &pid, "--window", "300ms", "--nothing"];
    let (_, result) = measured(short.command().args(args));
    let spans = &result.benchmarks[0].spans;
    // Which is first depends on when it was found.
    let asked = spans.iter().position(|span| span == "asked → answered").unwrap();
    assert!(spans.len() == 2 && spans[1 - asked] == "answered → asked", "{spans:?}");
    // It slept for 2 ms in between.
    assert!(trials(&result, 1).iter().all(|trial| trial.spans_ns[asked] >= 2e6));
    drop(marking);
    let short = Short::new();
    short.refused(short.command().args(args), 1, &["--marks-from"]);
}
