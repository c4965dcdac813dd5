//! Benchmarks and their marks.

use std::fs;
use std::process::Command;

use netfathom_testkit::{needs, needs_root, privileged, test_name};

use super::{CHEAP, SHORT, Short, TRIALS, cost, measured, trials};
use crate::child::{is_root, record, run, runs, unprivileged, unshared};
use crate::refusals::refused;

const NOTHING: &str = "--nothing";

/// Three files, and a benchmark that reads them in turn.
fn three_files(short: &Short) -> String {
    for name in ["one", "two", "three"] {
        fs::write(short.file(name), "x").unwrap();
    }
    let dir = short.dir.path().display();
    format!("b=cat {dir}/one >/dev/null; cat {dir}/two >/dev/null; cat {dir}/three >/dev/null")
}

#[test]
fn one_that_fails_shows_its_output() {
    let short = Short::new();
    let why = "b failed (exit status: 7): its last line was `broken`";
    short.refused(short.beside("b=echo broken >&2; exit 7").arg(NOTHING), 1, &[why]);
    // The first run is for getting to know it; then it fails in every trial.
    let file = short.file("there");
    let turns = format!("b=test -e {file} && {{ echo spoilt >&2; exit 9; }}; touch {file}");
    run(short.beside(&turns).arg(NOTHING)).exited(3);
    // The rest of such a run is not waited for.
    assert_eq!(failures(&short), ["b failed (exit status: 9): its last line was `spoilt`"; 4]);
}

/// Why each trial failed.
fn failures(short: &Short) -> Vec<String> {
    let result = cost(&record(&short.runs()).unwrap());
    let trials = result.benchmarks[0].trials.iter();
    trials.map(|trial| trial.failed.clone().unwrap_or_default()).collect()
}

/// A command line that no other process has.
fn lasting(seconds: u32) -> (String, impl Fn() -> bool) {
    let alone = format!("sleep {seconds}.{}", std::process::id());
    let pattern = format!("^{alone}$");
    (alone, move || Command::new("pgrep").args(["-f", &pattern]).output().unwrap().status.success())
}

#[test]
fn one_that_never_ends_is_killed_with_all_its_own_and_named() {
    let short = Short::new();
    let (sleep, lives) = lasting(4001);
    let benchmark = format!("b={sleep} & wait");
    let why = "b had not ended after 10 s and was killed: it has to end by itself, within --time";
    short.refused(short.beside(&benchmark).arg(NOTHING), 1, &[why]);
    assert!(!lives());
    if privileged(test_name!()) {
        let why = "had not ended after 10 s and was killed";
        short.refused(short.beside(&benchmark).args(["--sequence", "auto", NOTHING]), 1, &[why]);
        assert!(!lives());
    }
}

#[test]
fn one_that_ends_no_more_takes_no_longer_than_the_time_and_one_run() {
    let short = Short::new();
    let (sleep, lives) = lasting(4002);
    let file = short.file("there");
    run(short.beside(&format!("b=test -e {file} && {sleep}; touch {file}")).arg(NOTHING)).exited(3);
    // The time is over by then, so that nothing is gained by another one.
    assert_eq!(failures(&short), ["b had not ended after 10 s and was killed"]);
    assert!(!lives());
}

#[test]
fn what_cannot_be_is_wrong_usage() {
    let short = Short::new();
    for (args, why) in [
        ("", "there is no program to measure"),
        ("--nothing -- true", "both COMMAND and another subject"),
        ("--pid 1 --nothing", "cannot be used with"),
        ("--benchmark disk --nothing", "choose light, tar, tar-gzip, or write NAME=COMMAND"),
        ("--benchmark light --benchmark light --nothing", "light is there twice"),
        ("--load udp:0,x --nothing", "x"),
        ("--load udp:8M --levels 1 -- true", "--load udp has its own levels"),
        ("--load true --levels 1 --nothing", "{level}"),
        ("--load true -- true {level}", "{level} stands for nothing"),
        ("--levels 1,2 -- true", "{level}"),
        ("--precision 1k --nothing", "write 1% or 0.5%"),
        ("--max-blocks 1 --nothing", "blocks"),
        ("--self", "name the program after --"),
    ] {
        short.refused(short.command().args(args.split_whitespace()), 2, &[why]);
    }
}

#[test]
fn a_mark_that_is_never_reached_is_known_before_anything_is_measured() {
    let short = Short::new();
    let args = ["--marks", "/etc/hosts,/etc/nowhere", NOTHING];
    short.refused(short.beside(CHEAP).args(args), 1, &["the mark nowhere is never reached by b"]);
}

