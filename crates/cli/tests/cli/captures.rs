//! What is written for other programs: message logs, kept captures, samples as a capture.

use std::fs;
use std::path::Path;
use std::process::Command;

use netfathom_testkit::{needs, needs_root, skip};

use crate::child::{LAB, is_root, netfathom, only_run, out, record, result, run, unprivileged};
use crate::load::result as load_result;
use crate::load_sink::sink;
use crate::refusals::refused_for;

/// The first fields of each line of a log that is CSV, after its header and its comments.
fn numbers(log: &Path) -> Vec<Vec<u64>> {
    let text = fs::read_to_string(log).unwrap();
    let lines = text.lines().skip(1).filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split(',').map(|field| field.parse().unwrap()).collect()).collect()
}

#[test]
fn a_sender_writes_down_what_it_sent() {
    let dir = out();
    let log = dir.path().join("sent.csv");
    let args = format!("load send --loopback --profile constant:1k/100ms --trials 2 --log {}", log.display());
    run(netfathom(&args).arg("--out").arg(dir.path())).measured();
    let sent = numbers(&log);
    let sequences: Vec<u64> = sent.iter().map(|line| line[1]).collect();
    // A busy machine may not send them all in time.
    let trials = load_result(&record(dir.path()).unwrap()).trials;
    assert_eq!(sequences, trials.iter().flat_map(|t| 0..t.load.sent).collect::<Vec<_>>());
    assert_ne!(sent[0][0], sent.last().unwrap()[0], "each trial has its own flow");
    assert!(sent.iter().all(|line| line[3] >= line[2]), "no message leaves before its time");
    let clocks = fs::read_to_string(&log).unwrap().lines().filter(|l| l.starts_with("# clock=")).count();
    assert!(clocks >= 2, "at the begin and at the end");
}

#[test]
fn a_sink_writes_down_what_it_received() {
    let dir = out();
    let log = dir.path().join("received.csv");
    let sink = sink(&format!("--loads 1 --log {}", log.display()));
    let args = format!("load send --to {} --profile constant:1k/100ms", sink.address);
    run(netfathom(&args).arg("--out").arg(dir.path())).measured();
    sink.wait();
    let received = numbers(&log);
    let sent = load_result(&record(dir.path()).unwrap()).trials[0].load.sent;
    assert_eq!(received.iter().map(|line| line[1]).collect::<Vec<_>>(), (0..sent).collect::<Vec<_>>());
    let times: Vec<u64> = received.iter().map(|line| line[2]).collect();
    assert!(times.is_sorted() && times[0] > 0);
}

#[test]
fn a_log_that_cannot_be_is_refused() {
    let dir = out();
    refused_for(netfathom("load sink --receive xdp --log x").current_dir(dir.path()), 2, &["--receive"]);
    let args = "load send --loopback --profile constant:1k/100ms --log nowhere/sent.nflog";
    refused_for(netfathom(args).current_dir(dir.path()), 1, &["nowhere/sent.nflog", "No such file"]);
}

#[test]
fn a_capture_of_samples_opens_in_wireshark() {
    needs_root!();
    let dir = out();
    run(netfathom(LAB).args(["--trials", "1", "--export", "pcapng"]).arg("--out").arg(dir.path())).measured();
    let capture = only_run(dir.path()).join("samples.pcapng");
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&capture).args(["-T", "fields", "-E", "separator=|"]);
    tshark.args(["-e", "udp.length", "-e", "udp.checksum.status", "-e", "frame.comment"]);
    let Ok(shown) = tshark.args(["-o", "udp.check_checksum:TRUE"]).output() else {
        skip!("tshark is not installed")
    };
    let text = String::from_utf8(shown.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 200, "100 messages, out and in: {}", String::from_utf8_lossy(&shown.stderr));
    assert!(lines.iter().all(|line| line.starts_with("72|1|trial 1, message ")), "{}", lines[0]);
    let ways = ["way out: ", "way in: "].map(|way| lines.iter().filter(|l| l.contains(way)).count());
    assert_eq!(ways, [100, 100]);
}

#[test]
fn captures_stay_where_they_are_asked_for() {
    needs_root!();
    let dir = out();
    let args = "stack --tap pcap --keep-captures --trials 1 --profile constant:1k/100ms";
    run(netfathom(args).arg("--out").arg(dir.path())).measured();
    let run_dir = only_run(dir.path());
    let kept = |name: &str| run_dir.join(name).metadata().unwrap().len();
    // A file header, and 106 bytes a message behind a header of 16.
    assert_eq!((kept("trial-01-1-out.pcap"), kept("trial-01-2-in.pcap")), (24 + 100 * 122, 24 + 100 * 122));
    assert!(kept("trial-01-messages.nflog") > 0);
    let record = record(dir.path()).unwrap();
    let files: Vec<_> = result(&record).trials[0].captured.iter().map(|c| c.file.clone().unwrap()).collect();
    assert_eq!(files, ["trial-01-1-out.pcap", "trial-01-2-in.pcap"]);
}

#[test]
fn a_capture_needs_privilege_and_says_so() {
    needs!(is_root(), "needs root, to drop it");
    let dir = out();
    let mut command = unprivileged("stack --loopback --tap pcap --out");
    refused_for(command.arg(dir.path()), 1, &["pcap tap", "CAP_NET_RAW"]);
}
