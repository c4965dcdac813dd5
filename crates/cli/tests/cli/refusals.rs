//! Bad input: each is refused with a message that names what, why and what to do.

use std::net::UdpSocket;
use std::process::Command;

use netfathom_testkit::needs_root;

use crate::child::{LAB, LOOPBACK, netfathom, out, recorded, run, runs, shell, unprivileged};

/// Refused with this status and nothing on standard output; returns the message.
pub fn refused(command: &mut Command, status: i32) -> String {
    let ended = run(command);
    assert_eq!((ended.status, ended.out.as_str()), (status, ""), "{command:?}: {ended}");
    assert!(!ended.err.contains("panicked"), "{ended}");
    ended.err
}

/// The same, with all of these in the message.
#[track_caller]
pub fn refused_for(command: &mut Command, status: i32, reasons: &[&str]) {
    let message = refused(command, status);
    for reason in reasons {
        assert!(message.contains(reason), "{command:?}: `{reason}` is not in {message}");
    }
}

/// Each is wrong usage behind these words, and the message names what is meant.
pub fn all_refused(words: &str, cases: &[(&str, &str)]) {
    for (args, named) in cases {
        let reply = wrong(format!("{words} {args}").trim_start());
        let (command, message) = reply.split_once('\n').unwrap();
        assert!(message.contains(named), "{command}: `{named}` is not in {message}");
    }
}

fn wrong(args: &str) -> String {
    // Where it is not refused it must not measure for minutes, nor into the source tree.
    let dir = out();
    let reply = refused(netfathom(args).current_dir(dir.path()), 2);
    assert!(!dir.path().join("runs").is_dir() || runs(&dir.path().join("runs")).is_empty(), "a run was left");
    format!("$ netfathom {args}\n{reply}\n")
}

fn all_wrong(args: &[&str]) -> String {
    args.iter().map(|a| wrong(a)).collect()
}

#[test]
fn numbers_out_of_range() {
    let reply = all_wrong(&[
        "stack --trials 0",
        "stack --trials 1001",
        "stack --trials -1",
        "stack --trials many",
        "stack --baselines 1001",
        "stack --cross-checks 1001",
        "stack --samples 10000001",
        "stack --port 65536",
        "stack --seed 18446744073709551616",
        "stack --reader-delay 101ms",
        "stack --reader-delay 5",
        "stack --insert-delay rx:2ms",
        "stack --insert-delay tx:10s",
        "stack --insert-delay up:1us",
        "stack --loopback --insert-delay rx:20us",
    ]);
    insta::assert_snapshot!(reply);
}

#[test]
fn wrong_usage_looks_alike_whoever_finds_it() {
    for args in [
        "stack --trials many",
        "stack --trials 0",
        "compare x",
        "runs --limit 3 show x",
        "export x --to csv --all",
        "agent --name a/b",
    ] {
        let reply = wrong(args);
        let lines: Vec<&str> = reply.trim_end().lines().skip(1).collect();
        assert!(lines[0].starts_with("error: ") && !reply.contains("netfathom: "), "{reply}");
        assert_eq!(lines[1..], ["", "For more information, try '--help'."], "{reply}");
    }
}

#[test]
fn options_of_programs_that_watch_others() {
    let reply = all_wrong(&[
        "stack rx --pid 4242",
        "capacity -i eth0",
        "load send --comm=nginx",
        // Not of watchers: what clap finds near is kept.
        "stack --trails 3",
    ]);
    insta::assert_snapshot!(reply);
}

#[test]
fn targets_that_cannot_be_watched() {
    let reply = all_wrong(&[
        "watch",
        "watch rx",
        "watch --port 0",
        "watch --pid 0",
        "watch --port 80 --pid 1",
        "watch --port 80 --unix",
        "watch tx --pid 1 --unix",
        "watch out redis-server",
        "watch --cgroup /",
        "watch --flow 10.0.0.1:80",
        "watch --flow 10.0.0.1:80:[::1]:80",
    ]);
    insta::assert_snapshot!(reply);
}

#[test]
fn an_empty_name_is_no_target() {
    for (args, option) in [("watch", "NAME"), ("watch both", "NAME"), ("watch --container", "--container")] {
        refused_for(netfathom(args).arg(""), 2, &[option, "it is empty"]);
    }
}

