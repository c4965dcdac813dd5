//! A sender and a sink as two processes: they agree, outlive each other, and strangers.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use netfathom_model::record::State;
use serde_json::json;

use crate::child::{end, end_within, netfathom, netfathom_to, out, record, run, start};
use crate::load::{delivered, result};
use crate::refusals::refused_for;
use crate::server::{IN_VAIN, Server};

/// In which one side notices that the other is gone: after a second without a sign of life,
/// and what a busy machine adds.
const NOTICES: Duration = Duration::from_secs(4);

pub fn sink(args: &str) -> Server {
    Server::start("load sink --json", args)
}

fn send(sink: &Server, args: &str, out: &Path) -> Command {
    netfathom_to(out, &format!("load send --to {} --quiet {args}", sink.address))
}

pub fn hello(lanes: u64, planned: u64, duration_ns: u64) -> String {
    hello_of(64, lanes, planned, duration_ns)
}

fn hello_of(size_bytes: u64, lanes: u64, planned: u64, duration_ns: u64) -> String {
    let hello = json!({"say": "hello", "version": 1, "size_bytes": size_bytes, "lanes": lanes, "echo": false,
        "planned": planned, "duration_ns": duration_ns});
    format!("{hello}\n")
}

/// A short load that must come through; returns how many messages were not its own.
fn still_serves(sink: &Server) -> u64 {
    let dir = out();
    run(&mut send(sink, "--profile constant:1k/200ms", dir.path())).measured();
    let trial = result(&record(dir.path()).unwrap()).trials.remove(0);
    let (load, accounting) = (&trial.load, &trial.accounting);
    // A sender that had no CPU at the end leaves out its last messages.
    assert_eq!((delivered(accounting), load.sent + load.unsent), (load.sent, 200), "{accounting:?}");
    assert!(load.sent > 0);
    accounting.foreign + accounting.garbage + accounting.truncated
}

#[test]
fn both_tell_the_same() {
    for args in
        ["--workers 2 --profile poisson:5k/300ms", "--engine gso --profile triangle:1k..5k,cap=3k/300ms"]
    {
        let (sink, dir) = (sink("--loads 1"), out());
        run(&mut send(&sink, args, dir.path())).measured();
        let trial = result(&record(dir.path()).unwrap()).trials.remove(0);
        let shown = sink.event("ended");
        assert_eq!(shown["sent"]["accepted"], trial.load.sent, "{shown}");
        assert_eq!(shown["read"]["delivered"], delivered(&trial.accounting), "{shown}");
        let planned = trial.load.sent + trial.load.unsent;
        assert_eq!((trial.accounting.gap(), planned), (0, trial.load.planned), "{args}");
        assert_eq!(sink.wait().status, 0);
    }
}

#[test]
fn a_sender_with_a_killed_sink_ends_and_keeps_its_finished_trials() {
    for kill in ["KILL", "STOP"] {
        let (sink, dir) = (sink(""), out());
        let sender = start(&mut send(&sink, "--trials 100 --profile constant:1k/1s", dir.path()));
        sink.event("ended");
        sink.event("begins");
        // Past the agreement, in which an answer may take longer.
        thread::sleep(Duration::from_millis(500));
        sink.signal(kill);
        let ended = end_within(sender, NOTICES).exited(1);
        assert!(ended.err.starts_with("netfathom: "), "{ended}");
        let record = record(dir.path()).unwrap();
        assert_ne!(record.state, State::Complete);
        let trials = result(&record).trials;
        assert!(!trials.is_empty() && trials.len() < 100, "{kill}: {}", trials.len());
    }
}

#[test]
fn a_sender_without_a_sink_does_not_send_to_the_end_of_its_trial() {
    for kill in ["KILL", "INT"] {
        let (sink, dir) = (sink(""), out());
        let sender = start(&mut send(&sink, "--profile constant:1k/60s", dir.path()));
        sink.event("begins");
        thread::sleep(Duration::from_millis(700));
        sink.signal(kill);
        let ended = end_within(sender, NOTICES).exited(1);
        ended.explains(&["the sink was lost", "the round trip is longer than 1s"]);
    }
}

#[test]
fn a_sink_with_a_killed_sender_reports_it_and_takes_the_next() {
    let (sink, dir) = (sink(""), out());
    let mut sender = start(&mut send(&sink, "--profile constant:2k/30s", dir.path()));
    sink.event("begins");
    thread::sleep(Duration::from_millis(500));
    sender.kill().unwrap();
    end(sender);
    let lost = sink.event("lost");
    assert!(lost["read"]["delivered"].as_u64().unwrap() > 0, "{lost}");
    still_serves(&sink);
    assert_eq!(sink.end().status, 0);
}

