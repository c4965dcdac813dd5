//! `netfathom reverse` with its far end in other processes: every message has one fate, neither side outlives the other,
//! and no other host is sent anything.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use netfathom_model::path::Tap;
use netfathom_model::plan::Variant;
use netfathom_model::record::{Measurement, Phase, Record, ReverseResult, ReverseTrial, State};
use netfathom_model::verdict::Level;
use netfathom_sys::counters;
use netfathom_sys::netns::Namespace;
use netfathom_testkit::{Star, needs_root};
use serde_json::{Value, json};

use crate::child::{end, end_within, netfathom, out, record, run, signal, start, unprivileged, until};
use crate::message_hosts::Server;
use crate::refusals::refused;

/// In which one side notices that the other is gone, and what a busy machine adds.
const NOTICES: Duration = Duration::from_secs(8);
const SHORT: &str = "reverse --time 800ms --trials 1 --inbound 1k..10k --quiet";
/// Would take minutes.
const LONG: &str = "reverse --time 1s --trials 100 --variant other-thread --inbound 1k..10k --quiet --no-tap";

fn reverse(record: &Record) -> &ReverseResult {
    match &record.measurement {
        Measurement::Reverse(result) => result,
        other => panic!("{}", other.name()),
    }
}

fn trials(record: &Record) -> impl Iterator<Item = (Variant, &ReverseTrial)> {
    reverse(record).variants.iter().flat_map(|of| of.trials.iter().map(|trial| (of.variant, trial)))
}

/// Each message ended in one way, on either side, and nothing came in but while it was to.
fn closes(record: &Record) {
    assert_eq!(record.state, State::Complete);
    assert_ne!(record.verdict.level, Level::Void, "{:?}", record.verdict);
    for (variant, t) in trials(record) {
        let name = variant.name();
        let between = t.between.unwrap();
        assert!(t.sent > 0 && t.arrived > 0 && t.inbound_sent > 0, "{name}: {t:?}");
        assert_eq!(t.sent, t.arrived + between.not_sent + between.lost, "{name}: {between:?}");
        let ended = t.inbound_read + between.inbound_overflowed + between.inbound_left;
        assert_eq!(t.inbound_sent, ended + between.inbound_lost, "{name}: {between:?}");
        assert_eq!(t.inbound_read == 0, variant == Variant::Ignored, "{name}: {t:?}");
        // Between two namespaces nothing is lost without a count.
        assert_eq!((between.not_sent, between.lost), (0, 0), "{name}: {t:?}");
        if variant != Variant::Echo {
            // A ramp from 1k to 10k over 0.2 s, and 10k for as long.
            assert!((2800..=3100).contains(&t.inbound_sent), "{name}: {}", t.inbound_sent);
            let [before, _, peak, after] = Phase::ALL.map(|phase| t.phases[phase as usize].inbound_per_s);
            assert!(before < 0.2 * peak && after < 0.2 * peak, "{name}: {before} {peak} {after}");
        }
    }
}

/// A counterpart on a host of its own.
fn counterpart(star: &Star, place: u8, args: &str) -> Server {
    let listen = format!("reverse serve --listen {}:0 {args}", Star::address(place));
    Server::of(spawn(&star.hosts[usize::from(place)], netfathom(&listen)))
}

fn spawn(on: &Namespace, mut command: Command) -> std::process::Child {
    Star::spawn(on, command.stdout(Stdio::piped()).stderr(Stdio::piped()))
}

fn local(args: &str) -> Server {
    Server::of(start(&mut netfathom(&format!("reverse serve --listen 127.0.0.1:0 {args}"))))
}

fn client(args: &str, to: &[&Server], out: &Path) -> Command {
    let to: Vec<String> = to.iter().map(|server| server.address.to_string()).collect();
    let mut command = netfathom(&format!("{args} --to {} --out", to.join(",")));
    command.arg(out);
    command
}

fn still_serves(server: &Server) {
    let dir = out();
    run(&mut client(&format!("{SHORT} --variant other-thread --no-tap"), &[server], dir.path())).measured();
    closes(&record(dir.path()).unwrap());
}

#[test]
fn between_hosts_every_message_has_one_fate() {
    needs_root!();
    let star = Star::create(2);
    let server = counterpart(&star, 1, "--hosts 1");
    let dir = out();
    let packets = |place: usize| {
        let all = star.hosts[place].run(counters::read).unwrap().unwrap().devices;
        all.iter().filter(|(name, _)| *name != "lo").map(|(_, device)| device.rx_packets).sum::<u64>()
    };
    let before = [0, 1].map(packets);
    end(spawn(&star.hosts[0], client(SHORT, &[&server], dir.path()))).measured();
    let came = [0, 1].map(|place| packets(place) - before[place]);
    let record = record(dir.path()).unwrap();
    closes(&record);
    let result = reverse(&record);
    assert_eq!((result.tap, result.steered), (Some(Tap::Bpf), false));
    assert_eq!(result.hosts.as_ref().map(Vec::len), Some(1));
    assert!(trials(&record).count() == 4 && trials(&record).all(|(_, trial)| trial.stack.is_some()));
    // What the devices counted, that of the conversation and of the load before each trial included.
    let sum = |of: fn(&ReverseTrial) -> u64| trials(&record).map(|(_, trial)| of(trial)).sum::<u64>();
    let inbound = sum(|trial| trial.inbound_sent);
    assert!((inbound..inbound + 2000).contains(&came[0]), "{inbound}: {}", came[0]);
    assert!(came[1] >= sum(|trial| trial.arrived), "{}", came[1]);
    assert!(server.next("ended").contains("4 trials"));
}

