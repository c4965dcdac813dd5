//! `netfathom export`: where it writes, what it spares, what it refuses. What is in it is tested in `results`.

mod killed;
mod terminal;

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use netfathom_model::sample::Sample;
use netfathom_results::{quantity, store};
use netfathom_sys::directory::Directory;
use netfathom_testkit::{needs, test_name};
use tempfile::TempDir;

use crate::child::{fixture, names, netfathom, on_terminal, out, run, shell, unprivileged};
use crate::refusals::{refused, refused_for};

/// A run with these sampled messages, in a directory.
fn with_samples(samples: &[Sample]) -> (TempDir, PathBuf) {
    let dir = out();
    let at = dir.path().join("a-run");
    fs::create_dir(&at).unwrap();
    fs::copy(fixture("stack"), at.join(store::RECORD_FILE)).unwrap();
    store::samples::write(&Directory::open(&at).unwrap(), samples).unwrap();
    (dir, at)
}

fn sampled() -> (TempDir, PathBuf) {
    let sample = |sequence| Sample {
        sequence,
        sent_ns: 1000 * sequence,
        net_dev_start_xmit_ns: Some(1000 * sequence + 400),
        ..Sample::default()
    };
    with_samples(&[sample(1), sample(2)])
}

#[test]
fn quantities_go_to_standard_output() {
    let ended = run(netfathom("export --to csv").arg(fixture("stack"))).quietly();
    let record = store::read(&fixture("stack")).unwrap();
    let values: usize = quantity::of(&record.measurement).iter().map(|q| q.trials.len()).sum();
    assert_eq!(ended.out.lines().count(), values + 1);
    let same = run(netfathom("export - --to csv --output -").stdin(File::open(fixture("stack")).unwrap()));
    assert_eq!(same.out, ended.out);
}

#[test]
fn a_binary_format_goes_into_a_pipe_and_into_a_file() {
    let (dir, at) = sampled();
    let file = dir.path().join("messages.pftrace");
    let ended = run(netfathom("export --to perfetto").arg(&at).arg("-o").arg(&file)).quietly();
    assert_eq!(ended.out, "");
    let script = format!("\"$0\" export {} --to perfetto | cmp - {}", at.display(), file.display());
    assert_eq!(run(&mut shell(&script)).status, 0);
    assert_eq!(names(dir.path()), ["a-run", "messages.pftrace"]);
    assert_eq!(names(&at), ["record.json", "samples.parquet"]);
}

#[test]
fn a_terminal_is_spared_binary_formats() {
    let (_dir, at) = sampled();
    for to in ["", "-o /dev/stdout", "-o /dev/tty"] {
        let args = format!("export {} --to parquet {to}", at.display());
        let Some(ended) = on_terminal(test_name!(), &args) else { return };
        ended.exited(2).shows(&["parquet is binary and would garble a terminal"]);
    }
}

#[test]
fn json_is_the_record_itself() {
    let mut command = netfathom("export --to json");
    refused_for(command.arg(fixture("stack")), 2, &["record.json", "netfathom runs show RUN --json"]);
    let refusal = run(netfathom("export --to xml").arg(fixture("stack"))).err;
    assert!(!refusal.contains("record.json"), "{refusal}");
}

#[test]
fn what_an_export_leaves_out_is_named() {
    let dir = out();
    let mut command = netfathom("export --to hdr");
    let ended = run(command.arg(fixture("stack")).arg("-o").arg(dir.path().join("x.hlog"))).exited(0);
    ended.explains(&["left out: tx of the trial of index 0: 7 of 1005000 times are below zero"]);
}

#[test]
fn an_export_never_replaces_a_file_of_the_run() {
    let (dir, at) = sampled();
    fs::write(at.join("report.html"), "a report").unwrap();
    fs::hard_link(at.join("record.json"), dir.path().join("link.json")).unwrap();
    std::os::unix::fs::symlink(at.join("samples.parquet"), dir.path().join("link")).unwrap();
    for file in ["a-run/record.json", "a-run/report.html", "a-run/samples.parquet", "link.json", "link"] {
        let file = dir.path().join(file);
        let before = fs::read(&file).unwrap();
        for named in [at.clone(), at.join("record.json")] {
            let why = "is a file of the run itself; choose another file";
            refused_for(netfathom("export --to csv").arg(named).arg("-o").arg(&file), 1, &[why]);
        }
        assert!(fs::read(&file).unwrap() == before);
    }
    // Nor those of another run.
    let other = dir.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::copy(at.join("record.json"), other.join("record.json")).unwrap();
    let why = "is a file of a run; choose another file";
    refused_for(netfathom("export --to csv").arg(&at).arg("-o").arg(other.join("record.json")), 1, &[why]);
}

#[test]
fn what_stood_there_stays_until_the_new_one_is_whole() {
    let dir = out();
    let file = dir.path().join("x.csv");
    fs::write(&file, "before").unwrap();
    refused(netfathom("export --to csv --what series").arg(fixture("cost")).arg("-o").arg(&file), 1);
    assert_eq!(fs::read_to_string(&file).unwrap(), "before");
    std::os::unix::fs::symlink(&file, dir.path().join("link")).unwrap();
    run(netfathom("export --to csv").arg(fixture("cost")).arg("-o").arg(dir.path().join("link"))).exited(0);
    assert!(fs::read_to_string(&file).unwrap().starts_with("measurement,"));
    assert_eq!(names(dir.path()), ["link", "x.csv"]);
}

#[test]
fn what_cannot_be_written_is_reported() {
    let dir = out();
    let to = |file: &str| {
        let mut command = netfathom("export --to csv --output");
        command.arg(file).arg(fixture("stack"));
        refused(&mut command, 1)
    };
    let message = [to("/dev/full"), to("/nonexistent/x.csv"), to(dir.path().to_str().unwrap())].concat();
    let closed = format!(
        "\"$0\" export {} --to csv --what series | head -c 10 >/dev/null",
        fixture("stack").display()
    );
    let message = message + &run(&mut shell(&closed)).err;
    let full = format!("\"$0\" export {} --to csv >/dev/full", fixture("stack").display());
    let message = message + &run(&mut shell(&full)).exited(1).err;
    insta::assert_snapshot!(message.replace(dir.path().to_str().unwrap(), "DIR"));
}

#[test]
fn a_directory_that_may_not_be_written_to() {
    let dir = out();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    needs!(crate::child::is_root(), "needs root");
    let mut command = unprivileged("export - --to csv -o");
    command.arg(dir.path().join("x.csv")).stdin(File::open(fixture("stack")).unwrap());
    refused_for(&mut command, 1, &["Permission denied", "choose another place"]);
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn what_does_not_go_together() {
    let (_dir, at) = sampled();
    let message = [
        refused(netfathom("export --to hdr --what series").arg(&at), 2),
        refused(netfathom("export --to csv --what everything").arg(&at), 2),
        refused(netfathom("export --to csv --all").arg(&at), 2),
        refused(netfathom("export --to xml").arg(&at), 2),
        refused(netfathom("export").arg(&at), 2),
        refused(netfathom("export --to iperf3").arg(&at), 1),
        refused(
            netfathom("export - --to pcapng -o x.pcapng").stdin(File::open(fixture("stack")).unwrap()),
            1,
        ),
        refused(netfathom("export --to csv --what samples").arg(fixture("stack")), 1),
    ];
    let message = message.concat().replace(fixture("x").parent().unwrap().to_str().unwrap(), "FIXTURES");
    insta::assert_snapshot!(message);
}
