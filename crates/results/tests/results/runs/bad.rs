//! Runs that are damaged, from the future, or no runs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use netfathom_model::record::State;
use netfathom_model::verdict::Level;
use netfathom_results::store::{self, Filter, ProblemKind, ReadError, RunDir, catalogue};

use super::{directory, head, id, listed, put};

/// What a run with such a record is listed as.
fn problem(record: &[u8]) -> Option<(ProblemKind, String)> {
    let out = directory();
    let run = put(out.path(), 1);
    put(out.path(), 2);
    fs::write(run.join("record.json"), record).unwrap();
    let all = listed(out.path());
    assert_eq!(all.entries.len(), 2, "one breaks the other");
    let entry = |i| all.entries.iter().find(|e| e.name == id(i)).expect("an entry");
    assert!(entry(2).head.is_some(), "one breaks the other");
    let entry = entry(1);
    let named = entry.head.is_some() || entry.started.to_string() == "2026-11-01T00:00:01Z";
    assert!(named, "the name tells the time where the record does not: {}", entry.started);
    entry.problem.as_ref().map(|p| (p.kind, p.why.clone()))
}

fn stack() -> Vec<u8> {
    fs::read(crate::contract::file("tests/fixtures/stack.json")).unwrap()
}

#[test]
fn a_record_that_is_cut_off_anywhere_is_noticed() {
    let whole = stack();
    assert_eq!(problem(&whole), None);
    for end in [1, 100, 5000, whole.len() / 2, whole.len() - 2] {
        let (kind, why) = problem(&whole[..end]).unwrap_or_else(|| panic!("cut at {end}"));
        assert_eq!(kind, ProblemKind::Damaged, "{end}: {why}");
        assert!(why.contains("cut off"), "{end}: {why}");
    }
}

#[test]
fn a_record_may_be_set_in_another_way() {
    let value: serde_json::Value = serde_json::from_slice(&stack()).unwrap();
    let pretty = serde_json::to_vec_pretty(&value).unwrap();
    assert_eq!(problem(&pretty), None);
    assert_eq!(problem(&stack()[..stack().len() - 1]), None, "without a line break");
}

#[test]
fn what_is_no_record_is_listed_with_the_reason() {
    let says = |record: &str, kind: ProblemKind, why: &str| {
        let (found, message) = problem(record.as_bytes()).unwrap_or_else(|| panic!("{record}"));
        assert_eq!(found, kind, "{record}: {message}");
        assert!(message.contains(why), "{record}: {message}");
    };
    let h = head(1, &id(1));
    says("", ProblemKind::Damaged, "cut off");
    says("17", ProblemKind::Damaged, "a record");
    says("{}\n", ProblemKind::Damaged, "missing field `schema_version`");
    says("[1]", ProblemKind::Damaged, "a record");
    says("<html>", ProblemKind::Damaged, "line 1");
    says("{\"schema_version\":0}\n", ProblemKind::Damaged, "schema_version");
    says(
        "{\"schema_version\":9,\"who\":\"knows\"}",
        ProblemKind::Newer,
        "schema 9; this build reads up to 1",
    );
    says(&h.replace("VOID", "SPLENDID").replace("DEGRADED", "SPLENDID"), ProblemKind::Damaged, "SPLENDID");
    says(&(h.clone() + "}}\0\0\0"), ProblemKind::Damaged, "line 1");
    says(&h.replace("\"schema_version\":1", "\"schema_version\":1e999"), ProblemKind::Damaged, "");
    says(&format!("{h},\"x\":{}\n", "[".repeat(200_000)), ProblemKind::Damaged, "cut off");
    let (kind, _) = problem(&[0xff, 0xfe, 0]).unwrap();
    assert_eq!(kind, ProblemKind::Damaged);
}

/// What the only run is listed as, when `spoil` has been there.
fn level_after(spoil: impl FnOnce(&Path)) -> Option<Level> {
    let out = directory();
    let run = RunDir::create(out.path(), &id(1)).unwrap();
    run.write_record(&crate::contract::stack_fixture()).unwrap();
    // A lie that shows where the level is from.
    let head = run.path().join("head.json");
    fs::write(&head, fs::read_to_string(&head).unwrap().replace("DEGRADED", "VALID")).unwrap();
    spoil(run.path());
    listed(out.path()).entries[0].head.as_ref().map(|head| head.verdict)
}

#[test]
fn a_head_is_read_only_if_it_is_of_the_record() {
    assert_eq!(level_after(|_| ()), Some(Level::Valid));
    let later = |run: &Path| {
        let record = fs::File::options().append(true).open(run.join("record.json")).unwrap();
        record.set_modified(SystemTime::now() + Duration::from_secs(1)).unwrap();
    };
    assert_eq!(level_after(later), Some(Level::Degraded));
    let of_other_size = |run: &Path| {
        let record = fs::read(run.join("record.json")).unwrap();
        fs::write(run.join("record.json"), [&record[..], b"\n"].concat()).unwrap();
        fs::File::options()
            .append(true)
            .open(run.join("head.json"))
            .unwrap()
            .set_modified(SystemTime::now())
            .unwrap();
    };
    assert_eq!(level_after(of_other_size), Some(Level::Degraded));
    // As a copy with its times, or a page of zeros, leaves it.
    let with_other_ends = |run: &Path| {
        let path = run.join("record.json");
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let record = fs::read_to_string(&path).unwrap();
        fs::write(&path, record.replacen("0.1.0", "0.1.1", 1)).unwrap();
        fs::File::options().append(true).open(&path).unwrap().set_modified(modified).unwrap();
    };
    assert_eq!(level_after(with_other_ends), Some(Level::Degraded));
    let head = |content: &[u8]| level_after(|run| fs::write(run.join("head.json"), content).unwrap());
    for content in
        ["", "{", "[1]", "{\"record_bytes\":1,\"head\":{}}", &"[".repeat(60_000), &" ".repeat(70_000)]
    {
        assert_eq!(head(content.as_bytes()), Some(Level::Degraded), "{content:.40}");
    }
    let linked = |run: &Path| {
        fs::rename(run.join("head.json"), run.join("elsewhere")).unwrap();
        symlink("elsewhere", run.join("head.json")).unwrap();
    };
    assert_eq!(level_after(linked), Some(Level::Degraded));
}

