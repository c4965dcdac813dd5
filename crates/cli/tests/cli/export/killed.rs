//! Exports that are killed while they write.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use netfathom_model::sample::Sample;
use netfathom_results::store;
use netfathom_testkit::skipped;
use rustix::fs::{Mode, OFlags, open};
use tempfile::TempDir;

use super::{files, fixture};
use crate::child::{end, is_root, netfathom, out, run, shell, start, until};

/// Enough that an export of them is far from its end when it is killed.
const SAMPLES: u64 = 200_000;

/// A run with many sampled messages, and a file that is to be replaced.
fn many() -> (TempDir, PathBuf) {
    let dir = out();
    let at = dir.path().join("a-run");
    fs::create_dir(&at).unwrap();
    fs::copy(fixture("stack"), at.join(store::RECORD_FILE)).unwrap();
    let samples: Vec<Sample> =
        (0..SAMPLES).map(|i| Sample { sequence: i, sent_ns: 1000 * i, ..Sample::default() }).collect();
    store::samples::write(&at, &samples).unwrap();
    fs::create_dir(dir.path().join("to")).unwrap();
    fs::write(dir.path().join("to/x"), "before").unwrap();
    (dir, at)
}

/// Kills it once it has opened the file that it writes, and returns how that file was called.
fn kill(mut child: Child, below: &Path) -> String {
    let held = PathBuf::from(format!("/proc/{}/fd", child.id()));
    let below = fs::canonicalize(below).unwrap();
    let name = until("the file that is written", || {
        let links = fs::read_dir(&held).ok()?.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
        links.filter_map(|file| Some(file.strip_prefix(&below).ok()?.to_str()?.to_owned())).next()
    });
    child.kill().unwrap();
    assert_eq!(end(child).status, 128 + 9, "it had ended before it was killed");
    name
}

#[test]
fn an_export_that_is_killed_leaves_nothing() {
    let (dir, at) = many();
    let to = dir.path().join("to");
    if open(&to, OFlags::TMPFILE | OFlags::WRONLY, Mode::RUSR).is_err() {
        let why = "the temporary directory's file system has no files without a name";
        return skipped("export::killed::an_export_that_is_killed_leaves_nothing", why);
    }
    for format in ["csv", "parquet"] {
        let mut export = netfathom(&format!("export --what samples --to {format}"));
        let name = kill(start(export.arg(&at).arg("-o").arg(to.join("x"))), &to);
        assert_eq!(files(&to), ["x"], "{format}: {name}");
        assert_eq!(fs::read_to_string(to.join("x")).unwrap(), "before");
    }
}

/// Where there is no /proc, a file without a name could not be given one.
fn without_proc(args: &str) -> Command {
    shell(&format!("exec unshare -m sh -c 'umount -l /proc && exec \"$0\" {args}' \"$0\""))
}

#[test]
fn where_a_file_must_have_a_name_it_is_that_of_its_process() {
    let test = "export::killed::where_a_file_must_have_a_name_it_is_that_of_its_process";
    if !is_root() {
        return skipped(test, "needs root to take /proc away");
    }
    let (dir, at) = many();
    let to = dir.path().join("to");
    let args = format!("export --what samples --to csv {} -o {}", at.display(), to.join("x").display());
    let child = start(&mut without_proc(&args));
    let pid = child.id();
    assert_eq!(kill(child, &to), format!("x.{pid}.tmp"));
    assert_eq!(files(&to), ["x".to_owned(), format!("x.{pid}.tmp")]);
    assert_eq!(fs::read_to_string(to.join("x")).unwrap(), "before");
    fs::remove_file(to.join(format!("x.{pid}.tmp"))).unwrap();

    let short = args.replace("--what samples", "--what trials");
    let ended = run(&mut without_proc(&short));
    assert_eq!((ended.status, ended.err.as_str()), (0, ""));
    assert!(fs::read_to_string(to.join("x")).unwrap().starts_with("measurement,"));
    assert_eq!(files(&to), ["x"]);
}
