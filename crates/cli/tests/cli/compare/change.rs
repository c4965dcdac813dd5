//! `compare` with commands that change the system before each run.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use netfathom_model::record::Record;
use netfathom_results::store;
use netfathom_testkit::{Killed, needs, needs_root};

use super::SHORT;
use crate::child::{
    children, end, kill_9, netfathom, only_run, out, run, shell, signal, start, unshared, until_holds,
};
use crate::refusals::{refused, refused_for};

/// Two rounds with these commands around each run.
fn compare(out: &Path, commands: &[[&str; 2]]) -> Command {
    let mut command = netfathom("compare --rounds 2 --out");
    command.arg(out).args(commands.concat());
    command
}

fn records(dir: &Path) -> Vec<Record> {
    let mut all: Vec<Record> =
        fs::read_dir(dir).unwrap().filter_map(|run| store::read(&run.unwrap().path()).ok()).collect();
    all.sort_by(|a, b| a.id.cmp(&b.id));
    all
}

#[test]
fn commands_are_run_around_each_interleaved_run_and_are_in_the_record() {
    let dir = out();
    let log = dir.path().join("log");
    let write = |word: &str| format!("echo {word} >> '{}'", log.display());
    let runs = dir.path().join("runs");
    let (a, b, undo) = (write("a"), write("b"), write("undo"));
    let commands = [["--before-a", &a], ["--before-b", &b], ["--after", &undo], ["--run", SHORT]];
    let found = run(&mut compare(&runs, &commands)).measured();
    let order = fs::read_to_string(&log).unwrap();
    assert_eq!(
        order.split_whitespace().collect::<Vec<_>>(),
        ["a", "undo", "b", "undo", "b", "undo", "a", "undo"]
    );
    let around: Vec<_> = records(&runs).into_iter().map(|record| record.around.unwrap()).collect();
    assert_eq!(around.len(), 4);
    assert!(around.iter().all(|around| around.after.as_ref() == Some(&undo)), "{around:?}");
    found.shows(&["changed", "before"]).explains(&["settings as before: "]);
}

#[test]
fn a_command_that_fails_is_undone_and_nothing_is_measured() {
    let dir = out();
    let log = dir.path().join("log");
    let after = format!("echo undone >> '{}'", log.display());
    let runs = dir.path().join("runs");
    let before = "echo no such card >&2; exit 7";
    let found = run(&mut compare(&runs, &[["--before-a", before], ["--after", &after], ["--run", SHORT]]));
    found.exited(1).explains(&["the command before it failed", "no such card"]);
    assert_eq!(fs::read_to_string(&log).unwrap(), "undone\n");
    assert!(!runs.exists());
}

/// The arguments of a run that does not end by itself within what a test waits for.
fn long() -> String {
    SHORT
        .replace("--trials 2", "--trials 100")
        .replace("--min-time 1ms", "--min-time 1s")
        .replace("--max-time 200ms", "--max-time 2s")
}

/// Both processes in turn: whoever is killed, the other one undoes it.
#[test]
fn what_was_changed_is_undone_when_compare_is_killed() {
    for victim in ["watched", "watching"] {
        let dir = out();
        let state = dir.path().join("state");
        let (before, after) =
            (format!("echo changed > '{}'", state.display()), format!("echo usual > '{}'", state.display()));
        let long = long();
        let runs = dir.path().join("runs");
        let commands =
            [["--before-a", &before], ["--before-b", &before], ["--after", &after], ["--run", &long]];
        let child = start(&mut compare(&runs, &commands));
        let is = |wanted: &str| fs::read_to_string(&state).is_ok_and(|now| now.trim() == wanted);
        until_holds(&format!("{victim}: changed"), || is("changed") && runs.exists());
        let pid = if victim == "watching" { child.id().to_string() } else { children(child.id()).remove(0) };
        kill_9(&pid);
        until_holds(&format!("{victim}: undone"), || is("usual"));
        drop(end(child));
        assert!(is("usual"));
    }
}

#[test]
fn an_undo_that_fails_after_ctrl_c_is_shown_and_tried_again() {
    let dir = out();
    let (state, tried) = (dir.path().join("state"), dir.path().join("tried"));
    let (state, tried) = (state.display(), tried.display());
    let after = format!("test -e '{tried}' || {{ touch '{tried}'; exit 9; }}; echo usual > '{state}'");
    let long = long();
    let (before, runs) = (format!("echo changed > '{state}'"), dir.path().join("runs"));
    let child = start(&mut compare(&runs, &[["--before-a", &before], ["--after", &after], ["--run", &long]]));
    until_holds("the run", || runs.exists());
    signal("INT", &child);
    end(child).exited(1).explains(&["the change may still be there"]);
    assert_eq!(fs::read_to_string(dir.path().join("state")).unwrap(), "usual\n");
}

