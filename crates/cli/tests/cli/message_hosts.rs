//! `netfathom message` with its two ends in two processes: they agree, outlive each other, and strangers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use netfathom_model::layer::Side;
use netfathom_model::plan::Place;
use netfathom_model::record::{MessageTrial, Record, Shares, State};
use netfathom_model::verdict::Level;
use netfathom_testkit::{Star, needs_root, privileged, test_name};

use crate::child::{
    beside, end, netfathom, out, record, recorded, run, signal, start, start_on, unprivileged, until,
};
use crate::message::messages;
use crate::refusals::refused_for;
use crate::server::{IN_VAIN, Server};

const SHORT: &str = "--sizes 64 --trials 2 --messages 200 --min-time 0s --quiet";
/// Would take minutes.
const LONG: &str = "pingpong --sizes 64 --layers write --trials 100 --min-time 1s --quiet";

impl Server {
    fn client(&self, args: &str) -> Command {
        netfathom(&format!("message {args} --to {}", self.address))
    }

    fn recorded(&self, args: &str) -> Record {
        recorded(&mut self.client(args)).1
    }

    /// A short run that must come through.
    fn still_serves(&self) {
        whole(&self.recorded(&format!("pingpong --layers write {SHORT}")), 200);
    }
}

fn trials(record: &Record) -> impl Iterator<Item = &MessageTrial> {
    messages(record).cells.iter().flat_map(|cell| &cell.trials)
}

/// All messages of each trial came, and both ends know what they took.
fn whole(record: &Record, sent: u64) {
    assert_eq!(record.state, State::Complete);
    assert_ne!(record.verdict.level, Level::Void, "{:?}", record.verdict);
    assert!(trials(record).count() > 0);
    for trial in trials(record) {
        assert_eq!((trial.sent, trial.messages, trial.lost), (sent, sent, 0), "{trial:?}");
        assert!(trial.client.cpu_ns > Some(0) && trial.server.cpu_ns > Some(0), "{trial:?}");
        assert!(trial.client.waits.is_some() && trial.server.waits.is_some(), "{trial:?}");
    }
}

#[test]
fn each_message_is_echoed_and_both_ends_know_what_it_took() {
    let server = Server::start("message serve", "--clients 2");
    let counted = privileged(test_name!());
    for (over, layers) in [("tcp", "write+nodelay,two+nodelay,adaptive,zccl"), ("udp", "write,writev")] {
        let args = format!("pingpong --over {over} --layers {layers} --no-remedies {SHORT}");
        let record = server.recorded(&args);
        whole(&record, 200);
        let result = messages(&record);
        assert_eq!((result.plan.place, result.pairs.len()), (Place::To(server.address), 1));
        let host = result.server.as_ref().unwrap();
        assert_eq!(
            (host.same_host, &host.host, &host.kernel),
            (true, &record.environment.host, &record.environment.kernel)
        );
        assert!(result.cells.iter().all(|cell| cell.times.n == 400), "{over}");
        // One to send and one to receive a message, and few to end.
        for side in [Side::Client, Side::Server].into_iter().filter(|_| counted && over == "tcp") {
            let cell = result.cells.iter().find(|cell| cell.layer.to_string() == "write+nodelay").unwrap();
            let calls = cell.calls_per_message(side).unwrap();
            assert!((2.0..2.5).contains(&calls), "{side:?}: {:?}", cell.calls);
        }
        for trial in trials(&record).filter(|_| over == "tcp") {
            // A segment a message each way, at least.
            assert!(trial.client.segments >= Some(200) && trial.server.segments >= Some(200), "{trial:?}");
            assert!(trial.tcp.is_some(), "{trial:?}");
        }
        assert!(server.next("ended").contains("trials"));
    }
    assert_eq!(server.wait().status, 0);
}

