//! Where runs are kept, and where they cannot be.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use netfathom_testkit::{needs_root, skipped, test_name};
use tempfile::TempDir;

use crate::child::{
    LOOPBACK, is_root, netfathom_to, only_run, out, run, runs, shell, unprivileged, unshared,
};
use crate::refusals::{refused, refused_for};

#[test]
fn directories_that_cannot_be_written() {
    let dir = out();
    let at = dir.path().to_str().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    fs::create_dir(dir.path().join("locked")).unwrap();
    fs::set_permissions(dir.path().join("locked"), fs::Permissions::from_mode(0o555)).unwrap();
    let message: String = ["file", "file/below", "locked/below"]
        .map(|to| refused(unprivileged(LOOPBACK).arg("--out").arg(dir.path().join(to)), 1))
        .concat();
    let message = message.replace(at, "DIR");
    insta::assert_snapshot!(message);
}

#[test]
fn names_as_people_choose_them() {
    let dir = out();
    for name in ["with blanks/and a slash/", "-", "ünïcode"] {
        let to = dir.path().join(name);
        run(&mut netfathom_to(&to, &format!("{LOOPBACK} --trials 1 --quiet"))).measured();
        assert!(only_run(&to).join("report.html").exists(), "{name}");
    }
    let long = dir.path().join("x".repeat(300));
    refused_for(&mut netfathom_to(&long, LOOPBACK), 1, &["File name too long", "choose another directory"]);
}

/// Runs on a tmpfs of that many KiB, which goes with its mount namespace; copies to `to`
/// what was left on it.
fn on_small_disk(kib: u32, to: &std::path::Path) -> Option<String> {
    let test = "cli::files::a_disk_that_is_full";
    if !is_root() {
        skipped(test, "needs root to mount a small disk");
        return None;
    }
    let script = format!(
        "mount -t tmpfs -o size={kib}k none /mnt || exit 77
         \"$0\" {LOOPBACK} --trials 1 --out /mnt/runs; status=$?
         cp -r /mnt/runs {} && exit $status",
        to.display()
    );
    let ended = run(&mut unshared("-m", &script));
    if ended.status == 77 {
        skipped(test, "no tmpfs can be mounted here");
        return None;
    }
    // What was measured is shown whole: nothing else has it.
    let ended = ended.exited(1).shows(&["Accounting, all trials"]);
    assert!(!ended.out.contains("report: "), "{ended}");
    // Its measurement is complete, whatever became of the record.
    assert!(!ended.out.contains("NOT WHOLE"), "{ended}");
    let mut parts = ended.err.split("/mnt/runs/");
    let first = parts.next()?.to_owned();
    Some(parts.fold(first, |text, part| format!("{text}DIR{}", &part[part.find('/').unwrap()..])))
}

#[test]
fn a_disk_that_is_full() {
    let dir = out();
    let left = |dir: &TempDir| {
        let run = only_run(&dir.path().join("runs"));
        netfathom_results::store::read(&run).expect("the record from before the disk was full");
        let names = runs(&run).into_iter().map(|f| f.file_name().unwrap().to_owned());
        // A record does without its head.
        names.filter(|name| name != "head.json").collect::<Vec<_>>()
    };
    // Room for the record, none for the report.
    let Some(message) = on_small_disk(240, dir.path()) else { return };
    assert_eq!(left(&dir), ["record.json"]);
    // Room for the record before the first trial, none for that after it.
    let dir = out();
    let nothing = on_small_disk(44, dir.path()).unwrap();
    assert_eq!(left(&dir), ["record.json"]);
    let message = message + &nothing;
    insta::assert_snapshot!(message);
}

#[test]
fn a_transfer_on_a_full_disk_leaves_no_directory() {
    needs_root!();
    // The sender finds the receiver only once that listens.
    let script = "mount -t tmpfs -o size=8k none /mnt && ip link set lo up || exit 77
         head -c 8192 /dev/zero >/mnt/filling
         \"$0\" ttcp -rs --out /mnt/runs & receiver=$!
         for _ in $(seq 100); do \"$0\" ttcp -ts -n 10 127.0.0.1 >/dev/null 2>&1 && break; sleep 0.1; done
         wait $receiver; status=$?
         echo \"left: $(ls /mnt/runs)\"; exit $status";
    let ended = run(&mut unshared("-mn", script));
    if ended.status == 77 {
        return skipped(test_name!(), "no tmpfs can be mounted here");
    }
    let ended = ended.exited(1).explains(&["record.json", "No space left on device"]);
    assert!(ended.out.ends_with("left: \n"), "{ended}");
}

#[test]
fn files_that_may_not_grow() {
    let dir = out();
    // 8 KiB, less than the record before the first trial: nothing was measured that could be shown.
    let script = format!("ulimit -f 16; exec \"$0\" {LOOPBACK} --trials 1 --out {}", dir.path().display());
    refused_for(&mut shell(&script), 1, &["File too large", "ulimit -f"]);
    assert!(runs(dir.path()).is_empty(), "a run was left");
}