/// The run is a guard itself, and has stopped a process: it gets the time to let it go on.
#[test]
fn a_process_that_a_run_has_stopped_goes_on_when_compare_is_killed() {
    let dir = out();
    let process = Killed(Command::new("sleep").arg("1000").spawn().unwrap());
    let stat = format!("/proc/{}/stat", process.id());
    let is_stopped = || fs::read_to_string(&stat).unwrap().contains(") T ");
    let run = format!("cost --pid {} --benchmark 'b=sleep 1000'", process.id());
    let commands = [["--before-a", "true"], ["--after", "true"], ["--run", &run]];
    let child = start(&mut compare(&dir.path().join("runs"), &commands));
    until_holds("it to be stopped", is_stopped);
    kill_9(&children(child.id()).join(" "));
    let ended = end(child);
    assert!(ended.status == 128 + 9 && !is_stopped(), "{ended}");
}

#[test]
fn a_sysctl_of_the_lab_is_changed_for_one_side_and_shown() {
    needs_root!();
    let dir = out();
    let lab = SHORT.replace("--loopback --over unix", "--lab --over tcp");
    let before = "sysctl -qw net.ipv4.tcp_wmem='4096 4096 4096' && ethtool -K $DEVICE tso off";
    let found = run(netfathom("compare -v --rounds 2 --in lab --out")
        .arg(dir.path())
        .env("COLUMNS", "120")
        .args(["--before-b", before, "--run", &lab]));
    found.measured().shows(&[
        "changed net.ipv4.tcp_wmem",
        "\u{2192} 4096 4096 4096 (limits TCP send buffers)",
        "veth0.feature.tx-tcp-segmentation on \u{2192} off",
    ]);
    let refused = dir.path().join("x");
    let loopback = run(netfathom("message pingpong --loopback --setup true --trials 2 --out").arg(&refused));
    loopback.exited(2).explains(&["makes no lab"]);
    assert_eq!(fs::read_dir(&refused).unwrap().count(), 0);
    // It leaves a program with its standard error, which nothing waits for.
    let began = Instant::now();
    let left = format!("sleep 95.{}", std::process::id());
    let leaves = run(netfathom(&lab).args(["--setup", &format!("{left} &"), "--out"]).arg(&refused));
    assert!(matches!(leaves.status, 0 | 3) && began.elapsed() < Duration::from_secs(30), "{leaves}");
    // It ends with the lab.
    assert!(!runs(&left));
    let hangs = start(netfathom(&lab).args(["--setup", &format!("{left}; true"), "--out"]).arg(&refused));
    until_holds("the command", || runs(&left));
    signal("TERM", &hangs);
    let ended = end(hangs);
    assert!(ended.status == 1 && !runs(&left), "{ended}");
}

fn runs(command: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path().join("cmdline"));
    let mut words = processes.filter_map(|path| fs::read_to_string(path).ok());
    words.any(|words| words.trim_end_matches('\0').replace('\0', " ") == command)
}

#[test]
fn commands_around_a_run_that_hang_end_when_they_are_asked_to() {
    let dir = out();
    let hangs = format!("sleep 90.{}", std::process::id());
    let compare = |before: &str, after: &str| {
        // Where a shell runs the tests in the background, SIGINT is ignored.
        let compare = compare(dir.path(), &[["--before-a", before], ["--after", after], ["--run", SHORT]]);
        let mut command = Command::new("env");
        command.arg("--default-signal=INT").arg(compare.get_program()).args(compare.get_args());
        start(&mut command)
    };
    let child = compare(&format!("{hangs}; true"), "true");
    until_holds("the command before", || runs(&hangs));
    // A shell ends by SIGINT only if what it waits for does.
    signal("INT", &child);
    let ended = end(child);
    assert!(ended.status == 1 && !runs(&hangs), "{ended}");
    let child = compare("true", &format!("{hangs}; true"));
    until_holds("the command after", || runs(&hangs));
    signal("TERM", &child);
    // The second one counts only after the first.
    std::thread::sleep(Duration::from_millis(300));
    assert!(runs(&hangs), "the first signal waits for it");
    signal("TERM", &child);
    end(child).exited(1).explains(&["press Ctrl-C again to give up", "the change may still be there"]);
    assert!(!runs(&hangs));
}