#[test]
fn one_sender_more_than_the_sink_takes_is_refused() {
    let (sink, dirs) = (sink("--senders 1"), [out(), out()]);
    let first = start(&mut send(&sink, "--profile constant:1k/1s", dirs[0].path()));
    sink.event("begins");
    let second = run(&mut send(&sink, "--profile constant:1k/1s", dirs[1].path()));
    second.exited(1).explains(&["as many senders as it takes"]);
    end(first).measured();
    assert_eq!(delivered(&result(&record(dirs[0].path()).unwrap()).trials[0].accounting), 1000);
}

#[test]
fn a_sink_survives_what_is_no_sender() {
    let sink = sink("");
    let long = "x".repeat(1_000_000);
    // It may hang up before all of it is written.
    let _ = TcpStream::connect(sink.address).unwrap().write_all(long.as_bytes());
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.connect(sink.address).unwrap();
    for payload in [&b""[..], b"nfth", &[0xff; 31], &[0; 1400], &long.as_bytes()[..65_000]] {
        udp.send(payload).unwrap();
    }
    assert_eq!(sink.event("strays")["read"]["delivered"], 0);
    still_serves(&sink);
    assert_eq!(sink.end().status, 0);
}

#[test]
fn strays_during_a_load_are_not_counted_as_its() {
    let (sink, dir) = (sink(""), out());
    let sender = start(&mut send(&sink, "--profile constant:1k/1s", dir.path()));
    sink.event("begins");
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut ours = [0; 64];
    ours[..4].copy_from_slice(b"nfth");
    for _ in 0..20 {
        thread::sleep(Duration::from_millis(20));
        udp.send_to(&ours, sink.address).unwrap();
        udp.send_to(b"what?", sink.address).unwrap();
    }
    end(sender).measured();
    let accounting = &result(&record(dir.path()).unwrap()).trials[0].accounting;
    assert_eq!((delivered(accounting), accounting.duplicates), (1000, 0), "{accounting:?}");
    assert!(accounting.foreign > 0 && accounting.garbage > 0, "{accounting:?}");
    assert_eq!(sink.end().status, 0);
}

#[test]
fn absurd_announcements_are_refused_with_the_limit() {
    const SECOND: u64 = 1_000_000_000;
    let sink = sink("--max-time 2m");
    let absurd = [
        (hello(4_000_000_000, 1000, SECOND), "1 to 256 senders"),
        (hello(0, 0, 0), "1 to 256 senders"),
        (hello(1, 1000, 1 << 63), "at most 120s: send a shorter one, or start it with a longer --max-time"),
        (hello(1, 1000, 121 * SECOND), "at most 120s"),
        (hello(1, 1000, 120 * SECOND), "welcome"),
        (hello(1, 1 << 63, SECOND), "at most 17592186044416 messages"),
        (hello(256, u64::MAX, 0), "at most 17592186044416 messages"),
        (hello_of(1 << 63, 1, 1000, SECOND), "32 to 65507 bytes, which is what UDP carries"),
        (hello_of(65_508, 1, 1000, SECOND), "32 to 65507 bytes"),
        (hello_of(31, 1, 1000, SECOND), "32 to 65507 bytes"),
        (hello_of(65_507, 1, 1000, SECOND), "welcome"),
    ];
    for (words, answer) in absurd {
        let mut line = String::new();
        let mut stream = TcpStream::connect(sink.address).unwrap();
        stream.set_read_timeout(Some(IN_VAIN)).unwrap();
        stream.write_all(words.as_bytes()).unwrap();
        BufReader::new(stream).read_line(&mut line).unwrap();
        assert!(line.contains(answer), "{words}: {line}");
    }
    assert_eq!(still_serves(&sink), 0);
    assert_eq!(sink.end().status, 0);
}

#[test]
fn a_server_that_is_not_there_or_cannot_be_is_named() {
    let (dir, taken) = (out(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let at = taken.local_addr().unwrap();
    let listen = format!(" --listen {at}");
    for (serve, named, clients) in [
        ("load sink", "", &["load send", "capacity --engine send", "stack tx"][..]),
        ("message serve", &*listen, &["message pingpong"]),
        ("reverse serve", &*listen, &["reverse"]),
    ] {
        refused_for(&mut netfathom(&format!("{serve}{listen}")), 1, &["in use"]);
        for client in clients {
            let mut command = netfathom(&format!("{client} --to {at} --out"));
            refused_for(command.arg(dir.path()), 1, &[&format!("netfathom {serve}{named}")]);
        }
    }
}