#[test]
fn one_way_has_a_rate_and_no_times_and_replies_have_both() {
    let (server, dir) = (Server::start("message serve", ""), out());
    let one_way = format!("oneway --layers write,sendfile,adaptive {SHORT} --json");
    run(server.client(&one_way).arg("--out").arg(dir.path())).measured();
    let first = record(dir.path()).unwrap();
    for trial in trials(&first) {
        assert!(trial.sent >= 200 && trial.sent == trial.messages, "{trial:?}");
        assert!(trial.server.cpu_ns > Some(0), "{trial:?}");
    }
    for cell in &messages(&first).cells {
        // The rate is of those that come after the first: there is none where one read had all.
        let lasted = cell.trials.iter().any(|trial| trial.duration_ns > 0);
        assert_eq!((cell.times.n, cell.rate.is_some()), (0, lasted), "{cell:?}");
    }
    assert!(messages(&first).cells.iter().any(|cell| cell.rate.is_some()));
    let report = run(netfathom("report --format md").arg(crate::child::only_run(dir.path())));
    report.shows(&["have no clock in common"]);

    let second = server.recorded(&format!("pingpong --over udp --rate 2k --layers write {SHORT}"));
    whole(&second, 200);
    assert!(messages(&second).cells[0].lag.is_some() && messages(&second).cells[0].times.n == 400);

    let post = format!("post --layers write,adaptive {SHORT}").replace("--sizes 64", "--sizes 4096");
    let third = server.recorded(&post);
    // It has a connection of its own for replies.
    let fourth = server.recorded(&post.replace("write,adaptive", "zccl"));
    assert!(trials(&fourth).all(|trial| (trial.sent, trial.messages) == (200, 200)));
    whole(&third, 200);
    assert!(messages(&third).cells.iter().all(|cell| cell.times.n == 400));
    assert_eq!(server.end().status, 0);
}

#[test]
fn without_privilege_both_ends_measure() {
    let server = Server::of(start(&mut unprivileged("message serve --listen 127.0.0.1:0")));
    let args = format!("message pingpong --layers write,adaptive {SHORT} --to {}", server.address);
    whole(&recorded(&mut unprivileged(&args)).1, 200);
    assert_eq!(server.end().status, 0);
}

#[test]
fn two_namespaces_have_counters_of_their_own() {
    needs_root!();
    let star = Star::create(2);
    let listen = format!("message serve --listen {}:0", Star::address(1));
    let server = Server::of(start_on(&star.hosts[1], &mut netfathom(&listen)));
    let recorded = |args: &str| {
        let mut client = server.client(args);
        star.hosts[0].run(|| recorded(&mut client).1).unwrap()
    };
    for over in ["tcp", "udp"] {
        whole(&recorded(&format!("pingpong --over {over} --layers write {SHORT}")), 200);
    }
    let args = format!("pingpong --layers two --no-remedies {SHORT} --messages 20");
    let record = recorded(&args.replacen("--messages 200 ", "", 1));
    whole(&record, 20);
    for trial in trials(&record) {
        // Nagle's algorithm at both ends: each waits for the other's delayed ACK.
        let delayed = trial.tcp.unwrap().delayed_acks;
        assert!(delayed > 20, "{trial:?}");
    }
    let result = messages(&record);
    assert!(result.server.as_ref().unwrap().same_host && result.pairs[0].shares != Shares::Hosts);
}

#[test]
fn what_cannot_be_between_hosts_is_refused_with_what_could() {
    let cases = [
        ("pingpong --over unix", "choose --over tcp or udp"),
        ("pingpong --placement UK", "leave --placement out"),
        ("pingpong --over udp --layers xdp", "--layers xdp"),
        ("pingpong --cpu-pairs same", "netfathom message serve --cpu"),
        ("pingpong --cpu 0,1", "name this end's CPU"),
        ("oneway --rate 2k", "choose pingpong"),
        ("oneway --lab", "--lab"),
        ("oneway --delay 1ms", "--delay"),
        ("post --over udp", "datagram"),
    ];
    for (args, named) in cases {
        refused_for(&mut netfathom(&format!("message {args} --to 127.0.0.1:9")), 2, &[named]);
    }
}

/// A client in the middle of its trials.
fn measuring(server: &Server, over: &str, out: &Path) -> Child {
    let client = start(server.client(&format!("{LONG} --over {over}")).arg("--out").arg(out));
    until("a trial", || record(out).filter(|r| trials(r).count() > 0));
    client
}

