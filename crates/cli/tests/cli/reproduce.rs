//! The experiments of the papers: their list, their names, and an end in the middle of one.

use netfathom_model::record::{Measurement, State};

use crate::child::{end, netfathom, out, record, run, signal, start, until};
use crate::refusals::refused;

const NAMES: [&str; 17] = [
    "borodin-tx",
    "borodin-rx",
    "borodin-rx-triangle",
    "borodin-reverse",
    "borodin-asymmetry",
    "borodin-instances",
    "borodin-protocols",
    "ttcp-sndbuf",
    "zccl-1",
    "zccl-1-ethernet",
    "zccl-2",
    "zccl-2-ethernet",
    "zccl-3",
    "zccl-3-ethernet",
    "zccl-4",
    "zccl-4-ethernet",
    "zccl-anomaly",
];

#[test]
fn without_a_name_the_experiments_are_listed() {
    let ended = run(&mut netfathom("reproduce"));
    assert_eq!((ended.status, ended.err.as_str()), (0, ""));
    for name in NAMES {
        assert!(
            ended.out.lines().any(|line| line.split_whitespace().next() == Some(name)),
            "{name}: {}",
            ended.out
        );
    }
    assert!(ended.out.contains("(root)") && ended.out.lines().count() <= 40, "{}", ended.out);
    assert!(ended.out.lines().all(|line| line.chars().count() <= 80), "{}", ended.out);
    let whole = run(&mut netfathom("reproduce -v"));
    assert!(whole.out.contains("needs    root") && whole.out.contains("with --quick"), "{}", whole.out);
}

#[test]
fn the_list_is_there_as_json_too() {
    let ended = run(&mut netfathom("reproduce --json"));
    let all: Vec<serde_json::Value> = serde_json::from_str(&ended.out).unwrap();
    for name in NAMES {
        let entry = all.iter().find(|entry| entry["name"] == name).unwrap();
        assert!(entry["quick_s"].as_u64().unwrap() <= 120, "{entry}");
        assert!(["root", "nothing"].contains(&entry["needs"].as_str().unwrap()), "{entry}");
    }
}

#[test]
fn an_unknown_name_is_wrong_usage_and_the_nearest_is_named_first() {
    let message = refused(&mut netfathom("reproduce borodin-revers"), 2);
    assert!(
        message.contains("no experiment `borodin-revers`; choose one of: borodin-reverse, "),
        "{message}"
    );
    assert!(NAMES.iter().all(|name| message.contains(name)), "{message}");
}

#[test]
fn a_tap_without_a_use_is_wrong_usage() {
    let message = refused(&mut netfathom("reproduce borodin-reverse --quick --tap timestamping"), 2);
    assert!(message.contains("--tap timestamping") && message.contains("choose from auto, bpf"), "{message}");
}

#[test]
fn an_end_in_the_middle_keeps_what_there_is() {
    let dir = out();
    let mut command = netfathom("reproduce borodin-rx-triangle --quick --tap timestamping --quiet");
    let child = start(command.arg("--out").arg(dir.path()));
    until("the plan on disk", || record(dir.path()));
    signal("INT", &child);
    // Not a single trial was finished.
    assert_eq!(end(child).status, 3);
    let record = record(dir.path()).unwrap();
    assert_eq!(record.state, State::Interrupted);
    let Measurement::Reproduce(result) = record.measurement else { panic!("another measurement") };
    assert_eq!((result.plan.name.as_str(), result.runs.len()), ("borodin-rx-triangle", 1));
    assert!(result.tables.iter().all(|table| !table.rows.is_empty()), "the source's rows are there");
}