#[test]
fn links_pipes_and_strangers_are_no_runs() {
    let elsewhere = directory();
    let secret = put(elsewhere.path(), 7);
    let out = directory();
    let at = |name: &str| out.path().join(name);
    put(out.path(), 1);
    symlink(&secret, at("20261103T000000Z-stack-1")).unwrap();
    symlink("nowhere", at("latest")).unwrap();
    fs::write(at("notes.txt"), "x").unwrap();
    fs::create_dir(at("photos")).unwrap();
    fs::create_dir(at(&id(3))).unwrap();
    for name in ["linked", "piped", "nested"] {
        fs::create_dir(at(name)).unwrap();
    }
    symlink(secret.join("record.json"), at("linked/record.json")).unwrap();
    assert!(Command::new("mkfifo").arg(at("piped/record.json")).status().unwrap().success());
    fs::create_dir(at("nested/record.json")).unwrap();
    let all = listed(out.path());
    let why = |name: &str| {
        let entry = all.entries.iter().find(|e| e.name == name).unwrap_or_else(|| panic!("{name}"));
        entry.problem.as_ref().map(|p| p.why.clone()).unwrap_or_default()
    };
    assert_eq!(all.entries.len(), 5);
    assert!(why("linked").contains("symbolic link"), "{}", why("linked"));
    assert!(why("piped").contains("no plain file"), "{}", why("piped"));
    assert!(why("nested").contains("no plain file"), "{}", why("nested"));
    assert!(why(&id(3)).contains("killed before its first trial"), "{}", why(&id(3)));
    assert_eq!(all.strangers, 4);
    assert_eq!(all.stranger_names, ["20261103T000000Z-stack-1", "latest", "notes.txt", "photos"]);
}

#[test]
fn a_run_that_is_being_written_differs_from_a_killed_one() {
    let out = directory();
    let mut record = crate::contract::stack_fixture();
    record.state = State::Partial;
    let run = RunDir::create(out.path(), &id(1)).unwrap();
    let condition = || listed(out.path()).entries[0].head.as_ref().map(|h| h.condition());
    let why = listed(out.path()).entries[0].problem.clone().unwrap();
    assert_eq!((why.kind, why.why.as_str()), (ProblemKind::NoRecord, "it has only begun"));
    run.write_record(&record).unwrap();
    assert_eq!(condition(), Some("running"));
    drop(run);
    assert_eq!(condition(), Some("partial"));
}

#[test]
fn runs_without_a_head_are_wanted_only_by_time_and_tag() {
    let out = directory();
    fs::write(put(out.path(), 1).join("record.json"), "{").unwrap();
    let all = listed(out.path());
    let wants = |filter: Filter| filter.wants(&all.entries[0]);
    assert!(wants(Filter::default()));
    assert!(wants(Filter { since: "2026-11-01T00:00:00Z".parse().ok(), ..Filter::default() }));
    assert!(!wants(Filter { since: "2026-11-02T00:00:00Z".parse().ok(), ..Filter::default() }));
    assert!(!wants(Filter { tags: vec!["base".into()], ..Filter::default() }));
    assert!(!wants(Filter { host: Some("anna".into()), ..Filter::default() }));
    assert!(!wants(Filter { verdicts: vec![Level::Valid], ..Filter::default() }));
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let message = |path: &Path| catalogue(path).expect_err("a refusal").to_string();
    let out = directory();
    assert!(message(&out.path().join("nowhere")).contains("nowhere: runs go to `runs`"));
    fs::write(out.path().join("file"), "").unwrap();
    assert!(message(&out.path().join("file")).contains("cannot read the directory of runs"));
}

#[test]
fn a_record_without_end_is_not_read() {
    let out = directory();
    let run = put(out.path(), 1);
    put(out.path(), 2);
    // It takes no room on the disk, and its head is that of a record.
    let file = fs::File::options().write(true).open(run.join("record.json")).unwrap();
    file.set_len(4 << 30).unwrap();
    let all = listed(out.path());
    let entry = |i| all.entries.iter().find(|e| e.name == id(i)).expect("an entry");
    let problem = entry(1).problem.as_ref().expect("a problem");
    assert_eq!(problem.kind, ProblemKind::Damaged);
    assert!(problem.why.contains("more than 1024 MiB"), "{}", problem.why);
    assert!(entry(2).head.is_some(), "one breaks the other");
    for message in [store::read(&run), store::read_run(out.path(), id(1).as_ref())] {
        let message = message.expect_err("a refusal").to_string();
        assert!(message.contains("more than 1024 MiB"), "{message}");
    }
    // What is no file has no size beforehand.
    let message = store::read(Path::new("/dev/zero")).expect_err("a refusal");
    assert!(matches!(message, ReadError::TooLarge { .. }), "{message}");
}
