//! Ctrl-C, once and twice, and its relatives.

use std::io::{PipeReader, Write, pipe};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use netfathom_model::record::State;
use netfathom_results::store::RECORD_FILE;
use netfathom_testkit::needs_root;
use serde_json::Value;

use crate::child::{
    LAB, LOOPBACK, end, end_within, first_trial, names, netfathom_to, only_run, out, record, runs, shell,
    signal, start, until, until_holds,
};

/// What a user waits for after Ctrl-C.
const PROMPT: Duration = Duration::from_secs(3);

fn long(args: &str, out: &Path) -> Command {
    netfathom_to(out, &format!("{args} --trials 100"))
}

/// Trials below a value of a record, whatever was measured.
fn trials(of: &Value) -> usize {
    match of {
        Value::Object(fields) => fields.iter().map(|(name, value)| trials_of(name, value)).sum(),
        Value::Array(values) => values.iter().map(trials).sum(),
        _ => 0,
    }
}

fn trials_of(name: &str, value: &Value) -> usize {
    value.as_array().filter(|_| name == "trials").map_or_else(|| trials(value), Vec::len)
}

/// How many trials are on disk, once there is one.
fn finished(out: &Path) -> Option<usize> {
    let text = std::fs::read(runs(out).first()?.join(RECORD_FILE)).ok()?;
    Some(trials(&serde_json::from_slice(&text).unwrap())).filter(|&trials| trials > 0)
}

fn ends_at_once(args: &str, end_it: impl Fn(&Child)) {
    let dir = out();
    let child = start(&mut long(args, dir.path()));
    let before = until("a trial", || finished(dir.path()));
    end_it(&child);
    end_within(child, PROMPT).measured().shows(&["the run was ended early"]);
    let after = finished(dir.path()).unwrap();
    assert!(before <= after && after < 100, "{args}: {before} {after}");
    let record = record(dir.path()).unwrap();
    assert_eq!(record.state, State::Interrupted, "{args}");
    assert!(record.verdict.reasons.iter().any(|reason| reason.text.contains("finished")), "{args}");
    assert_eq!(names(&only_run(dir.path())), ["head.json", "record.json", "report.html"], "{args}");
}

#[test]
fn an_interrupted_run_keeps_its_finished_trials() {
    for args in [
        LOOPBACK,
        "load send --loopback --profile constant:1k/100ms",
        "message pingpong --loopback --sizes 64 --layers write,two --min-time 200ms",
        "ttcp sweep --here loopback --sndbuf auto --time 100ms",
    ] {
        ends_at_once(args, |child| signal("INT", child));
    }
    ends_at_once(LOOPBACK, |child| signal("TERM", child));
}

#[test]
fn an_interrupted_lab_keeps_its_finished_trials() {
    needs_root!();
    for args in [LAB, "reverse --time 1s --inbound 1k..5k --variant ignored"] {
        ends_at_once(args, |child| signal("INT", child));
    }
}

#[test]
fn two_signals_at_the_same_time_are_one_wish() {
    // As timeout(1) does, which signals its child and then its group; with a pause, as
    // otherwise they may come as one.
    ends_at_once(LOOPBACK, |child| {
        let script = format!("kill -INT {0}; sleep 0.02; kill -INT {0}", child.id());
        assert!(shell(&script).status().unwrap().success());
    });
}

#[test]
fn an_interrupt_waits_for_no_message_and_no_search() {
    let slow = LOOPBACK.replace("constant:1k/100ms", "constant:0.1/60m");
    for args in [&*slow, "capacity --loopback --engine send --hold 1s"] {
        let dir = out();
        let child = start(&mut long(args, dir.path()));
        // Nothing tells that the first trial runs; whenever it comes, the signal must do.
        until_holds("the run directory", || !runs(dir.path()).is_empty());
        std::thread::sleep(Duration::from_millis(600));
        signal("INT", &child);
        end_within(child, PROMPT).measured();
        assert_eq!(record(dir.path()).unwrap().state, State::Interrupted, "{args}");
    }
}

/// A run after two of these signals. Its output is full until the reader is dropped, so that it cannot end by itself after
/// the first.
fn signaled_twice(name: &str, out: &Path) -> (Child, PipeReader) {
    let (reader, mut writer) = pipe().unwrap();
    writer.write_all(&[b' '; 65_536]).unwrap();
    // Tests that run under nohup ignore hangups, and what they start would too.
    let mut command = Command::new("env");
    let long = long(LOOPBACK, out);
    command.arg("--default-signal=HUP").arg(long.get_program()).args(long.get_args());
    let child = command.stdout(writer).stderr(Stdio::null()).spawn().unwrap();
    drop(command);
    first_trial(out);
    signal(name, &child);
    let interrupted = || record(out).filter(|r| r.state == State::Interrupted);
    until("the interrupted record", interrupted);
    std::thread::sleep(Duration::from_millis(150));
    signal(name, &child);
    (child, reader)
}

#[test]
fn a_second_interrupt_ends_at_once() {
    let dir = out();
    let (child, _reader) = signaled_twice("INT", dir.path());
    assert_eq!(end_within(child, PROMPT).status, 130);
}

#[test]
fn a_second_hangup_is_of_the_same_terminal() {
    let dir = out();
    let (child, reader) = signaled_twice("HUP", dir.path());
    std::thread::sleep(Duration::from_millis(150));
    drop(reader);
    assert_ne!(end_within(child, PROMPT).status, 130);
}

#[test]
fn nohup_is_obeyed() {
    let dir = out();
    let to = dir.path().display();
    let child = start(&mut shell(&format!("trap '' HUP; exec \"$0\" {LOOPBACK} --trials 3 --out {to}")));
    first_trial(dir.path());
    signal("HUP", &child);
    end(child).measured();
    let record = record(dir.path()).unwrap();
    assert_eq!(record.state, State::Complete);
}
