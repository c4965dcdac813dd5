//! A run as root in a directory of another user, who puts a link in the place of the run's directory.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use netfathom_model::record::{State, Trial};
use netfathom_results::store;
use netfathom_testkit::{installed, needs_root, test_name};

use crate::child::{end, first_trial, names, netfathom, only_run, out, result, run, start};
use crate::refusals::refused_for;

const TRIALS: &str = "--trials 3 --baselines 0 --cross-checks 0 --profile constant:1k/200ms";

/// Runs that write every kind of file, and what is there in the end.
const RUNS: [(&str, &[&str]); 3] = [
    (
        "stack --lab --tap bpf --samples 100 --export pcapng",
        &["record.json", "report.html", "samples.parquet", "samples.pcapng"],
    ),
    ("stack --lab --tap pcap --keep-captures", CAPTURED),
    ("stack --lab --tap pcap --tcpdump --keep-captures", CAPTURED),
];
const CAPTURED: &[&str] =
    &["record.json", "report.html", "trial-03-1-out.pcap", "trial-03-2-in.pcap", "trial-03-messages.nflog"];

#[test]
fn a_run_goes_on_in_its_own_directory() {
    needs_root!();
    for (args, files) in RUNS {
        if args.contains("--tcpdump") && !installed(test_name!(), &["tcpdump"], "tcpdump") {
            continue;
        }
        let ground = out();
        let [runs, victim, moved] = ["runs", "victim", "moved"].map(|name| ground.path().join(name));
        fs::create_dir(&runs).unwrap();
        fs::create_dir(&victim).unwrap();
        let measuring = start(netfathom(&format!("{args} {TRIALS}")).arg("--out").arg(&runs));
        first_trial(&runs);
        let directory = only_run(&runs);
        fs::rename(&directory, &moved).unwrap();
        symlink(&victim, &directory).unwrap();
        let ended = end(measuring).measured();
        assert!(names(&victim).is_empty(), "{args}: {:?}", names(&victim));
        let there = names(&moved);
        assert!(files.iter().all(|file| there.iter().any(|name| name == file)), "{args}: {there:?} {ended}");
        let record = store::read(&moved).unwrap();
        assert_eq!(record.state, State::Complete, "{args}");
        if files == CAPTURED {
            captures_are_whole(&moved, &result(&record).trials[2], args);
        }
    }
}

fn captures_are_whole(directory: &Path, trial: &Trial, args: &str) {
    let files: Vec<_> = trial.captured.iter().map(|captured| captured.file.clone().unwrap()).collect();
    assert_eq!(files, CAPTURED[2..4], "{args}");
    let bytes = |name| fs::metadata(directory.join(name)).unwrap().len();
    // A file header, and 106 bytes a message behind a header of 16.
    assert_eq!([CAPTURED[2], CAPTURED[3]].map(bytes), [24 + 200 * 122; 2], "{args}");
    assert!(bytes(CAPTURED[4]) > 0, "{args}");
}

/// Commands that write into the directory of a run that was made before.
#[test]
fn what_is_written_later_follows_no_link_either() {
    let ground = out();
    let runs = ground.path().join("runs");
    let short = "message pingpong --loopback --over unix --sizes 64 --layers write --trials 2 --messages 100";
    run(netfathom(short).arg("--out").arg(&runs)).measured();
    let (directory, precious) = (only_run(&runs), ground.path().join("precious"));
    for (command, file) in [
        ("report", "report.html"),
        ("report --format md --output=FILE", "report.md"),
        ("export --to csv --output=FILE", "run.csv"),
    ] {
        let file = directory.join(file);
        let _ = fs::remove_file(&file);
        fs::write(&precious, "theirs").unwrap();
        symlink(&precious, &file).unwrap();
        let args = command.replace("FILE", &file.display().to_string());
        refused_for(netfathom(&args).arg(&directory), 1, &["symbolic link"]);
        assert_eq!(fs::read(&precious).unwrap(), b"theirs", "{command}");
        fs::remove_file(&file).unwrap();
    }
    // Nor one to nothing.
    let (report, new) = (directory.join("report.html"), ground.path().join("new"));
    symlink(&new, &report).unwrap();
    let why = ["is a symbolic link to", "nothing was written"];
    refused_for(netfathom("report").arg(directory.join("record.json")), 1, &why);
    assert!(!new.exists());
    fs::remove_file(&report).unwrap();
    // The file of tags is replaced where it is a link, or refused; what it leads to stays.
    symlink(&precious, directory.join("tags.json")).unwrap();
    let name = directory.file_name().unwrap();
    run(netfathom("runs tag --out").arg(&runs).arg(name).arg("base"));
    assert_eq!(fs::read(&precious).unwrap(), b"theirs");
    // Removing a run removes its links, and nothing behind them.
    symlink(ground.path(), directory.join("above")).unwrap();
    run(netfathom("runs remove --yes --out").arg(&runs).arg(name)).exited(0);
    assert!(!directory.exists() && precious.exists());
}
