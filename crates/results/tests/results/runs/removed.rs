//! Removing runs, and what must never go with them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use netfathom_results::store::{self, RunDir, remove, size_bytes};

use super::{directory, id, put};

fn refusal(path: &Path) -> String {
    remove(path).expect_err("a refusal").to_string()
}

#[test]
fn a_run_goes_with_all_its_files_and_links_are_not_followed() {
    let (out, elsewhere) = (directory(), directory());
    fs::write(elsewhere.path().join("precious"), "gold").unwrap();
    let (run, other) = (put(out.path(), 1), put(out.path(), 2));
    symlink(elsewhere.path(), run.join("link")).unwrap();
    fs::create_dir(run.join("deep")).unwrap();
    symlink(elsewhere.path().join("precious"), run.join("deep/link")).unwrap();
    fs::write(run.join("samples.parquet"), vec![1; 100_000]).unwrap();
    assert!(size_bytes(&run) >= 100_000, "{}", size_bytes(&run));
    remove(&run).unwrap();
    assert!(!run.exists() && other.join("record.json").exists());
    assert_eq!(fs::read_to_string(elsewhere.path().join("precious")).unwrap(), "gold");
}

#[test]
fn a_head_makes_no_run_of_what_holds_no_record() {
    let out = directory();
    let run = RunDir::create(out.path(), &id(1)).unwrap();
    run.write_record(&crate::contract::stack_fixture()).unwrap();
    let photos = out.path().join("photos");
    fs::create_dir(&photos).unwrap();
    fs::write(photos.join("record.json"), "holiday").unwrap();
    // One that a list believes: of this size, and with the same ends.
    let mut crc = flate2::Crc::new();
    crc.update(b"holidayholiday");
    let mut head: serde_json::Value =
        serde_json::from_slice(&fs::read(run.path().join("head.json")).unwrap()).unwrap();
    (head["record_bytes"], head["record_ends"]) = (7.into(), crc.sum().into());
    fs::write(photos.join("head.json"), head.to_string()).unwrap();
    assert_eq!(store::catalogue(out.path()).unwrap().entries.len(), 2, "the list believes it");
    assert!(refusal(&photos).contains("holds no record that can be read"));
    let by_records = store::catalogue_of_records(out.path()).unwrap();
    assert_eq!(by_records.entries.iter().filter(|entry| entry.head.is_some()).count(), 1);
}

#[test]
fn only_runs_are_removed() {
    let (out, elsewhere) = (directory(), directory());
    let at = |name: &str| out.path().join(name);
    let precious = put(elsewhere.path(), 1);
    fs::create_dir(at("photos")).unwrap();
    fs::write(at("photos/one"), "").unwrap();
    fs::write(at("file"), "").unwrap();
    symlink(&precious, at(&id(1))).unwrap();
    assert!(refusal(&at("photos")).contains("holds no record that can be read, and is not named like a run"));
    assert!(refusal(&at("file")).contains("a file or a symbolic link"));
    assert!(refusal(&at(&id(1))).contains("a file or a symbolic link"));
    assert!(refusal(&at("nowhere")).contains("cannot remove"));
    for path in [Path::new("/"), &at(".."), &at("photos/.."), Path::new("")] {
        assert!(refusal(path).contains("no directory of one run"), "{path:?}");
    }
    assert!(at("photos/one").exists() && at("file").exists() && precious.join("record.json").exists());
    // Without a record, but of a run's name; of another name only with a record that is one.
    fs::create_dir(at(&id(2))).unwrap();
    remove(&at(&id(2))).unwrap();
    fs::create_dir(at("mine")).unwrap();
    fs::write(at("mine/record.json"), "{").unwrap();
    assert!(refusal(&at("mine")).contains("holds no record"));
    fs::copy(precious.join("record.json"), at("mine/record.json")).unwrap();
    remove(&at("mine")).unwrap();
    assert!(!at(&id(2)).exists() && !at("mine").exists());
}

#[test]
fn a_run_that_is_being_written_stays() {
    let out = directory();
    let run = RunDir::create(out.path(), &id(1)).unwrap();
    assert!(refusal(run.path()).contains("it is being written"));
    let path = run.path().to_owned();
    assert!(path.exists());
    drop(run);
    remove(&path).unwrap();
}

#[test]
fn a_run_is_read_by_its_name_and_not_by_a_way_out() {
    let (out, elsewhere) = (directory(), directory());
    let run = out.path().join(id(1));
    fs::create_dir(&run).unwrap();
    fs::copy(crate::contract::file("tests/fixtures/stack.json"), run.join("record.json")).unwrap();
    let linked = put(elsewhere.path(), 2);
    fs::copy(run.join("record.json"), linked.join("record.json")).unwrap();
    symlink(&linked, out.path().join(id(2))).unwrap();
    let read = |name: &str| store::read_run(out.path(), OsStr::new(name));
    assert!(read(&id(1)).is_ok());
    let name = id(2);
    let up = format!("../{}/{name}", elsewhere.path().file_name().unwrap().to_str().unwrap());
    for name in [&name, &up, "..", ".", "", "/etc", "a/b", linked.to_str().unwrap()] {
        assert!(read(name).is_err(), "{name}");
    }
}