/// As in the paper, in which two platforms load the third.
#[test]
fn two_hosts_send_the_inbound_load_together() {
    needs_root!();
    let star = Star::create(3);
    let servers = [1, 2].map(|place| counterpart(&star, place, "--hosts 1 --max-rate 5k"));
    let dir = out();
    let both = [&servers[0], &servers[1]];
    end(spawn(&star.hosts[0], client(SHORT, &both, dir.path()))).measured();
    let record = record(dir.path()).unwrap();
    closes(&record);
    assert_eq!(reverse(&record).hosts.as_ref().map(Vec::len), Some(2));
    // One echo has one other end.
    assert_eq!(trials(&record).count(), 3);
    for server in &servers {
        assert!(server.next("ended").contains("3 trials"));
    }
    // Alone each of them refuses as much.
    let server = counterpart(&star, 1, "--max-rate 5k");
    let ended = end(spawn(&star.hosts[0], client(SHORT, &[&server], out().path())));
    assert!(
        ended.status == 1 && ended.err.contains("it sends at most 5k messages a second"),
        "{}",
        ended.err
    );
}

#[test]
fn without_privilege_and_by_name_it_measures_over_loopback() {
    let server = Server::of(start(&mut unprivileged("reverse serve --listen 127.0.0.1:0")));
    let dir = out();
    std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let args = format!("{SHORT} --variant ignored,echo --to localhost:{}", server.address.port());
    run(unprivileged(&args).arg("--out").arg(dir.path())).measured();
    let record = record(dir.path()).unwrap();
    closes(&record);
    assert_eq!(reverse(&record).plan.to.as_deref(), Some(&[server.address][..]));
    let shown = run(netfathom("report --format md").arg(crate::child::only_run(dir.path())));
    assert!(shown.out.contains(&server.address.to_string()), "{}", shown.out);
    assert!(shown.out.contains("lost 0"), "{}", shown.out);
    assert_eq!(server.end().status, 0);
}

#[test]
fn a_lost_counterpart_ends_the_run_and_keeps_what_was_finished() {
    for kill in ["KILL", "STOP"] {
        let (server, dir) = (local(""), out());
        let client = start(&mut client(LONG, &[&server], dir.path()));
        until("a trial", || record(dir.path()).filter(|r| trials(r).count() > 0));
        server.kill(kill);
        let ended = end_within(client, NOTICES);
        assert_eq!(ended.status, 1, "{kill}: {}", ended.err);
        assert!(ended.err.contains("the other host was lost"), "{kill}: {}", ended.err);
        let record = record(dir.path()).unwrap();
        assert_ne!(record.state, State::Complete);
        assert!((1..100).contains(&trials(&record).count()));
    }
    let (server, dir) = (local(""), out());
    let client = start(&mut client(LONG, &[&server], dir.path()));
    until("a trial", || record(dir.path()).filter(|r| trials(r).count() > 0));
    assert_eq!(server.end().status, 0);
    let ended = end_within(client, NOTICES);
    assert!(ended.status == 1 && ended.err.contains("the counterpart was stopped"), "{}", ended.err);
}

#[test]
fn a_counterpart_with_a_lost_or_stopped_host_sends_no_more_and_takes_the_next() {
    for (kill, shown) in [("KILL", "has closed the connection"), ("INT", "ended after")] {
        let (server, dir) = (local(""), out());
        let client = start(&mut client(LONG, &[&server], dir.path()));
        until("a trial", || record(dir.path()).filter(|r| trials(r).count() > 0));
        signal(kill, &client);
        end_within(client, NOTICES);
        server.next(shown);
        still_serves(&server);
        assert_eq!(server.end().status, 0);
    }
}

