//! `netfathom report`: records that are there, and what is none.

use std::fs::{self, File};
use std::path::PathBuf;

use crate::child::{netfathom, out, run, shell};
use crate::refusals::refused;

fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../results/tests/fixtures/stack.json")
}

#[test]
fn what_is_no_record() {
    let dir = out();
    let at = |name: &str| dir.path().join(name);
    let whole = fs::read_to_string(fixture()).unwrap();
    let files = [
        ("foreign.json", r#"{"a":1}"#.to_owned()),
        ("list.json", "[1]".into()),
        ("report.html", "<!doctype html>".into()),
        ("truncated.json", whole[..1000].into()),
        ("future.json", whole.replacen(r#""schema_version":1"#, r#""schema_version":9"#, 1)),
        ("empty.json", String::new()),
    ];
    for (name, text) in &files {
        fs::write(at(name), text).unwrap();
    }
    fs::create_dir_all(at("empty")).unwrap();
    fs::create_dir_all(at("runs/a-run")).unwrap();
    fs::write(at("runs/a-run/record.json"), &whole).unwrap();
    let names = files.iter().map(|f| f.0).chain(["missing", "empty", "runs"]);
    let said: String = names.map(|n| refused(netfathom("report").arg(at(n)), 1)).collect();
    let said = said.replace(dir.path().to_str().unwrap(), "DIR");
    insta::assert_snapshot!(said);
}

#[test]
fn standard_input_is_a_record_too() {
    let ended = run(netfathom("report - --format txt").stdin(File::open(fixture()).unwrap()));
    assert_eq!((ended.status, ended.err.as_str()), (0, ""));
    assert!(ended.out.starts_with("netfathom stack"), "{}", ended.out);
    let said = refused(&mut netfathom("report -"), 1);
    assert!(said.contains("standard input"), "{said}");
}

#[test]
fn the_report_stands_beside_its_record() {
    let dir = out();
    fs::copy(fixture(), dir.path().join("record.json")).unwrap();
    let ended = run(netfathom("report").arg(dir.path()));
    let report = dir.path().join("report.html");
    assert_eq!((ended.status, ended.out), (0, format!("report: {}\n", report.display())));
    assert!(fs::read_to_string(report).unwrap().contains("</html>"));
}

#[test]
fn a_report_never_replaces_its_record() {
    let dir = out();
    let record = dir.path().join("record.json");
    fs::copy(fixture(), &record).unwrap();
    let said = refused(netfathom("report").arg(dir.path()).arg("-o").arg(&record), 1);
    assert!(said.contains("is the record itself; choose another file"), "{said}");
    assert!(fs::read(&record).unwrap() == fs::read(fixture()).unwrap());
}

#[test]
fn a_report_that_cannot_be_written() {
    let command = |to: &str| {
        let mut command = netfathom("report");
        command.arg(fixture()).args(["-o", to]);
        command
    };
    let said = refused(&mut command("/nonexistent/x.html"), 1) + &refused(&mut command("/dev/full"), 1);
    insta::assert_snapshot!(said);
    let script =
        format!("{{ \"$0\" report {} -o -; echo $? >&2; }} | head -1 >/dev/null", fixture().display());
    assert_eq!(run(&mut shell(&script)).err, "0\n");
}
