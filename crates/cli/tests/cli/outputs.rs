//! What a run prints and what it keeps.

use std::path::Path;
use std::process::Command;

use netfathom_model::host::{HostReport, HostStatus, Topic};
use netfathom_model::record::State;
use netfathom_testkit::{needs, test_name};

use crate::child::{
    LOOPBACK, is_root, netfathom, netfathom_to, on_terminal, only_run, out, record, result, run, shell,
    unprivileged,
};

/// What is written where standard output has no room.
const FULL: &str = "netfathom: cannot write to standard output: No space left on device (os error 28)\n";

fn to(args: &str, out: &Path) -> Command {
    netfathom_to(out, &format!("{LOOPBACK} {args}"))
}

fn complaints_of_the_schema(record: &serde_json::Value) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/schema/record-v1.schema.json");
    let schema: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    validator.iter_errors(record).map(|e| format!("{}: {e}", e.instance_path())).collect()
}

#[test]
fn json_is_the_record_and_nothing_else() {
    let dir = out();
    let ended = run(&mut to("--trials 2 --json", dir.path())).measured();
    assert_eq!(ended.out.lines().count(), 1, "one document, one line");
    let record: serde_json::Value = ended.json();
    assert_eq!(complaints_of_the_schema(&record), Vec::<String>::new());
    let mut broken = record.clone();
    broken["measurement"]["trials"][0]["accounting"]["sent"] = "many".into();
    assert_ne!(complaints_of_the_schema(&broken), Vec::<String>::new(), "the schema sees nothing");
    let run = only_run(dir.path());
    assert_eq!(std::fs::read_to_string(run.join("record.json")).unwrap(), ended.out);
    assert!(run.join("report.html").exists());
    assert_eq!(ended.err, "");
}

#[test]
fn tables_name_the_report_and_have_no_colours_in_a_pipe() {
    let dir = out();
    let ended = run(&mut to("--trials 1", dir.path())).measured();
    let report = only_run(dir.path()).join("report.html");
    assert!(ended.out.contains(&format!("\nreport: {}\nmore", report.display())), "{ended}");
    assert!(!ended.out.contains('\x1b'));
    assert_eq!(ended.err, "");
}

#[test]
fn a_reader_that_has_had_enough_is_no_error() {
    let dir = out();
    let run_of = |tail: &str| {
        // The shell tells the status of the binary, not that of the reader.
        let to = dir.path().display();
        run(&mut shell(&format!("{{ \"$0\" {LOOPBACK} --trials 1 --out {to}; echo $? >&3; }} 3>&2 | {tail}")))
    };
    for tail in ["head -1 >/dev/null", "true"] {
        let ended = run_of(tail);
        let shown = ended.err.lines().collect::<Vec<_>>();
        assert!(shown == ["0"] || shown == ["3"], "{tail}: {shown:?}");
    }
}

#[test]
fn a_full_standard_output_is_reported_and_the_run_is_kept() {
    let dir = out();
    let script = format!("exec \"$0\" {LOOPBACK} --trials 1 --out {} >/dev/full", dir.path().display());
    let ended = run(&mut shell(&script));
    assert_eq!((ended.status, ended.err.as_str()), (1, FULL));
    assert_eq!(record(dir.path()).unwrap().state, State::Complete);
}

#[test]
fn help_that_cannot_be_written_is_an_error_and_help_without_a_reader_is_none() {
    for args in ["--help", "--version", "-h", "help load", "load send --help", "completions bash", "host"] {
        let full = run(&mut shell(&format!("exec \"$0\" {args} >/dev/full")));
        assert_eq!((full.status, full.err.as_str()), (1, FULL), "{args}");
        let unread = run(&mut shell(&format!("{{ sleep 0.1; \"$0\" {args}; echo $? >&3; }} 3>&2 | true")));
        assert_eq!(unread.err, "0\n", "{args}");
    }
    // Wrong usage has its exit status, whether or not the message can be written.
    assert_eq!(run(&mut shell("exec \"$0\" --nonsense 2>/dev/full")).status, 2);
}

#[test]
fn closed_descriptors_are_no_error() {
    let dir = out();
    let script = format!("exec \"$0\" {LOOPBACK} --trials 1 --out {} <&- >&- 2>&-", dir.path().display());
    run(&mut shell(&script)).measured();
    assert_eq!(record(dir.path()).unwrap().state, State::Complete);
}

#[test]
fn the_plan_is_what_was_asked_for_and_quiet_prints_nothing() {
    let dir = out();
    let asked = "tx --trials 1 --size 500 --seed 18446744073709551615 --quiet --cpu 0,0";
    let ended = run(&mut to(asked, dir.path())).measured();
    assert_eq!((ended.out.as_str(), ended.err.as_str()), ("", ""));
    let record = record(dir.path()).unwrap();
    assert_eq!(record.state, State::Complete);
    let plan = &result(&record).plan;
    assert_eq!((plan.size_bytes, plan.seed, plan.cpus), (500, u64::MAX, Some((0, 0))));
    assert_eq!(plan.directions.len(), 1);
}

#[test]
fn host_tells_as_json_and_as_a_table() {
    let host: serde_json::Value = run(&mut netfathom("host --json")).exited(0).json();
    assert!(host.to_string().contains("timestamping"), "{host}");
    let table = run(&mut netfathom("host")).quietly();
    assert!(table.out.starts_with("->  netfathom stack"), "{table}");
}

#[test]
fn host_without_privilege_names_what_is_missing_with_its_remedy() {
    needs!(is_root(), "needs root, to drop it");
    let report: HostReport = run(&mut unprivileged("host --json")).json();
    let status = |topic, name| &report.row(topic, name).unwrap_or_else(|| panic!("no row {name}")).status;
    for (topic, name) in [
        (Topic::Taps, "bpf"),
        (Topic::Places, "lab, IPv4"),
        (Topic::Privileges, "CAP_BPF"),
        (Topic::Kernel, "packet socket"),
        (Topic::Kernel, "tcx"),
        (Topic::Kernel, "socket verdict"),
    ] {
        assert_eq!(status(topic, name).name(), "missing", "{name}");
    }
    assert_eq!(status(Topic::Places, "loopback, IPv4").name(), "works");
    assert_ne!(status(Topic::Taps, "timestamping").name(), "missing");
    let root = status(Topic::Privileges, "root");
    assert!(matches!(root, HostStatus::Limited { reason, .. } if reason.contains("65534")), "{root:?}");
    let rows = report.groups.iter().flat_map(|group| &group.rows);
    for (reason, remedy) in rows.filter_map(|row| row.status.shortcoming()) {
        assert!(!reason.is_empty() && !remedy.is_empty(), "{report:?}");
        assert!(!format!("{reason}{remedy}").contains("os error"), "{reason}: {remedy}");
    }
}

#[test]
fn a_terminal_shows_how_the_run_goes_on() {
    let dir = out();
    let args = format!("{LOOPBACK} --trials 2 --out {}", dir.path().display());
    let Some(ended) = on_terminal(test_name!(), &args) else { return };
    let shown = ended.measured().out;
    // Which of its seven trials are seen depends on how busy the machine is.
    for part in ["/7 (", "(measured)", "/s, lag ", " s left"] {
        assert!(shown.contains(part), "no {part:?} in {shown:?}");
    }
    // Its tables have colours there, and the line is gone before they come.
    let (_, tables) = shown.split_once("Send (tx)").expect("tables");
    assert!(tables.contains('\x1b') && !tables.contains("s left"), "{tables:?}");
}