/// Runs alternate: what is changed for one side and not undone holds for the other one from the second round on.
#[test]
fn a_change_of_one_side_that_nothing_undoes_is_refused() {
    let dir = out();
    for (side, other) in [("a", "b"), ("b", "a")] {
        let before = format!("--before-{side}");
        let mut command = compare(dir.path(), &[[&before, "true"], ["--run", SHORT]]);
        refused_for(&mut command, 2, &["--after CMD", &format!("--before-{other} CMD")]);
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_command_in_the_lab_that_changes_nothing_is_shown_with_what_it_wrote() {
    needs_root!();
    let dir = out();
    let lab = SHORT.replace("--loopback --over unix", "--lab --over tcp");
    let compare = |command: &str| {
        let mut all = netfathom("compare --rounds 2 --in lab --out");
        run(all.arg(dir.path()).env("COLUMNS", "200").args(["--before-b", command, "--run", &lab]))
    };
    compare("echo nothing was written >&2").shows(&[
        "the command of B changed none of the watched settings; it wrote: nothing was written",
        "before no command \u{2192} in the lab: echo nothing was written >&2",
    ]);
    let failed = compare("false").explains(&["the command of --before-b failed in the lab's sender"]);
    assert!(!failed.err.contains("--setup") && !failed.err.contains("loopback"), "{failed}");
}

#[test]
fn a_threshold_for_nothing_ends_the_rounds_after_the_first_run() {
    let dir = out();
    for done in 1..=2 {
        let mut command = netfathom("compare --rounds 50 --fail-if roundtrip.maen>5% --out");
        let message = refused(command.arg(dir.path()).args(["--run", SHORT, "--", SHORT]), 2);
        assert_eq!(records(dir.path()).len(), done);
        // There is nothing to decide, and no pair to compare all the same.
        assert!(message.contains("did you mean") && !message.contains("--force"), "{message}");
        assert!(!message.contains("once more"), "{message}");
    }
    // Runs that are there already are not compared either.
    let names: Vec<String> = records(dir.path()).into_iter().map(|record| record.id).collect();
    let mut late = netfathom("compare --fail-if nonsense>5% --out");
    refused_for(late.arg(dir.path()).args(&names), 2, &["did you mean"]);
}

/// The job of docs/ci: its command, with less to do and nothing to install.
#[test]
fn the_job_for_ci_is_yaml_and_its_command_works() {
    let job = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ci/netfathom.yml");
    let print = "import sys, yaml; steps = yaml.safe_load(open(sys.argv[1]))['jobs']['compare']['steps']; \
                 print(next(step['run'] for step in steps if 'Compare' in step.get('name', '')))";
    let parsed = Command::new("python3").args(["-c", print]).arg(job).output().unwrap();
    let reply = String::from_utf8_lossy(&parsed.stderr);
    needs!(!reply.contains("No module named"), "needs python3-yaml");
    assert!(parsed.status.success(), "{reply}");
    let mut script = String::from_utf8(parsed.stdout).unwrap();
    for (there, here) in [
        ("sudo netfathom", "\"$0\""),
        ("make -C base install", "true"),
        ("make -C head install", "true"),
        ("--rounds 10", "--rounds 4"),
        (">5%", ">500%"),
        ("--trials 5", "--trials 2 --messages 100 --min-time 1ms"),
    ] {
        assert!(script.contains(there), "{there}: {script}");
        script = script.replace(there, here);
    }
    let dir = out();
    run(shell(&script).current_dir(dir.path())).exited(0);
    let markdown = fs::read_to_string(dir.path().join("comparison.md")).unwrap();
    assert!(markdown.starts_with("**") && markdown.contains("## Settings and plan"), "{markdown}");
}

/// In a network namespace of its own, so that no sysctl of the host is touched.
#[test]
fn a_sysctl_that_was_changed_between_two_runs_is_the_first_thing_shown() {
    needs_root!();
    let dir = out();
    let over_tcp = SHORT.replace("unix", "tcp");
    let script = format!(
        "set -e; ip link set lo up; cd '{}'; measure() {{ \"$0\" {over_tcp} --quiet --out $1 || test $? = 3; }}; \
         cat /proc/sys/net/ipv4/tcp_wmem; measure before; \
         echo '4096 4096 4096' > /proc/sys/net/ipv4/tcp_wmem; measure after",
        dir.path().display()
    );
    let made = run(&mut unshared("--net", &script)).exited(0);
    let usual = made.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let [before, after] = ["before", "after"].map(|name| only_run(&dir.path().join(name)));
    let mut shown = super::compare(&[&before, &after], "--force");
    shown.out.truncate(shown.out.find("Main quantities").expect("a table after it"));
    let change = format!("net.ipv4.tcp_wmem {usual} \u{2192} 4096 4096 4096");
    shown.shows(&[&format!("changed {change} (limits TCP send buffers)")]);
    let command = store::read(&before).unwrap().command;
    assert!(command.starts_with("netfathom message pingpong") && command.contains("--over tcp"), "{command}");
}
