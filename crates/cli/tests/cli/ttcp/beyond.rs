//! Options that the classic does not have: what they print.

use std::os::unix::process::CommandExt;
use std::process::Stdio;

use netfathom_model::record::{TransferResult, ZeroCopied};
use netfathom_testkit::{TwoHosts, needs_root, skip};

use super::{receiver_on, receiving, result, ttcp};
use crate::child::{Ended, end, is_root, kill, run, shell, unprivileged};

/// Both ends of a whole transfer of generated data, the transmitter's first.
fn both(transmit: &str, receive: &str) -> [Ended; 2] {
    super::both(&format!("-ts {transmit}"), &format!("-rs {receive}"))
}

fn lines<'a>(ended: &'a Ended, with: &str) -> Vec<&'a str> {
    ended.err.lines().filter(|line| line.contains(with)).collect()
}

#[test]
fn each_stream_has_its_figures_and_the_sum_those_of_the_classic() {
    for (options, with_cpu) in [("-P 3", 0), ("--parallel 3 -v", 4)] {
        let [from, to] = both(&format!("{options} -n 100"), options);
        assert_eq!(lines(&from, " CPU seconds = ").len(), with_cpu, "{from}");
        for (ended, name) in [(&from, "ttcp-t"), (&to, "ttcp-r")] {
            for number in 1..=3 {
                let own = lines(ended, &format!("{name}: stream {number}: 819200 bytes in "));
                assert!(!own.is_empty() && own[0].contains(" real seconds = "), "{ended}");
            }
            assert_eq!(
                lines(ended, &format!("{name}: 2457600 bytes in "))[0].matches("real seconds").count(),
                1
            );
        }
        assert_eq!(lines(&from, "ttcp-t: connect").len(), 1, "{from}");
        assert_eq!(lines(&to, "ttcp-r: accept from 127.0.0.1").len(), 3, "{to}");
    }
}

#[test]
fn what_was_copied_after_all_is_stated() {
    let [from, to] = both("-Z", "-Z");
    let message =
        "0 of 16777216 bytes went without a copy: the kernel copied them, as it does over loopback/veth";
    assert!(from.err.contains(message), "{from}");
    assert!(to.err.contains("all of 16777216 bytes went without a copy"), "{to}");
}

#[test]
fn a_veth_copies_too_and_a_file_does_not() {
    needs_root!();
    let hosts = TwoHosts::create();
    let far = hosts.far_address();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("in"), vec![5; 1_000_000]).unwrap();
    for (transmit, expected) in [
        ("-ts -Z -n 100", ZeroCopied { copied_bytes: 819_200, ..ZeroCopied::default() }),
        ("-t --zero-copy <in", ZeroCopied { uncopied_bytes: 1_000_000, ..ZeroCopied::default() }),
    ] {
        let to = receiver_on(&hosts.far, &mut ttcp("-rs -p 6003"), 6003);
        let (options, input) = transmit.split_once('<').map_or((transmit, ""), |(o, i)| (o, i));
        let input = if input.is_empty() { String::new() } else { format!("<{input}") };
        let script = format!("exec \"$0\" ttcp {options} --json -p 6003 {far} {input}");
        let from = hosts.near.run(|| run(shell(&script).current_dir(dir.path()))).unwrap();
        assert_eq!((from.status, end(to).status), (0, 0), "{from}");
        assert_eq!(result(&from.out).streams[0].zero_copy, Some(expected), "{transmit}");
    }
}

/// More than an ordinary user may lock: the kernel has no room for even one call.
#[test]
fn a_buffer_that_may_not_be_locked_is_copied_and_all_of_it_arrives() {
    let (mut to, port) = receiving("-rs --json");
    let mut command =
        shell(&format!("ulimit -l 64; exec \"$0\" ttcp -ts -Z -l 1m -n 5 --json -p {port} 127.0.0.1"));
    if is_root() {
        command.uid(65_534).gid(65_534);
    }
    let from = run(&mut command);
    if from.status == 126 || from.status == 127 {
        kill(&mut to);
        skip!("another user cannot run this build");
    }
    let to = end(to);
    assert_eq!((from.status, to.status), (0, 0), "{from}");
    let all = ZeroCopied { copied_bytes: 5 << 20, ..ZeroCopied::default() };
    assert_eq!(result(&from.out).streams[0].zero_copy, Some(all));
    assert_eq!(result(&to.out).bytes(), 5 << 20);
}

fn has_cost(result: &TransferResult) {
    let cost = result.cost.as_ref().unwrap();
    let threads: u64 = result.streams.iter().map(|s| s.user_ns + s.system_ns).sum();
    assert!(cost.process_ns >= threads && threads > 0, "{cost:?}");
    assert!(cost.left_out.is_none() && cost.softirq_ns.is_some(), "{cost:?}");
    let least = (threads + cost.softirq_ns.unwrap()) as f64 * 1024.0 / result.bytes() as f64;
    assert!(cost.ns_per_kib >= least * 0.999, "{cost:?}");
    // Over loopback the receiver's part runs as a softirq on top of one of both ends.
    assert!(cost.softirq_ns.unwrap() + cost.own_softirq_ns.unwrap() > 0, "{cost:?}");
}

#[test]
fn the_cost_is_that_of_the_process_and_of_softirqs() {
    needs_root!();
    for ends in [both("--cost --json", "--cost --json"), both("--cost --json -P 2", "--cost --json -P 2")] {
        ends.iter().for_each(|end| has_cost(&result(&end.out)));
    }
    let [from, to] = both("--cost", "--cost");
    for ended in [from, to] {
        let message = lines(&ended, " ns/KiB: this process ");
        assert!(message.len() == 1 && message[0].ends_with(" (whole host)"), "{ended}");
    }
}

#[test]
fn the_cost_without_privilege_says_what_is_missing() {
    let (to, port) = receiving("-rs");
    let mut command = unprivileged("ttcp -ts --cost 127.0.0.1");
    let from = run(command.stdin(Stdio::null()).args(["-p", &port.to_string()]));
    assert_eq!((from.status, end(to).status), (0, 0), "{from}");
    assert!(from.err.contains(" ns/KiB: this process alone; softirqs are left out: "), "{from}");
    assert!(from.err.contains("run as root"), "{from}");
}
