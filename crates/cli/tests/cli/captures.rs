//! What is written for other programs: message logs, kept captures, samples as a capture.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use netfathom_testkit::{needs, needs_programs, needs_root};

use crate::child::{
    LAB, is_root, netfathom, netfathom_to, only_run, out, recorded, run, shell, unprivileged,
};
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
fn both_ends_write_down_what_they_sent_and_received() {
    let dir = out();
    let [sent, received] = ["sent.csv", "received.csv"].map(|name| dir.path().join(name));
    let sink = sink(&format!("--loads 2 --log {}", received.display()));
    let args = format!("load send --to {} --profile constant:1k/100ms --trials 2", sink.address);
    let (_, record) = recorded(netfathom(&args).arg("--log").arg(&sent));
    sink.wait();
    // A busy machine may not send them all in time.
    let trials = load_result(&record).trials;
    let all: Vec<u64> = trials.iter().flat_map(|trial| 0..trial.load.sent).collect();
    let lines = [&sent, &received].map(|log| numbers(log));
    for log in &lines {
        assert_eq!(log.iter().map(|line| line[1]).collect::<Vec<_>>(), all);
        assert_ne!(log[0][0], log.last().unwrap()[0], "each trial has its own flow");
    }
    let [sent_lines, received_lines] = lines;
    assert!(sent_lines.iter().all(|line| line[3] >= line[2]), "no message leaves before its time");
    let times: Vec<u64> = received_lines.iter().map(|line| line[2]).collect();
    assert!(times.is_sorted() && times[0] > 0);
    let clocks = fs::read_to_string(&sent).unwrap().lines().filter(|l| l.starts_with("# clock=")).count();
    assert!(clocks >= 2, "at the begin and at the end");
}

#[test]
fn a_log_with_a_name_that_is_not_utf_8_is_written_and_recorded() {
    let dir = out();
    let log = dir.path().join(OsStr::from_bytes(b"x\xff.csv"));
    let args = "load send --loopback --profile constant:1k/100ms --trials 1";
    recorded(netfathom(args).arg("--log").arg(&log));
    assert!(fs::metadata(&log).unwrap().len() > 0);
}

#[test]
fn a_log_that_cannot_be_is_refused() {
    let dir = out();
    refused_for(netfathom("load sink --receive xdp --log x").current_dir(dir.path()), 2, &["--receive"]);
    let args = "load send --loopback --profile constant:1k/100ms --log nowhere/sent.nflog";
    refused_for(netfathom(args).current_dir(dir.path()), 1, &["nowhere/sent.nflog", "No such file"]);
}

#[test]
fn samples_are_kept_and_their_capture_opens_in_wireshark() {
    needs_root!();
    needs_programs!(["tshark"], "tshark");
    let dir = out();
    run(netfathom_to(dir.path(), LAB).args(["--trials", "1", "--export", "pcapng"])).measured();
    let capture = only_run(dir.path()).join("samples.pcapng");
    let samples = fs::read(capture.with_extension("parquet")).unwrap();
    assert!(samples.starts_with(b"PAR1") && samples.ends_with(b"PAR1"));
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&capture).args(["-T", "fields", "-E", "separator=|"]);
    tshark.args(["-e", "udp.length", "-e", "udp.checksum.status", "-e", "frame.comment"]);
    let shown = tshark.args(["-o", "udp.check_checksum:TRUE"]).output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 200, "100 messages, out and in: {}", String::from_utf8_lossy(&shown.stderr));
    assert!(lines.iter().all(|line| line.starts_with("72|1|trial 1, message ")), "{}", lines[0]);
    let ways = ["way out: ", "way in: "].map(|way| lines.iter().filter(|l| l.contains(way)).count());
    assert_eq!(ways, [100, 100]);
}

#[test]
fn a_capture_needs_privilege_and_says_so() {
    needs!(is_root(), "needs root, to drop it");
    let dir = out();
    let mut command = unprivileged("stack --loopback --tap pcap --out");
    refused_for(command.arg(dir.path()), 1, &["pcap tap", "CAP_NET_RAW"]);
}

/// Samples are of no tap but those that time message by message; what was asked for and cannot
/// be must be named, not left out.
#[test]
fn samples_of_the_pcap_tap_are_there_or_refused() {
    needs_root!();
    for wanted in ["--samples=100", "--export=pcapng"] {
        let dir = out();
        let args =
            "stack tx --tap pcap --trials 1 --baselines 0 --cross-checks 0 --profile constant:1k/100ms";
        let ended = run(netfathom(args).arg(wanted).arg("--out").arg(dir.path()));
        let there = ended.status != 2 && only_run(dir.path()).join("samples.parquet").exists();
        let reply = ended.err.contains("--samples") || ended.err.contains("--export");
        assert!(there || reply, "{wanted}: not a word: {ended}");
    }
}

/// A FIFO without a reader: the request to end must be heard while it is opened.
#[test]
fn a_log_into_a_fifo_without_a_reader_can_be_ended() {
    let dir = out();
    let script = "mkfifo f; timeout -s TERM -k 5 1 $0 load send --loopback --profile constant:1k/100ms --log f; exit $?";
    let ended = run(shell(script).current_dir(dir.path()));
    assert_ne!(ended.status, 137, "SIGTERM was not heard: {ended}");
}

/// A tcpdump that never says that it listens: the run waits for it, but not for ever.
#[test]
fn a_tcpdump_that_says_nothing_is_given_up() {
    needs_root!();
    let dir = out();
    let fake = dir.path().join("tcpdump");
    fs::write(&fake, "#!/bin/sh\nexec sleep 100\n").unwrap();
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let script = "PATH=$PWD:$PATH; timeout -s KILL 30 $0 stack tx --tap pcap --tcpdump --trials 1 \
                  --baselines 0 --cross-checks 0 --profile constant:1k/100ms; exit $?";
    run(shell(script).current_dir(dir.path())).exited(1).explains(&["tcpdump"]);
}
