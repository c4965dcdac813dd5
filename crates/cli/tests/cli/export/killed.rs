//! Exports that are killed while they write.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use netfathom_model::sample::Sample;
use netfathom_testkit::{needs, skip};
use rustix::fs::{Mode, OFlags, open};
use tempfile::TempDir;

use super::with_samples;
use crate::child::{end, is_root, names, netfathom, run, shell, start, until};

/// Enough that an export of them is far from its end when it is killed.
const SAMPLES: u64 = 200_000;

/// A run with many sampled messages, and a directory for what is made of them.
fn many() -> (TempDir, PathBuf) {
    let samples: Vec<Sample> =
        (0..SAMPLES).map(|i| Sample { sequence: i, sent_ns: 1000 * i, ..Sample::default() }).collect();
    let (dir, at) = with_samples(&samples);
    fs::create_dir(dir.path().join("to")).unwrap();
    (dir, at)
}

/// How often it is tried: on a busy machine an export may be over before it is seen.
const TRIES: usize = 5;

/// An export that was killed while it wrote a file there, and how that file was called.
fn killed(mut export: impl FnMut() -> Command, below: &Path) -> (u32, String) {
    (0..TRIES).find_map(|_| kill(start(&mut export()), below)).expect("it ends before it is killed")
}

/// Kills it once it has opened the file that it writes.
fn kill(mut child: Child, below: &Path) -> Option<(u32, String)> {
    let held = PathBuf::from(format!("/proc/{}/fd", child.id()));
    let below = fs::canonicalize(below).unwrap();
    let pid = child.id();
    let name = until("the file that is written", || {
        if child.try_wait().unwrap().is_some() {
            return Some(None);
        }
        let links = fs::read_dir(&held).ok()?.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
        let mut names = links.filter_map(|file| Some(file.strip_prefix(&below).ok()?.to_str()?.to_owned()));
        // The directory itself is held open too.
        names.find(|name| !name.is_empty()).map(Some)
    });
    // One that has ended is none of its processes any more.
    let _ = child.kill();
    (end(child).status == 128 + 9).then_some((pid, name?))
}

#[test]
fn an_export_that_is_killed_leaves_nothing() {
    let (dir, at) = many();
    let to = dir.path().join("to");
    if open(&to, OFlags::TMPFILE | OFlags::WRONLY, Mode::RUSR).is_err() {
        let why = "the temporary directory's file system has no files without a name";
        skip!("{why}");
    }
    for format in ["csv", "parquet"] {
        let export = || {
            fs::write(to.join("x"), "before").unwrap();
            let mut export = netfathom(&format!("export --what samples --to {format}"));
            export.arg(&at).arg("-o").arg(to.join("x"));
            export
        };
        let (_, name) = killed(export, &to);
        assert_eq!(names(&to), ["x"], "{format}: {name}");
        assert_eq!(fs::read_to_string(to.join("x")).unwrap(), "before");
    }
}

/// Where there is no /proc, a file without a name could not be given one.
fn without_proc(args: &str) -> Command {
    shell(&format!("exec unshare -m sh -c 'umount -l /proc && exec \"$0\" {args}' \"$0\""))
}

#[test]
fn where_a_file_must_have_a_name_it_is_that_of_its_process() {
    needs!(
        is_root() && run(&mut shell("unshare -m umount -l /proc")).status == 0,
        "needs root to take /proc away"
    );
    let (dir, at) = many();
    let to = dir.path().join("to");
    let args = format!("export --what samples --to csv {} -o {}", at.display(), to.join("x").display());
    let export = || {
        fs::write(to.join("x"), "before").unwrap();
        without_proc(&args)
    };
    let (pid, name) = killed(export, &to);
    assert_eq!(name, format!("x.{pid}.tmp"));
    assert_eq!(names(&to), ["x".to_owned(), format!("x.{pid}.tmp")]);
    assert_eq!(fs::read_to_string(to.join("x")).unwrap(), "before");
    fs::remove_file(to.join(format!("x.{pid}.tmp"))).unwrap();

    let short = args.replace("--what samples", "--what trials");
    run(&mut without_proc(&short)).quietly();
    assert!(fs::read_to_string(to.join("x")).unwrap().starts_with("measurement,"));
    assert_eq!(names(&to), ["x"]);
}
