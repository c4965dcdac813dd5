//! `netfathom reverse` with its far end in other processes: every message has one fate, neither side outlives the other,
//! and no other host is sent anything.

use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use netfathom_model::path::Tap;
use netfathom_model::plan::Variant;
use netfathom_model::record::{Measured, Phase, Record, ReverseResult, ReverseTrial, State};
use netfathom_model::verdict::Level;
use netfathom_sys::counters;
use netfathom_testkit::{Star, needs_root};

use crate::child::{
    beside, end, end_within, netfathom, netfathom_to, out, record, run, signal, start, start_on,
    unprivileged, until,
};
use crate::refusals::{all_refused, refused_for};
use crate::server::{NOTICES, Server};

mod by_hand;

const SHORT: &str = "reverse --time 800ms --trials 1 --inbound 1k..10k --quiet";
/// Would take minutes.
const LONG: &str = "reverse --time 1s --trials 100 --variant other-thread --inbound 1k..10k --quiet --no-tap";

const FAR_END_MISSED: &str = "the far end missed";

fn reverse(record: &Record) -> &ReverseResult {
    ReverseResult::of(&record.measurement).expect("a reverse run")
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
        assert_eq!((ended, between.inbound_lost), (t.inbound_sent, 0), "{name}: {between:?}");
        assert_eq!(t.inbound_read == 0, variant == Variant::Ignored, "{name}: {t:?}");
        // Between two namespaces nothing is lost without a count.
        assert_eq!((between.not_sent, between.lost), (0, 0), "{name}: {t:?}");
        // A far end that lacked its CPU says so in the verdict.
        let missed = record.verdict.reasons.iter().any(|reason| reason.text.contains(FAR_END_MISSED));
        assert!(variant == Variant::Echo || t.inbound_sent <= 3100, "{name}: {}", t.inbound_sent);
        if variant != Variant::Echo && !missed {
            // A ramp from 1k to 10k over 0.2 s, and 10k for as long.
            assert!(t.inbound_sent >= 2800, "{name}: {}", t.inbound_sent);
            let [before, _, peak, after] = Phase::ALL.map(|phase| t.phases[phase as usize].inbound_per_s);
            assert!(before < 0.2 * peak && after < 0.2 * peak, "{name}: {before} {peak} {after}");
        }
    }
}

/// A counterpart on a host of its own.
fn counterpart(star: &Star, place: u8, args: &str) -> Server {
    let listen = format!("reverse serve --listen {}:0 {args}", Star::address(place));
    Server::of(start_on(&star.hosts[usize::from(place)], &mut netfathom(&listen)))
}

fn local(args: &str) -> Server {
    Server::start("reverse serve", args)
}

fn client(args: &str, to: &[&Server], out: &Path) -> Command {
    let to: Vec<String> = to.iter().map(|server| server.address.to_string()).collect();
    netfathom_to(out, &format!("{args} --to {}", to.join(",")))
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
    end(start_on(&star.hosts[0], &mut client(SHORT, &[&server], dir.path()))).measured();
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
    end(start_on(&star.hosts[0], &mut client(SHORT, &both, dir.path()))).measured();
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
    let ended = end(start_on(&star.hosts[0], &mut client(SHORT, &[&server], out().path())));
    assert!(ended.status == 1 && ended.err.contains("it sends at most 5k messages a second"), "{ended}");
}

#[test]
fn without_privilege_and_by_name_it_measures_over_loopback() {
    let server = Server::of(start(&mut unprivileged("reverse serve --listen 127.0.0.1:0")));
    let dir = out();
    let args = format!("{SHORT} --variant ignored,echo --to localhost:{}", server.address.port());
    run(unprivileged(&args).arg("--out").arg(dir.path())).measured();
    let record = record(dir.path()).unwrap();
    closes(&record);
    assert_eq!(reverse(&record).plan.to.as_deref(), Some(&[server.address][..]));
    let shown = run(netfathom("report --format md").arg(crate::child::only_run(dir.path())));
    assert!(shown.out.contains(&server.address.to_string()), "{shown}");
    assert!(shown.out.contains("lost 0"), "{shown}");
    assert_eq!(server.end().status, 0);
}

#[test]
fn a_lost_counterpart_ends_the_run_and_keeps_what_was_finished() {
    const LOST: &str = "the other host was lost";
    for (kill, why) in [("KILL", LOST), ("STOP", LOST), ("INT", "the counterpart was stopped")] {
        let (server, dir) = (local(""), out());
        let client = start(&mut client(LONG, &[&server], dir.path()));
        until("a trial", || record(dir.path()).filter(|r| trials(r).count() > 0));
        let record = server.lost(kill, client, why, dir.path());
        assert!((1..100).contains(&trials(&record).count()));
    }
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
        refused_for(&mut client(&args, &[&server], out().path()), 1, &[named]);
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
        refused_for(&mut client(args, to, dir.path()), 2, &[named]);
    }
    let addresses = [
        ("--to 203.0.113.7:9", "--allow 203.0.113.7"),
        ("--inbound 1..2 --to 127.0.0.1:9,127.0.0.2:9", "the part of each of 2 hosts must rise"),
        ("--to nowhere.invalid:9", "cannot find the address of nowhere.invalid"),
    ];
    all_refused("reverse", &addresses);
    still_serves(&server);
    let first = start(&mut client(LONG, &[&server], dir.path()));
    server.next("begins");
    until("a trial", || record(dir.path()).filter(|r| trials(r).count() > 0));
    let why = "it serves another host; try again";
    run(&mut client(LONG, &[&server], out().path())).explains(&[why]);
    signal("INT", &first);
    end(first);
    assert_eq!(server.end().status, 0);
}

#[test]
fn other_packets_of_the_device_are_no_inbound_load() {
    needs_root!();
    let star = Star::create(2);
    let server = counterpart(&star, 1, "--hosts 1");
    let dir = out();
    let socket = star.hosts[1].run(|| UdpSocket::bind("0.0.0.0:0").unwrap()).unwrap();
    let sends = |done: &AtomicBool| {
        while !done.load(Relaxed) {
            // Refused there.
            for _ in 0..10 {
                let _ = socket.send_to(&[0; 64], (Star::address(0), 9));
            }
            thread::sleep(Duration::from_millis(1));
        }
    };
    let args = format!("{SHORT} --variant ignored --no-tap");
    beside(sends, || end(start_on(&star.hosts[0], &mut client(&args, &[&server], dir.path()))).measured());
    closes(&record(dir.path()).unwrap());
}
