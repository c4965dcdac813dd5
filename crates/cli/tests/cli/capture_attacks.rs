//! Captures and logs where something is in their way.

use netfathom_testkit::needs_root;

use crate::child::{netfathom, only_run, out, run, shell};

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

/// Too few descriptors must fail, not wait for a thread that never came.
#[test]
fn too_few_descriptors_end_the_run() {
    needs_root!();
    let dir = out();
    let script = "ulimit -n 10; timeout -s KILL 20 $0 stack both --tap pcap --trials 1 --baselines 0 \
                  --cross-checks 0 --profile constant:1k/100ms; exit $?";
    run(shell(script).current_dir(dir.path())).exited(1).explains(&["open files"]);
}

/// A tcpdump that never says that it listens: the run waits for it, but not for ever.
#[test]
fn a_tcpdump_that_says_nothing_is_given_up() {
    use std::os::unix::fs::PermissionsExt;
    needs_root!();
    let dir = out();
    let fake = dir.path().join("tcpdump");
    std::fs::write(&fake, "#!/bin/sh\nexec sleep 100\n").unwrap();
    std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).unwrap();
    let script = "PATH=$PWD:$PATH; timeout -s KILL 30 $0 stack tx --tap pcap --tcpdump --trials 1 \
                  --baselines 0 --cross-checks 0 --profile constant:1k/100ms; exit $?";
    run(shell(script).current_dir(dir.path())).exited(1).explains(&["tcpdump"]);
}
