//! What the program has to do.

use netfathom_testkit::needs_root;

use super::{CHEAP, Short, measured, trials};
use crate::child::runs;

#[test]
fn packets_reach_the_host_that_the_program_is_in() {
    needs_root!();
    let short = Short::new();
    // Each start has a file of its own, with the packets that came in as the host counts them.
    let script = format!(
        "while :; do grep -v -e lo: -e '|' /proc/net/dev | tr : ' ' >>{}.$$; sleep 0.02; done",
        short.file("seen")
    );
    let args = ["--load", "udp:0,8M", "--", "sh", "-c", &script];
    let (_, result) = measured(short.quickly("b=sleep 0.2").args(args));
    let names: Vec<&str> = result.conditions.iter().map(|condition| condition.name.as_str()).collect();
    assert_eq!(names, ["baseline", "0", "8M, load alone", "8M"]);
    for condition in [2, 3] {
        for trial in trials(&result, condition) {
            let reached = trial.load_reached.unwrap();
            assert!((0.5..1.1).contains(&reached), "{reached}");
        }
    }
    assert!(trials(&result, 1).iter().all(|trial| trial.load_reached.is_none()));
    // 8 Mbit/s are 940 packets a second: 188 in a trial. Those at level 0 and the first start see none.
    let seen: Vec<u64> = runs(short.dir.path())
        .iter()
        .filter(|path| path.to_string_lossy().contains("seen."))
        .map(|path| came_in(&std::fs::read_to_string(path).unwrap()))
        .collect();
    let (loaded, idle): (Vec<u64>, Vec<u64>) = seen.iter().partition(|&&packets| packets > 60);
    assert_eq!(loaded.len(), super::TRIALS + super::one_more(&result), "{seen:?}");
    assert!(idle.len() > super::TRIALS && idle.iter().all(|&packets| packets < 20), "{seen:?}");
}

/// From the first line to the last.
fn came_in(text: &str) -> u64 {
    let packets: Vec<u64> =
        text.lines().map(|line| line.split_whitespace().nth(2).unwrap().parse().unwrap()).collect();
    packets.last().unwrap() - packets[0]
}

#[test]
fn levels_stand_in_the_program_and_in_the_load() {
    let short = Short::new();
    let script = format!("echo program {{level}} >>{}; exec sleep 1000", short.file("log"));
    let (_, result) =
        measured(short.quickly(CHEAP).args(["--levels", "few,many", "--", "sh", "-c", &script]));
    assert_eq!(result.conditions.len(), 3);
    let counts = |line: &str| short.lines("log").iter().filter(|&shown| shown == line).count();
    // The first start is that of the first level, one more run that of the last.
    let many = super::TRIALS + super::one_more(&result);
    assert_eq!((counts("program few"), counts("program many")), (super::TRIALS + 1, many));
    let load = format!("echo load {{level}} >>{}; exec sleep 1000", short.file("log"));
    let args = ["--load", &load, "--levels", "few,many", "--", "sleep", "1000"];
    let (_, result) = measured(short.quickly("b=sleep 0.05").args(args));
    assert_eq!(result.conditions.len(), 5);
    // With the program and without it.
    let many = 2 * super::TRIALS + super::one_more(&result);
    assert_eq!((counts("load few"), counts("load many")), (2 * super::TRIALS, many));
}

#[test]
fn a_load_without_levels_is_one() {
    let short = Short::new();
    let load = format!("echo load >>{}; exec sleep 1000", short.file("log"));
    let args = ["--load", &load, "--", "sleep", "1000"];
    let (_, result) = measured(short.quickly("b=sleep 0.05").args(args));
    let names: Vec<&str> = result.conditions.iter().map(|condition| condition.name.as_str()).collect();
    assert_eq!(names, ["baseline", "load, load alone", "load"]);
    assert_eq!(short.lines("log").len(), 2 * super::TRIALS + super::one_more(&result));
}

#[test]
fn phases_beside_a_benchmark_are_measured_too() {
    let short = Short::new();
    let args = ["--phases", "calls", "--phase", "20ms", "--nothing"];
    let (_, result) = measured(short.quickly(CHEAP).args(args));
    let names: Vec<&str> = result.benchmarks.iter().map(|benchmark| benchmark.name.as_str()).collect();
    assert_eq!(names, ["b", "light"]);
    assert_eq!(result.benchmarks[1].spans, ["calls"]);
}
