//! `netfathom reverse` with its far end in other processes: every message has one fate, neither side outlives the other,
//! and no other host is sent anything.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
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
        ("reverse --variant ignored", &two[..], "named twice"),
        ("reverse --size 1473", &two[..1], "beyond the MTU of Ethernet"),
        ("reverse --ipv6", &two[..1], "--ipv6"),
        ("reverse --setup true", &two[..1], "--setup"),
    ];
    for (args, to, named) in usage {
        let message = refused(&mut client(args, to, dir.path()), 2);
        assert!(message.contains(named), "{args}: {message}");
    }
    let public = refused(&mut netfathom("reverse --to 203.0.113.7:9"), 2);
    assert!(public.contains("--allow 203.0.113.7"), "{public}");
    let parts = refused(&mut netfathom("reverse --inbound 1..2 --to 127.0.0.1:9,127.0.0.2:9"), 2);
    assert!(parts.contains("the part of each of 2 hosts must rise"), "{parts}");
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
    by_hand_in(server, flow, Variant::Ignored)
}

fn by_hand_in(server: &Server, flow: u32, variant: Variant) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(NOTICES)).unwrap();
    let plan = json!({
        "family": "ipv4", "variants": ["ignored"], "trials": 1, "duration_ns": 400_000_000_u64,
        "inbound_from_per_s": 100.0, "inbound_peak_per_s": 1000.0, "size_bytes": 64, "tapped": false, "cpus": null,
    });
    let trial = json!({"say": "trial", "plan": plan, "variant": variant, "flow": flow, "takes": true});
    writeln!(stream, "{}\n{trial}", json!({"say": "reverse", "version": 1})).unwrap();
    let mut lines = BufReader::new(stream);
    for word in ["welcome", "bound"] {
        assert_eq!(heard(&mut lines)["say"], word);
    }
    lines
}

fn tell(lines: &BufReader<TcpStream>, word: &Value) {
    writeln!(lines.get_ref(), "{word}").unwrap();
}

/// The next word that is no sign of life.
fn answer(lines: &mut BufReader<TcpStream>) -> Value {
    loop {
        let word = heard(lines);
        if word["say"] != "alive" {
            return word;
        }
    }
}

/// The sockets of a host by hand, which the counterpart has met.
fn met(server: &Server, lines: &mut BufReader<TcpStream>, flow: u32) -> [UdpSocket; 2] {
    let sockets = [flow, flow + 1].map(|flow| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(server.address).unwrap();
        socket.send(&greeting(flow)).unwrap();
        socket
    });
    assert_eq!(answer(lines)["say"], "met");
    sockets
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
    let failed = answer(&mut lines);
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
    assert_eq!(answer(&mut lines)["say"], "failed");
    same.set_nonblocking(true).unwrap();
    assert!(same.recv(&mut [0; 64]).is_err());
    server.next("no datagram of your host came");
    // With them it is met, and is let go when it does not live.
    let mut lines = by_hand(&server, 7);
    for flow in [7, 8] {
        same.send_to(&greeting(flow), server.address).unwrap();
    }
    assert_eq!(answer(&mut lines)["say"], "met");
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

#[test]
fn a_host_that_goes_on_sending_does_not_keep_a_counterpart() {
    let server = local("");
    let mut lines = by_hand_in(&server, 7, Variant::Echo);
    let [load, _] = met(&server, &mut lines, 7);
    for word in ["ready", "begin", "over"] {
        tell(&lines, &json!({"say": word, "after_ns": 0}));
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut message = [0; 64];
            message[..32].copy_from_slice(&greeting(7));
            while !done.load(Relaxed) {
                // Refused while the counterpart has no socket.
                let _ = load.send(&message);
            }
        });
        assert_eq!(answer(&mut lines)["say"], "ready");
        // Before a client would call it silent.
        lines.get_ref().set_read_timeout(Some(Duration::from_secs(3))).unwrap();
        assert_eq!(answer(&mut lines)["say"], "ended");
        done.store(true, Relaxed);
    });
    drop(lines);
    server.next("after 1 trial");
    still_serves(&server);
    assert_eq!(server.end().status, 0);
}

/// A path with a queue delivers after the word that comes by another way.
#[test]
fn what_comes_late_of_the_load_before_a_trial_is_not_counted() {
    let server = local("");
    let mut lines = by_hand(&server, 7);
    let [load, _inbound] = met(&server, &mut lines, 7);
    let on_the_way = AtomicBool::new(true);
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..300 {
                load.send(&greeting(0)).unwrap();
                thread::sleep(Duration::from_millis(1));
            }
            on_the_way.store(false, Relaxed);
        });
        tell(&lines, &json!({"say": "ready"}));
        assert_eq!(answer(&mut lines)["say"], "ready");
        assert!(!on_the_way.load(Relaxed));
    });
    tell(&lines, &json!({"say": "begin", "after_ns": 0}));
    tell(&lines, &json!({"say": "over"}));
    let ended = answer(&mut lines);
    assert_eq!((&ended["say"], &ended["arrived"]), (&"ended".into(), &0.into()));
    tell(&lines, &json!({"say": "bye"}));
    server.next("ended after 1 trial");
    assert_eq!(server.end().status, 0);
}

#[test]
fn a_host_that_leaves_is_noticed_at_once() {
    let server = local("");
    drop(by_hand(&server, 7));
    assert!(server.next("after 0 trials").contains("has closed the connection"));
    let mut lines = by_hand(&server, 7);
    met(&server, &mut lines, 7);
    tell(&lines, &json!({"say": "bye"}));
    server.next("ended after 0 trials");
    assert_eq!(server.end().status, 0);
}