#[test]
fn files_are_marks_in_the_order_in_which_they_are_opened() {
    let short = Short::new();
    let benchmark = three_files(&short);
    let (_, result) = measured(short.beside(&benchmark).args(["--marks", "three,one,two", NOTHING]));
    assert_eq!(result.benchmarks[0].marks, ["start", "one", "two", "three", "end"]);
    for trial in trials(&result, 0).iter().chain(&trials(&result, 1)) {
        assert!(trial.spans_ns.len() == 4 && trial.spans_ns.iter().all(|&ns| ns > 0.0), "{trial:?}");
        assert!((trial.total_ns - trial.spans_ns.iter().sum::<f64>()).abs() < 1.0, "{trial:?}");
    }
}

#[test]
fn marks_that_are_chosen_by_themselves() {
    needs_root!();
    let short = Short::new();
    let args = ["--sequence", "auto", NOTHING];
    // One process: its calls come in one order.
    let (_, result) = measured(short.beside("b=exec cat /etc/hosts").args(args));
    let marks = &result.benchmarks[0].marks;
    // How many depends on where its time goes: on a busy machine most of it is one wait.
    assert!(marks.len() > 2 && marks[1..marks.len() - 1].iter().all(|mark| mark.contains(" #")), "{marks:?}");
    assert!(trials(&result, 0).iter().all(|trial| trial.spans_ns.len() == marks.len() - 1));
}

#[test]
fn a_tree_is_made_read_and_removed() {
    let short = Short::new();
    let tree = short.file("tree");
    fs::create_dir(&tree).unwrap();
    let args = ["--entries", "200", "--tree", &tree, NOTHING];
    let (_, result) = measured(short.beside("tar").args(args));
    let marks = &result.benchmarks[0].marks;
    assert_eq!((marks.len(), marks[0].as_str(), marks[7].as_str()), (8, "start", "end"));
    assert_eq!(trials(&result, 1).len(), TRIALS);
    assert_eq!(fs::read_dir(&tree).unwrap().count(), 0);
}

#[test]
fn no_room_for_a_tree() {
    needs!(is_root(), "needs root for a file system of its own");
    let short = Short::new();
    let tree = short.file("tree");
    fs::create_dir(&tree).unwrap();
    // In a mount namespace, so that nothing of it stays; what is left in it is listed in the end.
    let script = format!(
        "mount -t tmpfs -o size=1m tmpfs {tree} || exit 77
        \"$0\" {SHORT} --out {} --benchmark tar --entries 200 --tree {tree} --nothing
        status=$?; ls -A {tree} >&2; exit $status",
        short.runs().display()
    );
    let message = refused(&mut unshared("-m", &script), 1);
    assert!(message.contains(&tree) && message.contains("no room for the tree"), "{message}");
    assert!(!message.contains("netfathom-tree") && runs(&short.runs()).is_empty(), "{message}");
}

#[test]
fn phases_of_light_are_about_resources() {
    let short = Short::new();
    let args = ["--phases", "cpu,calls", "--phase", "5ms", NOTHING];
    let (_, result) = measured(short.beside("light").args(args).env("TMPDIR", short.file("")));
    let benchmark = &result.benchmarks[0];
    assert_eq!(benchmark.marks[1..], ["cpu", "calls"]);
    assert_eq!(benchmark.resources.len(), 2);
    assert!(trials(&result, 1).iter().all(|trial| trial.spans_ns.len() == 2));
    let left: Vec<_> = runs(short.dir.path());
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn without_privilege_marks_are_taken_another_way() {
    let short = Short::new();
    let benchmark = three_files(&short);
    let mut command = unprivileged(SHORT);
    command.arg("--out").arg(short.runs());
    command.args(["--benchmark", &benchmark, "--marks", "one,two,three", NOTHING]);
    let (_, result) = measured(&mut command);
    let benchmark = &result.benchmarks[0];
    let absent = benchmark.absent.join("; ");
    assert!(absent.contains("no tracepoints"), "{absent}");
    // A kernel without notification has that as its reason.
    if benchmark.means == "seccomp notification" {
        assert_eq!(benchmark.marks, ["start", "one", "two", "three", "end"]);
        assert!(trials(&result, 0).iter().all(|trial| trial.spans_ns.len() == 4));
    } else {
        assert!(absent.contains("no observation points"), "{absent}");
        assert_eq!(benchmark.marks, ["start", "end"]);
    }
    let short = Short::new();
    let asked = ["--marks-by", "tracepoints", "--marks", "one", "--benchmark", CHEAP, NOTHING, "--out"];
    let why = "cannot observe by tracepoints";
    short.refused(unprivileged(SHORT).args(asked).arg(short.runs()), 1, &[why]);
}