#[test]
fn profiles_that_cannot_be() {
    let reply = all_wrong(&[
        "stack --profile ramp",
        "stack --profile wave:1k/1s",
        "stack --profile ramp:1k/1s",
        "stack --profile ramp:2k..1k/1s",
        "stack --profile ramp:1k..1k/1s",
        "stack --profile ramp:0..1k/1s",
        "stack --profile triangle:9k..1k/1s",
        "stack --profile constant:51M/1s",
        "stack --profile constant:-5/1s",
        "stack --profile constant:NaN/1s",
        "stack --profile constant:1k/9ms",
        "stack --profile constant:1k/25h",
        "stack --profile constant:1k/1441m",
        "stack --profile constant:1/10ms",
        "stack --profile steps:/1s",
        "stack --profile steps:1k,,2k/1s",
    ]);
    insta::assert_snapshot!(reply);
}

#[test]
fn sizes_that_cannot_be() {
    let reply = all_wrong(&[
        "stack --lab --size 31",
        "stack --lab --size 1473",
        "stack --lab --ipv6 --size 1453",
        "stack --size 0",
        "stack --size -1",
        "stack --size 99999999999999999999",
    ]);
    insta::assert_snapshot!(reply);
    let loopback = wrong("stack --loopback --size 65536");
    assert!(loopback.contains("beyond the MTU of the loopback"), "{loopback}");
}

#[test]
fn words_that_are_none() {
    let reply = all_wrong(&[
        "staack",
        "stack sideways",
        "stack --lab --loopback",
        "stack --tap tcpdump",
        "stack --cpu 0",
        "stack --cpu a,b",
        "stack --cpu 0,1,2",
        "stack --cpu 0,99999999999999999999",
        "report",
        "report x --format pdf",
    ]);
    insta::assert_snapshot!(reply);
}

#[test]
fn messages_that_cannot_be() {
    let reply = all_wrong(&[
        "message",
        "message sideways",
        "message oneway --layers three",
        "message oneway --layers write,write",
        "message oneway --layers write+fast",
        "message oneway --layers adaptive --over udp",
        "message oneway --layers write+nodelay --over unix",
        "message pingpong --layers sendfile",
        "message oneway --sizes 0",
        "message oneway --sizes 17m",
        "message oneway --messages 0",
        "message oneway --rate 0",
        "message post --rate 1k",
        "message post --over udp",
        "message pingpong --placement UK --over unix",
        "message pingpong --placement UX",
        "message pingpong --rate 1k --placement KU",
        "message oneway --min-time 3s --max-time 1s",
        "message oneway --lab --loopback",
    ]);
    insta::assert_snapshot!(reply);
}

#[test]
fn observation_points_of_a_benchmark_that_has_its_own() {
    let reply =
        all_wrong(&["cost --nothing --benchmark tar --marks /etc/passwd", "cost --nothing --sequence auto"]);
    insta::assert_snapshot!(reply);
}

#[test]
fn processors_that_are_not_there() {
    let reply = wrong(&format!("{LOOPBACK} --trials 1 --cpu 0,8191"));
    let (before, after) = reply.split_once("may use [").unwrap();
    let (_, after) = after.split_once(']').unwrap();
    let reply = format!("{before}may use [..]{after}");
    insta::assert_snapshot!(reply);
    wrong(&format!("{LOOPBACK} --trials 1 --cpu 18446744073709551615,0"));
}

#[test]
fn a_port_in_use() {
    let dir = out();
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut command = netfathom(LOOPBACK);
    let reply = refused(command.args(["--port", &port, "--out"]).arg(dir.path()), 1);
    let reply = reply.replace(&port, "PORT");
    insta::assert_snapshot!(reply);
    assert!(runs(dir.path()).is_empty(), "a run was left");
}

#[test]
fn a_tap_or_a_lab_without_privilege() {
    let dir = out();
    let refused = |args: &str| refused(unprivileged(args).arg("--out").arg(dir.path()), 1);
    let bpf = refused("stack --loopback --tap bpf --profile constant:1k/100ms --trials 1");
    let reply = bpf + &refused(&LAB.replace("bpf", "auto"));
    insta::assert_snapshot!(reply);
    assert!(runs(dir.path()).is_empty(), "a run was left");
}

#[test]
fn a_refusal_that_cannot_be_written_is_no_panic() {
    for (script, status) in [("exec $0 stack --trials 0 2>/dev/full", 2), ("exec $0 report /none 2>&-", 1)] {
        assert_eq!(run(&mut shell(script)).status, status, "{script}");
    }
}

#[test]
fn the_lab_has_the_sizes_that_the_refusals_name() {
    needs_root!();
    for most in ["--size 1472", "--size 1452 --ipv6", "--size 32"] {
        let (shown, _) = recorded(&mut netfathom(&format!("{LAB} --trials 1 --json {most}")));
        assert!(shown.out.contains(r#""fate":"delivered""#), "{most}: {shown}");
    }
}