/// A counterpart by hand that is silent from one of its words on, or claims what it sent.
struct FakeServer {
    listener: TcpListener,
    socket: UdpSocket,
}

impl FakeServer {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = UdpSocket::bind(listener.local_addr().unwrap()).unwrap();
        Self { listener, socket }
    }

    fn client(&self, dir: &Path) -> Command {
        let at = self.listener.local_addr().unwrap();
        let args = "reverse --variant ignored --trials 1 --no-tap --time 400ms --inbound 10..1k --quiet";
        let mut command = netfathom(&format!("{args} --to {at} --out"));
        command.arg(dir);
        command
    }

    /// Serves one host. `strangers` is called with where its messages come in, once the trial has begun.
    fn serve(&self, silent_from: &str, in_windows: u64, strangers: impl Fn(SocketAddr)) {
        let (stream, _) = self.listener.accept().unwrap();
        stream.set_read_timeout(Some(NOTICES)).unwrap();
        let mut lines = BufReader::new(stream);
        let (mut flow, mut inbound) = (0, self.socket.local_addr().unwrap());
        let mut line = String::new();
        while matches!(lines.read_line(&mut line), Ok(1..)) {
            let word: Value = serde_json::from_str(&std::mem::take(&mut line)).unwrap();
            let kind = word["say"].as_str().unwrap();
            let identity = json!({"boot": "", "network": ""});
            let reply = match kind {
                "reverse" => {
                    json!({"say": "welcome", "tool": "t", "host": "h", "kernel": "k", "cpu": 0, "identity": identity})
                }
                "trial" => {
                    flow = word["flow"].as_u64().unwrap() as u32;
                    json!({"say": "bound", "port": self.socket.local_addr().unwrap().port()})
                }
                "ready" => json!({"say": "ready"}),
                "over" => json!({"say": "ended", "inbound_sent": 0, "windows": [in_windows], "arrived": 0}),
                "begin" => {
                    strangers(inbound);
                    continue;
                }
                "alive" => json!({"say": "alive"}),
                _ => return,
            };
            if reply["say"] == silent_from {
                continue;
            }
            tell(&lines, &reply);
            if kind == "trial" && silent_from != "met" {
                let mut payload = [0; 32];
                while payload != greeting(flow.wrapping_add(1)) {
                    inbound = self.socket.recv_from(&mut payload).unwrap().1;
                }
                tell(&lines, &json!({"say": "met"}));
                self.socket.send_to(&payload, inbound).unwrap();
            }
        }
    }
}

#[test]
fn a_stopped_run_does_not_wait_for_a_silent_counterpart() {
    for silent_from in ["welcome", "bound", "met", "ready"] {
        let (server, dir) = (FakeServer::new(), out());
        let client = start(&mut server.client(dir.path()));
        thread::scope(|scope| {
            scope.spawn(|| server.serve(silent_from, 0, |_| ()));
            thread::sleep(Duration::from_millis(1500));
            signal("INT", &client);
            // Its answers may take five.
            let ended = end_within(client, Duration::from_secs(3));
            assert!(!ended.err.contains("lost"), "{silent_from}: {}", ended.err);
            assert_eq!(record(dir.path()).unwrap().state, State::Interrupted, "{silent_from}");
        });
    }
}

#[test]
fn what_a_stranger_sends_is_no_inbound_load() {
    let (server, dir) = (FakeServer::new(), out());
    let client = start(&mut server.client(dir.path()));
    server.serve("", 0, |inbound| {
        assert_eq!(inbound.ip(), server.socket.local_addr().unwrap().ip());
        let stranger = UdpSocket::bind("127.0.0.2:0").unwrap();
        for _ in 0..100 {
            stranger.send_to(&[0; 64], inbound).unwrap();
        }
    });
    end(client);
    let record = record(dir.path()).unwrap();
    assert_ne!(record.verdict.level, Level::Void, "{:?}", record.verdict);
    let between = trials(&record).next().unwrap().1.between.unwrap();
    assert_eq!((between.inbound_overflowed, between.inbound_left), (0, 0));
}

#[test]
fn windows_that_do_not_add_up_are_not_believed() {
    let (server, dir) = (FakeServer::new(), out());
    let client = start(&mut server.client(dir.path()));
    server.serve("", 1 << 44, |_| ());
    let ended = end(client);
    assert!(ended.status == 1 && ended.err.contains("reports what cannot be"), "{}", ended.err);
}

#[test]
fn other_packets_of_the_device_are_no_inbound_load() {
    needs_root!();
    let star = Star::create(2);
    let server = counterpart(&star, 1, "--hosts 1");
    let (dir, done) = (out(), AtomicBool::new(false));
    let socket = star.hosts[1].run(|| UdpSocket::bind("0.0.0.0:0").unwrap()).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                // Refused there.
                for _ in 0..10 {
                    let _ = socket.send_to(&[0; 64], (Star::address(0), 9));
                }
                thread::sleep(Duration::from_millis(1));
            }
        });
        let args = format!("{SHORT} --variant ignored --no-tap");
        end(spawn(&star.hosts[0], client(&args, &[&server], dir.path()))).measured();
        done.store(true, Relaxed);
    });
    closes(&record(dir.path()).unwrap());
}
