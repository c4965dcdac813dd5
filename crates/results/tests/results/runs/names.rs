//! What a run can be called by.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use netfathom_results::store::{self, RunDir, TagError, resolve};

use super::{directory, id, listed, put};

fn tags(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn a_run_is_named_by_path_prefix_short_id_tag_and_place() {
    let out = directory();
    let runs: Vec<PathBuf> = (0..5).map(|i| put(out.path(), 100 + i)).collect();
    store::tag(&runs[1], &tags(&["base", "before/tuning"])).unwrap();
    let found = |name: &str| resolve(out.path(), Path::new(name)).map_err(|e| e.to_string());
    assert_eq!(found("last"), Ok(runs[4].clone()));
    assert_eq!(found("last~1"), Ok(runs[3].clone()));
    assert_eq!(found("last~4"), Ok(runs[0].clone()));
    assert_eq!(found("base"), Ok(runs[1].clone()));
    assert_eq!(found("before/tuning"), Ok(runs[1].clone()));
    assert_eq!(found(&id(102)), Ok(runs[2].clone()));
    assert_eq!(found(&id(102)[..20]), Ok(runs[2].clone()));
    assert_eq!(found("00000067"), Ok(runs[3].clone()));
    assert_eq!(found(runs[0].to_str().unwrap()), Ok(runs[0].clone()));
    assert_eq!(found("-"), Ok("-".into()));
    assert!(found("last~5").unwrap_err().contains("holds 5 runs"));
    assert!(found("2026").unwrap_err().contains("`2026` is 5 runs: 20261101T000144Z-cost-00000068, "));
    assert!(found("nope").unwrap_err().contains("no run in "));
    store::tag(&runs[2], &tags(&["base"])).unwrap();
    assert!(found("base").unwrap_err().contains("`base` is 2 runs"));
    // A path that is there is no name, whatever it holds.
    assert_eq!(found("/"), Ok("/".into()));
}

#[test]
fn the_last_run_is_one_with_a_record() {
    let out = directory();
    let first = put(out.path(), 1);
    let damaged = put(out.path(), 2);
    fs::write(damaged.join("record.json"), "{").unwrap();
    let begun = RunDir::create(out.path(), &id(3)).unwrap();
    assert_eq!(resolve(out.path(), Path::new("last")).unwrap(), damaged);
    assert_eq!(resolve(out.path(), Path::new("last~1")).unwrap(), first);
    drop(begun);
}

#[test]
fn of_two_runs_of_one_second_the_later_is_the_last() {
    let out = directory();
    // In the order of time, not of names.
    let runs = [("ttcp-ffffffff", 200), ("load-00000000", 700)].map(|(rest, ms)| {
        let started = SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_230_840_000 + ms);
        let mut record = crate::contract::stack_fixture();
        record.id = format!("20261121T031400Z-{rest}");
        record.started_utc = store::rfc3339(started);
        let run = RunDir::create(out.path(), &record.id).unwrap();
        run.write_record(&record).unwrap();
        run.path().to_owned()
    });
    let found = |name: &str| resolve(out.path(), Path::new(name)).unwrap();
    assert_eq!([found("last~1"), found("last")], runs);
    // The files of heads and the records alone.
    for all in [listed(out.path()), store::catalogue_of_records(out.path()).unwrap()] {
        let paths: Vec<&PathBuf> = all.entries.iter().rev().map(|e| &e.path).collect();
        assert_eq!(paths, runs.each_ref());
    }
    let refusal = store::read(out.path()).unwrap_err().to_string();
    assert!(refusal.ends_with(&format!("such as the newest, {}", runs[1].display())), "{refusal}");
}

#[test]
fn links_are_no_names() {
    let (out, elsewhere) = (directory(), directory());
    symlink(put(elsewhere.path(), 1), out.path().join(id(1))).unwrap();
    assert!(resolve(out.path(), Path::new(&id(1))).unwrap_err().to_string().contains("no run in"));
}

#[test]
fn tags_come_and_go_by_rename() {
    let out = directory();
    let run = put(out.path(), 1);
    assert_eq!(store::tag(&run, &tags(&["b", "a", "b"])).unwrap(), ["a", "b"]);
    assert_eq!(listed(out.path()).entries[0].tags, ["a", "b"]);
    assert_eq!(store::untag(&run, &tags(&["b", "never"])).unwrap(), ["a"]);
    assert!(matches!(store::tag(&run, &tags(&["../up"])), Err(TagError::Name { .. })));
    assert_eq!(listed(out.path()).entries[0].tags, ["a"]);
    let mut names: Vec<_> = fs::read_dir(&run).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["record.json", "tags.json"]);
}

#[test]
fn of_many_who_tag_at_once_none_is_lost() {
    let out = directory();
    let run = put(out.path(), 1);
    std::thread::scope(|scope| {
        for i in 0..8 {
            let run = &run;
            scope.spawn(move || store::tag(run, &[format!("t{i}")]).unwrap());
        }
    });
    assert_eq!(listed(out.path()).entries[0].tags.len(), 8);
}

#[test]
fn damaged_tags_are_reported_and_kept() {
    let (out, elsewhere) = (directory(), directory());
    let run = put(out.path(), 1);
    let bait = elsewhere.path().join("bait");
    fs::write(&bait, r#"{"tags":["secret"]}"#).unwrap();
    let file = run.join("tags.json");
    for text in ["{", r#"{"tags":["\u001b[31m"]}"#, r#"{"tags":[1]}"#, ""] {
        fs::write(&file, text).unwrap();
        let entry = &listed(out.path()).entries[0];
        assert!(entry.tags.is_empty() && entry.tags_problem.is_some() && entry.head.is_some(), "{text}");
        assert!(matches!(store::tag(&run, &tags(&["x"])), Err(TagError::Damaged { .. })), "{text}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
    fs::remove_file(&file).unwrap();
    symlink(&bait, &file).unwrap();
    assert!(listed(out.path()).entries[0].tags_problem.as_ref().unwrap().contains("symbolic link"));
    assert!(matches!(store::tag(&run, &tags(&["x"])), Err(TagError::Damaged { .. })));
    assert_eq!(fs::read_to_string(&bait).unwrap(), r#"{"tags":["secret"]}"#);
}
