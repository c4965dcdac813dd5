//! A directory and another user's link to a victim take turns under one name while runs are written.

use std::fs;
use std::os::unix::fs::{lchown, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_model::record::Record;
use netfathom_results::export::pcapng;
use netfathom_results::store::{self, RunDir};
use netfathom_testkit::needs_root;

use crate::fixtures::fixture;

const NAME: &str = "20261121T031400Z-stack-1a2b3c4d";
/// As often the two take turns, however busy the machine is, unless that takes too long.
const TURNS: usize = 100;
const LONGEST: Duration = Duration::from_secs(5);

/// What writes or removes in a directory of runs or in that of a run; that it is refused is as good.
type Writer = fn(&Path, &RunDir, &Record);

/// Every file that a run can have, and everything that goes again.
const WRITERS: [(&str, Writer); 9] = [
    ("record", |_, run, record| run.write_record(record).unwrap()),
    ("report", |_, run, _| run.write_file(store::REPORT_FILE, b"report").unwrap()),
    ("samples", |_, run, _| store::samples::write(run.directory(), &[]).unwrap()),
    ("capture", |_, run, record| pcapng::write(run.directory(), record, &[]).unwrap()),
    ("tags", |out, _, _| drop(store::tag(&out.join(NAME), &["base".into()]))),
    ("discard", |_, run, _| run.discard()),
    ("sweep", |out, _, _| drop(store::remove_leftovers(out))),
    ("remove", |out, _, _| drop(store::remove(&out.join(NAME)))),
    ("new run", |out, _, record| drop(RunDir::create(out, &record.id))),
];

#[test]
fn a_victim_is_neither_written_to_nor_emptied() {
    needs_root!();
    let record = fixture("stack");
    for (what, write) in WRITERS {
        for swapped in ["runs", &format!("runs/{NAME}")] {
            attacked(&format!("{what}, {swapped}"), swapped, write, &record);
        }
    }
}

fn attacked(what: &str, swapped: &str, write: Writer, record: &Record) {
    let ground = tempfile::tempdir().unwrap();
    let (out, victim) = (ground.path().join("runs"), ground.path().join("victim"));
    // It looks like a run, with something to sweep, so that nothing is spared for what it is.
    let theirs = [store::RECORD_FILE, "record.json.4194305.tmp", store::REPORT_FILE];
    fs::create_dir_all(victim.join(NAME)).unwrap();
    theirs.iter().for_each(|name| fs::write(victim.join(NAME).join(name), "theirs").unwrap());
    let run = RunDir::create(&out, NAME).unwrap();
    let target = if swapped == "runs" { victim.clone() } else { victim.join(NAME) };
    let (turns, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| swap(&ground.path().join(swapped), &target, &turns, &over));
        let began = Instant::now();
        while turns.load(Relaxed) < TURNS && began.elapsed() < LONGEST {
            write(&out, &run, record);
        }
        over.store(true, Relaxed);
    });
    let names = |of: &Path| {
        let mut names: Vec<_> = fs::read_dir(of).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&victim), [NAME], "{what}");
    assert_eq!(names(&victim.join(NAME)), theirs, "{what}");
    for name in theirs {
        assert_eq!(fs::read(victim.join(NAME).join(name)).unwrap(), b"theirs", "{what}: {name}");
    }
}

/// There and back, again and again. What was removed meanwhile is made again.
fn swap(name: &Path, target: &Path, turns: &AtomicUsize, over: &AtomicBool) {
    let (away, link) = (name.with_file_name("away"), name.with_file_name("link"));
    while !over.load(Relaxed) {
        let _ = fs::create_dir(name);
        symlink(target, &link).unwrap();
        lchown(&link, Some(65_534), None).unwrap();
        let taken = fs::rename(name, &away).and_then(|()| fs::rename(&link, name));
        thread::yield_now();
        if taken.is_ok() {
            let _ = fs::remove_file(name);
        } else {
            let _ = fs::remove_file(&link);
        }
        let _ = fs::rename(&away, name);
        turns.fetch_add(1, Relaxed);
    }
}