#[test]
fn what_a_counterpart_may_not_do_is_refused_with_the_reason() {
    let server = local("--max-rate 20k --max-time 1s");
    let cases = [
        ("--inbound 1k..30k", "at most 20k messages a second"),
        ("--time 2s --inbound 1k..10k", "trials of at most 1s"),
    ];
    for (args, named) in cases {
        let args = format!("reverse --variant ignored --trials 1 --no-tap --quiet {args}");
        let ended = run(&mut client(&args, &[&server], out().path()));
        assert!(ended.status == 1 && ended.err.contains(named), "{args}: {}", ended.err);
    }
    let (dir, two) = (out(), [&server, &server]);
    let usage = [
        ("reverse --variant echo", &two[..], "one host takes the load"),
        ("reverse --ipv6", &two[..1], "--ipv6"),
        ("reverse --setup true", &two[..1], "--setup"),
    ];
    for (args, to, named) in usage {
        let message = refused(&mut client(args, to, dir.path()), 2);
        assert!(message.contains(named), "{args}: {message}");
    }
    let public = refused(&mut netfathom("reverse --to 203.0.113.7:9"), 2);
    assert!(public.contains("--allow 203.0.113.7"), "{public}");
    let nowhere = refused(&mut netfathom("reverse --to nowhere.invalid:9"), 2);
    assert!(nowhere.contains("cannot find the address of nowhere.invalid"), "{nowhere}");
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    let message = refused(netfathom(&format!("reverse --to {at} --out")).arg(dir.path()), 1);
    assert!(message.contains(&format!("netfathom reverse serve --listen {at}")), "{message}");
    let message = refused(&mut netfathom(&format!("reverse serve --listen {at}")), 1);
    assert!(message.contains("in use"), "{message}");
    still_serves(&server);
    let first = start(&mut client(LONG, &[&server], dir.path()));
    server.next("begins");
    until("a trial", || record(dir.path()).filter(|r| trials(r).count() > 0));
    let second = run(&mut client(LONG, &[&server], out().path()));
    assert!(second.err.contains("it serves another host; try again"), "{}", second.err);
    signal("INT", &first);
    end(first);
    assert_eq!(server.end().status, 0);
}

/// A host by hand: up to where the counterpart has made its sockets.
fn by_hand(server: &Server, flow: u32) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(NOTICES)).unwrap();
    let plan = json!({
        "family": "ipv4", "variants": ["ignored"], "trials": 1, "duration_ns": 400_000_000_u64,
        "inbound_from_per_s": 100.0, "inbound_peak_per_s": 1000.0, "size_bytes": 64, "tapped": false, "cpus": null,
    });
    let trial = json!({"say": "trial", "plan": plan, "variant": "ignored", "flow": flow, "takes": true});
    writeln!(stream, "{}\n{trial}", json!({"say": "reverse", "version": 1})).unwrap();
    let mut lines = BufReader::new(stream);
    for word in ["welcome", "bound"] {
        assert_eq!(heard(&mut lines)["say"], word);
    }
    lines
}

fn heard(lines: &mut BufReader<TcpStream>) -> Value {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

fn greeting(flow: u32) -> [u8; 32] {
    let mut payload = [0; 32];
    netfathom_model::message::Header { flow, sequence: 0, intended_ns: 0, sent_ns: 0 }.write(&mut payload);
    payload
}

#[test]
fn who_has_not_shown_its_address_is_sent_nothing() {
    let server = local("");
    // Another host than that of the conversation, which knows the numbers.
    let mut lines = by_hand(&server, 7);
    let other = UdpSocket::bind("127.0.0.2:0").unwrap();
    for flow in [7, 8] {
        other.send_to(&greeting(flow), server.address).unwrap();
    }
    let failed = heard(&mut lines);
    assert!(
        failed["say"] == "failed" && failed["text"].as_str().unwrap().contains("no datagram"),
        "{failed}"
    );
    other.set_nonblocking(true).unwrap();
    assert!(other.recv(&mut [0; 64]).is_err());
    server.next("no datagram of your host came");
    // The same host without the numbers.
    let mut lines = by_hand(&server, 7);
    let same = UdpSocket::bind("127.0.0.1:0").unwrap();
    same.send_to(&greeting(9), server.address).unwrap();
    assert_eq!(heard(&mut lines)["say"], "failed");
    same.set_nonblocking(true).unwrap();
    assert!(same.recv(&mut [0; 64]).is_err());
    server.next("no datagram of your host came");
    // With them it is met, and is let go when it does not live.
    let mut lines = by_hand(&server, 7);
    for flow in [7, 8] {
        same.send_to(&greeting(flow), server.address).unwrap();
    }
    assert_eq!(heard(&mut lines)["say"], "met");
    writeln!(lines.get_ref(), "{}", json!({"say": "begin", "after_ns": 0})).unwrap();
    server.next("was silent for 3s");
    for words in ["what?\n", "{\"say\":\"begin\",\"after_ns\":99000000000}\n", "{\"say\":\"over\"}\n"] {
        let mut stream = TcpStream::connect(server.address).unwrap();
        writeln!(stream, "{}", json!({"say": "reverse", "version": 1})).unwrap();
        stream.write_all(words.as_bytes()).unwrap();
        server.next("after 0 trials: ");
    }
    still_serves(&server);
    assert_eq!(server.end().status, 0);
}
