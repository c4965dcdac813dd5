//! Runs on disk, on good days and bad ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use netfathom_model::record::{Record, State};
use netfathom_results::store::{self, ReadError, RunDir, WriteError};
use tempfile::TempDir;

use crate::contract::stack_fixture;

fn out() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// A small record: what matters here is how it is written.
fn record() -> Record {
    let mut record = stack_fixture();
    let netfathom_model::record::Measurement::Stack(result) = &mut record.measurement else {
        panic!("the fixture is of another measurement")
    };
    result.trials.truncate(1);
    record
}

fn refusal(path: &Path) -> String {
    store::read(path).expect_err("a refusal").to_string()
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a directory");
    let mut names: Vec<_> =
        entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_record_is_read_by_directory_and_by_file() {
    let out = out();
    let run = RunDir::create(out.path(), "r1").expect("a run directory");
    run.write_record(&record()).expect("written");
    for path in [run.path().to_owned(), run.path().join("record.json")] {
        assert_eq!(store::read(&path).expect("read").id, record().id);
    }
    assert_eq!(names(run.path()), ["head.json", "record.json"]);
}

#[test]
fn two_runs_never_share_a_directory() {
    let out = out();
    RunDir::create(&out.path().join("deep/er"), "r1").expect("a run directory");
    let again = RunDir::create(&out.path().join("deep/er"), "r1");
    assert!(matches!(again, Err(WriteError::AlreadyThere { .. })));
}

#[test]
fn a_symbolic_link_without_a_target_is_no_file() {
    let out = out();
    let (link, file) = (out.path().join("link"), out.path().join("file"));
    std::os::unix::fs::symlink("nowhere", &link).unwrap();
    fs::write(&file, "").unwrap();
    let refused = |path: &Path| RunDir::create(path, "r1").unwrap_err().to_string();
    assert!(refused(&link).contains("its target is missing"), "{}", refused(&link));
    assert!(refused(&link.join("below")).contains("its target is missing"));
    assert!(refused(&file).contains("a file stands where a directory should be"));
}

#[test]
fn a_later_record_replaces_the_earlier_one() {
    let out = out();
    let run = RunDir::create(out.path(), "r1").expect("a run directory");
    for state in [State::Partial, State::Complete] {
        let mut record = record();
        record.state = state;
        run.write_record(&record).expect("written");
        assert_eq!(store::read(run.path()).expect("read").state, state);
    }
}

#[test]
fn a_number_that_json_cannot_hold_is_refused() {
    let out = out();
    let run = RunDir::create(out.path(), "r1").expect("a run directory");
    run.write_record(&record()).expect("written");
    let mut broken = record();
    broken.environment.clock_read_ns = f64::NAN;
    assert!(matches!(run.write_record(&broken), Err(WriteError::Unwritable { .. })));
    assert_eq!(store::read(run.path()).expect("read").environment.clock_read_ns, 21.4);
}

#[test]
fn what_is_not_a_run_is_named() {
    let out = out();
    assert!(refusal(&out.path().join("nowhere")).contains("there is no such run"));
    assert!(refusal(out.path()).contains("holds no record.json"));
    let run = RunDir::create(out.path(), "r1").expect("a run directory");
    run.write_record(&record()).expect("written");
    assert!(refusal(out.path()).contains("name one of them, such as the newest"));
    assert!(matches!(store::read(&run.path().join("record.json/x")), Err(ReadError::NotFound { .. })));
}

#[test]
fn damaged_json_says_where() {
    let out = out();
    let path = out.path().join("record.json");
    let whole = serde_json::to_string(&record()).expect("JSON");
    let refused = |text: &str| {
        fs::write(&path, text).expect("written");
        refusal(&path)
    };
    let cut = refused(&whole[..1000]);
    assert!(cut.contains("is damaged at line 1, column 1000"), "{cut}");
    assert!(refused("").contains("is damaged at line 1, column 0"));
    let wrong = refused(&whole.replacen("\"state\":\"complete\"", "\"state\":\"perfect\"", 1));
    assert!(wrong.contains("unknown variant `perfect`"), "{wrong}");
    assert!(refused("17").contains("holds JSON, but not that of a record"));
    assert!(refused("{}").contains("has no schema_version"));
    assert!(refused(r#"{"schema_version":0}"#).contains("has no schema_version"));
    assert!(refused(r#"{"schema_version":1}"#).contains("missing field"));
    fs::write(&path, [0xff, 0xfe, 0x00]).expect("written");
    assert!(refusal(&path).contains("is damaged at line 1"));
}

#[test]
fn a_record_from_the_future_is_refused_whatever_it_holds() {
    let out = out();
    let path = out.path().join("record.json");
    fs::write(&path, r#"{"schema_version":7,"measurement":{"kind":"telepathy"}}"#).expect("written");
    let text = refusal(&path);
    assert!(text.contains("written by a newer netfathom, schema 7; this build reads up to 1"), "{text}");
}

#[test]
fn sweeping_takes_what_killed_writers_left_and_nothing_else() {
    let out = out();
    let run = RunDir::create(out.path(), "r1").expect("a run directory");
    run.write_record(&record()).expect("written");
    let mut gone = Command::new("true").spawn().expect("a process");
    let gone_pid = gone.id();
    gone.wait().expect("its end");
    let put = |name: String| {
        let path = run.path().join(name);
        fs::write(&path, "half").expect("written");
        path
    };
    let stale = put(format!("record.json.{gone_pid}.tmp"));
    let live = put(format!("record.json.{}.tmp", std::process::id()));
    let foreign = put(format!("notes.{gone_pid}.tmp"));
    let locked = put(format!("samples.parquet.{gone_pid}.tmp"));
    let lock = fs::File::open(&locked).expect("the file");
    lock.try_lock().expect("a lock");
    assert_eq!(store::remove_leftovers(out.path()), vec![stale]);
    assert!(live.exists() && foreign.exists() && locked.exists() && run.path().join("record.json").exists());
    assert_eq!(store::remove_leftovers(&out.path().join("nowhere")), Vec::<PathBuf>::new());
}

/// Says so and returns `None` where tests may not mount.
fn tiny_disk() -> Option<Mount> {
    let dir = out();
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(dir.path())
        .stderr(Stdio::null())
        .status();
    if mount.is_ok_and(|s| s.success()) {
        return Some(Mount(dir));
    }
    netfathom_testkit::skipped(
        "store::a_full_disk",
        "it needs a small tmpfs, and this user may not mount one",
    );
    None
}

struct Mount(TempDir);

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_keeps_the_earlier_record_and_says_what_to_do() {
    let Some(disk) = tiny_disk() else { return };
    let run = RunDir::create(disk.0.path(), "r1").expect("a run directory");
    let mut small = record();
    let netfathom_model::record::Measurement::Stack(result) = &mut small.measurement else {
        panic!("the fixture is of another measurement")
    };
    (result.trials, result.summaries) = (Vec::new(), Vec::new());
    run.write_record(&small).expect("written");
    let text = run.write_record(&stack_fixture()).expect_err("a full disk").to_string();
    for part in ["cannot write", "r1/record.json", "No space left", "--out DIR", "unharmed"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Random times: Parquet packs regular ones into almost nothing.
    let sample = |i: u64| netfathom_model::sample::Sample {
        sent_ns: i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1,
        ..Default::default()
    };
    let samples: Vec<_> = (0..50_000).map(sample).collect();
    let text = store::samples::write(run.directory(), &samples).expect_err("a full disk").to_string();
    assert!(text.contains("No space left") && text.contains("--out DIR"), "{text}");
    assert_eq!(names(run.path()), ["head.json", "record.json"]);
    assert_eq!(store::read(run.path()).expect("the earlier record").id, small.id);
}

/// Not a test of its own: the other end of the pipe of [`a_dash_reads_standard_input`].
#[test]
#[ignore = "run by a_dash_reads_standard_input"]
fn reader_of_standard_input() {
    if std::env::var_os("NETFATHOM_TEST_READ_STDIN").is_some() {
        println!("read {}", store::read(Path::new("-")).expect("a record").id);
    }
}

#[test]
fn a_dash_reads_standard_input() {
    let fixture = fs::File::open(crate::contract::file("tests/fixtures/stack.json")).expect("the fixture");
    let run = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "--ignored", "--nocapture", "store::reader_of_standard_input"])
        .env("NETFATHOM_TEST_READ_STDIN", "1")
        .stdin(fixture)
        .output()
        .expect("a reader");
    let text = String::from_utf8_lossy(&run.stdout);
    assert!(text.contains("read 20261121T031400Z-stack-1a2b3c"), "{text}");
}

/// Not a test of its own: what [`a_killed_writer_leaves_a_readable_record`] kills.
#[test]
#[ignore = "run by a_killed_writer_leaves_a_readable_record"]
fn writer_to_be_killed() {
    let Some(dir) = std::env::var_os("NETFATHOM_TEST_WRITE_TO") else { return };
    let run = RunDir::create(Path::new(&dir), "killed").expect("a run directory");
    loop {
        run.write_record(&record()).expect("written");
    }
}

#[test]
fn a_killed_writer_leaves_a_readable_record() {
    for round in 0..8 {
        let out = out();
        let mut writer = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", "--ignored", "store::writer_to_be_killed"])
            .env("NETFATHOM_TEST_WRITE_TO", out.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a writer");
        let record = out.path().join("killed/record.json");
        while !record.exists() && writer.try_wait().expect("its state").is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(1_700 * round));
        writer.kill().expect("kill -9");
        writer.wait().expect("its end");
        store::read(&record).expect("a readable record");
        store::remove_leftovers(out.path());
        let left = names(&out.path().join("killed"));
        assert!(left == ["head.json", "record.json"] || left == ["record.json"], "{left:?}");
    }
}