#[test]
fn a_client_of_a_killed_or_stopped_server_ends_and_keeps_its_finished_trials() {
    const LOST: &str = "the host of the server was lost";
    for (kill, over, why) in [
        ("KILL", "tcp", LOST),
        ("KILL", "udp", LOST),
        ("STOP", "tcp", LOST),
        ("INT", "tcp", "the server was stopped"),
    ] {
        let (server, dir) = (Server::start("message serve", ""), out());
        let client = measuring(&server, over, dir.path());
        let record = server.lost(kill, client, why, dir.path());
        assert!((1..100).contains(&trials(&record).count()));
    }
}

#[test]
fn a_server_takes_one_client_at_a_time_and_the_next_when_that_is_killed_or_stopped() {
    for (kill, over, shown) in [
        ("KILL", "tcp", "has closed the connection"),
        ("KILL", "udp", "has closed the connection"),
        ("INT", "tcp", "ended after"),
    ] {
        let (server, dir) = (Server::start("message serve", ""), out());
        let first = measuring(&server, over, dir.path());
        let second = run(server.client(LONG).arg("--out").arg(out().path()));
        second.exited(1).explains(&["it serves another client; try again"]);
        signal(kill, &first);
        let status = end(first).status;
        assert!(kill == "KILL" || matches!(status, 0 | 3), "{status}");
        server.next(shown);
        server.still_serves();
        assert_eq!(server.end().status, 0);
    }
}

#[test]
fn datagrams_of_strangers_are_no_messages() {
    let server = Server::start("message serve", "");
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let sends_junk = |done: &AtomicBool| {
        while !done.load(Relaxed) {
            // No trial may be on.
            let _ = (stranger.send_to(b"junk", server.address), stranger.send_to(&[], server.address));
            thread::sleep(Duration::from_micros(200));
        }
    };
    let args = format!("pingpong --over udp --layers write,writev --no-remedies {SHORT}");
    whole(&beside(sends_junk, || server.recorded(&args)), 200);
    assert_eq!(server.end().status, 0);
}

#[test]
fn a_server_survives_what_is_no_client() {
    let server = Server::start("message serve", "");
    let talk = |words: &str| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(IN_VAIN)).unwrap();
        // It may hang up before all of it is written.
        let _ = stream.write_all(words.as_bytes());
        stream
    };
    let hello = "{\"say\":\"messages\",\"version\":1}\n";
    let (long, deep) = ("x".repeat(1_000_000), format!("{}\n", "[".repeat(4000)));
    let strangers =
        ["GET / HTTP/1.0\r\n\r\n", "\n\n\n", "{}\n", "{\"key\":1}\n", "{\"say\":\"hello\"}\n", &deep, &long];
    // Slow ones: they have no place, and are let go.
    let slow: Vec<TcpStream> = (0..40).map(|_| talk("{")).collect();
    for words in strangers {
        let mut answer = Vec::new();
        let ended = talk(words).read_to_end(&mut answer);
        assert!(ended.is_err() || answer.is_empty(), "{words:.60}: {answer:?}");
    }
    let mut answer = String::new();
    BufReader::new(talk("{\"say\":\"messages\",\"version\":99}\n")).read_line(&mut answer).unwrap();
    assert!(answer.contains("\"speaks\":1"), "{answer}");
    drop(slow);
    // With a place: what follows must be a trial that can be made.
    let plan = netfathom_model::plan::MessagePlan {
        sizes_bytes: vec![1 << 40],
        ..netfathom_model::plan::MessagePlan::paper(
            netfathom_model::plan::MessageTest::Pingpong,
            Place::To(server.address),
        )
    };
    let trial = serde_json::json!({"say": "trial", "plan": plan, "counted": false});
    let garbage = format!("{hello}what?\n");
    for words in [
        garbage,
        format!("{hello}{long}"),
        format!("{hello}{{\"say\":\"ready\"}}\n"),
        format!("{hello}{trial}\n"),
    ] {
        let mut answer = Vec::new();
        let _ = talk(&words).read_to_end(&mut answer);
        server.next("after 0 trials: ");
    }
    server.still_serves();
    assert_eq!(server.end().status, 0);
}
