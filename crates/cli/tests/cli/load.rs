//! `load send` alone, `capacity` and `reverse`: what they refuse, what they keep.

use std::fs;
use std::net::UdpSocket;

use netfathom_model::accounting::{Accounting, Fate};
use netfathom_model::record::{LoadResult, Measured, Measurement, Record, StackResult, State};
use netfathom_testkit::{Killed, needs_programs, needs_root, privileged, test_name};

use crate::child::{netfathom, netfathom_to, only_run, out, record, recorded, run, start};
use crate::refusals::{all_refused, refused_for};

pub fn result(record: &Record) -> LoadResult {
    LoadResult::of(&record.measurement).expect("a load").clone()
}

pub fn delivered(accounting: &Accounting) -> u64 {
    accounting.fates.iter().filter(|f| f.fate == Fate::Delivered).map(|f| f.count).sum()
}

#[test]
fn numbers_and_words_that_cannot_be() {
    all_refused(
        "",
        &[
            ("load send --workers 0", "--workers 0"),
            ("load send --workers 257", "--workers 257"),
            ("load send --trials 1001", "--trials 1001"),
            ("load send --size 31", "--size 31"),
            ("load send --engine fast", "--engine"),
            ("load send --echo --engine xdp", "--echo"),
            ("load send --profile poisson:0/1s", "a rate of 0"),
            ("load send --profile poisson:NaN/1s", "NaN"),
            ("load send --profile triangle:1k..5k,cap=9k/1s", "cap=9k"),
            ("load send --profile triangle:1k..5k,cap=/1s", "not a number"),
            ("load send --to 127.0.0.1:9 --lab", "--lab"),
            ("load send --to 127.0.0.1:9 --receive gro", "--receive"),
            ("load send --to nowhere", "--to"),
            ("load sink --listen nowhere", "--listen"),
            ("capacity --engine auto", "--engine"),
            ("capacity --workers 1,0", "--workers 0"),
            ("capacity --hold 1ms", "--hold"),
            ("capacity --trials 0", "--trials 0"),
            ("reverse --inbound 5k..1k", "--inbound"),
            ("reverse --inbound NaN..1k", "NaN"),
            ("reverse --time 1ms", "--time"),
            ("reverse --variant none", "--variant"),
            ("stack rx --to 127.0.0.1:9", "stack tx"),
            ("stack tx --listen 127.0.0.1:9", "stack rx"),
        ],
    );
}

#[test]
fn addresses_that_load_must_not_go_to() {
    let allowed = "--one-way --allow 224.0.0.0/4";
    all_refused(
        "",
        &[
            ("load send --to 8.8.8.8:9", "--allow 8.8.8.8/32"),
            ("load send --to [::ffff:8.8.8.8]:9", "--allow 8.8.8.8/32"),
            ("load send --to [2001:db8::1]:9", "--allow 2001:db8::1/128"),
            ("capacity --to 8.8.8.8:9", "--allow 8.8.8.8/32"),
            ("stack tx --to 8.8.8.8:9", "--allow 8.8.8.8/32"),
            ("load send --to 0.0.0.0:9", "unspecified"),
            (&format!("load send --to 224.0.0.1:9 {allowed}"), "multicast"),
            ("load send --to 255.255.255.255:9 --one-way --allow 255.255.255.255", "broadcast"),
            ("load send --to 127.255.255.255:9", "broadcast"),
            ("load send --to 127.0.0.1:0", "port 0"),
            ("load send --to [fe80::1%lo]:9", "scopes (%lo) are not supported"),
            ("load sink --listen 224.0.0.1:9", "multicast"),
            ("load sink --listen 255.255.255.255:9", "broadcast"),
            ("message serve --listen 224.0.0.1:9", "multicast"),
            ("reverse serve --listen 224.0.0.1:9", "multicast"),
            ("stack rx --listen 224.0.0.1:9", "multicast"),
            ("watch --flow [fe80::1%lo]:80:[fe80::2]:80", "scopes (%lo) are not supported"),
            ("load send --to 127.0.0.1:9 --one-way", "--allow"),
            ("load send --to 127.0.0.1:9 --one-way --allow 10.0.0.0/8", "--one-way"),
            ("load send --to 127.0.0.1:9 --one-way --echo --allow 127.0.0.1", "--echo"),
            ("load send --to 127.0.0.1:9 --allow 0.0.0.0/0", "every address"),
        ],
    );
}

#[test]
fn a_table_is_a_profile_or_named_with_what_is_wrong() {
    let dir = out();
    fs::write(dir.path().join("binary"), [0xff; 1000]).unwrap();
    fs::write(dir.path().join("back"), "0,100\n1,100\n0.5,100\n").unwrap();
    fs::write(dir.path().join("rates"), "seconds,rate\n0,1000\n0.2,3000\n").unwrap();
    fs::create_dir(dir.path().join("directory")).unwrap();
    let of = |name| format!("load send --loopback --quiet --profile csv:{}", dir.path().join(name).display());
    for (name, named) in
        [("binary", "cannot read"), ("back", "line 3"), ("directory", "directory"), ("none", "No such file")]
    {
        refused_for(&mut netfathom(&of(name)), 2, &[name, named]);
    }
    let (_, record) = recorded(&mut netfathom(&of("rates")));
    let trial = &result(&record).trials[0];
    // The area below the line: 0.2 s at 2,000 a second on average.
    assert!(trial.load.planned.abs_diff(400) <= 1, "{}", trial.load.planned);
    assert_eq!(delivered(&trial.accounting), trial.load.planned);
}

#[test]
fn every_message_of_a_load_is_accounted_for() {
    let mut cases =
        vec!["--loopback --engine send", "--loopback --engine sendmmsg --workers 2", "--loopback --ipv6"];
    if privileged(test_name!()) {
        cases.extend(["--lab --engine gso", "--lab --engine af_xdp", "--lab --engine xdp", "--lab --echo"]);
    }
    for case in cases {
        let args = format!("load send --profile constant:2k/100ms --json {case}");
        let (ended, record) = recorded(&mut netfathom(&args));
        let shown: serde_json::Value = ended.json();
        assert_eq!(shown["id"], record.id.as_str(), "{case}");
        let trial = result(&record).trials.pop().unwrap();
        assert_eq!(trial.load.planned, 200, "{case}");
        // A sender that had no CPU at the end leaves out its last messages.
        let sent = 200 - trial.load.unsent;
        assert_eq!((trial.accounting.gap(), delivered(&trial.accounting)), (0, sent), "{case}: {trial:?}");
        assert_eq!(trial.workers.iter().map(|w| w.sent).sum::<u64>(), sent, "{case}");
    }
}

/// The send calls succeed, and the messages never come to the device.
#[test]
fn what_a_queue_of_the_sender_drops_is_named() {
    needs_root!();
    needs_programs!(["tc"], "iproute2");
    let queue = ["--setup", "tc qdisc add dev $DEVICE root tbf rate 1mbit burst 3000 limit 3000"];
    let of_plan = "--trials 1 --profile constant:2k/500ms";
    let (ended, load) = recorded(netfathom(&format!("load send {of_plan}")).args(queue));
    let (_, stack) = recorded(netfathom(&format!("stack both {of_plan}")).args(queue));
    let loads = result(&load).trials.into_iter().map(|trial| trial.accounting);
    let stacks = StackResult::of(&stack.measurement).unwrap().trials.iter();
    for a in loads.chain(stacks.map(|trial| trial.accounting.clone())) {
        let dropped = a.count(&Fate::QueueDrop);
        assert_eq!((a.gap(), a.count(&Fate::Unexplained)), (0, 0), "{a:?}");
        assert!(dropped > 0 && a.counters.iter().all(|c| c.agrees()), "{a:?}");
        assert!(a.unjoined_tx < dropped / 10, "{a:?}");
    }
    let named = |record: &Record| {
        record.verdict.reasons.iter().any(|reason| reason.text.contains("a queue of this host dropped them"))
    };
    assert!(named(&load) && named(&stack), "{ended}");
}

#[test]
fn one_way_claims_nothing_of_what_arrives() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = taken.local_addr().unwrap();
    let args = format!("load send --to {to} --one-way --allow 127.0.0.1 --profile constant:1k/100ms");
    let (ended, record) = recorded(&mut netfathom(&args));
    // The first line of a VOID run has no values.
    let lost = |line: &str| line.split_whitespace().any(|cell| cell == "-");
    assert!(ended.out.lines().any(|line| line.contains("loaded") && lost(line)), "{ended}");
    assert!(ended.out.contains("losses unknown") || ended.out.starts_with("VOID"), "{ended}");
    let result = result(&record);
    assert_eq!((delivered(&result.trials[0].accounting), result.summary.unwrap().lost), (0, None));
}

#[test]
fn a_capacity_is_a_record_and_a_report() {
    let record = reported("capacity --loopback --engine send --hold 50ms --trials 1");
    let Measurement::Capacity(result) = &record.measurement else { panic!("another measurement") };
    let [row] = &result.rows[..] else { panic!("{:?}", result.rows) };
    assert_eq!((row.searches.len(), record.state), (1, State::Complete));
    let search = &row.searches[0];
    // What is claimed was tried, and sustained there.
    let tried = |claimed: f64| search.probes.iter().any(|p| p.sustained && p.wanted_per_s == claimed);
    assert!(search.sustained_per_s.is_none_or(tried), "{search:?}");
    assert!(search.capacity_per_s <= search.sustained_per_s, "{search:?}");
}

#[test]
fn a_reverse_is_a_record_and_a_report() {
    needs_root!();
    let record = reported("reverse --time 1s --trials 1 --inbound 1k..5k --variant ignored,same-thread");
    let Measurement::Reverse(result) = &record.measurement else { panic!("another measurement") };
    let [ignored, same_thread] = &result.variants[..] else { panic!("{:?}", result.variants) };
    let trial = &ignored.trials[0];
    assert!(trial.sent > 0 && trial.inbound_sent > 0 && trial.inbound_read == 0, "{trial:?}");
    let trial = &same_thread.trials[0];
    assert_eq!(trial.inbound_read, trial.inbound_sent);
}

#[test]
fn who_waits_for_a_sender_shows_its_command_without_a_terminal_too() {
    needs_root!();
    let dir = out();
    let at = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let args = format!("stack rx --listen {at} --profile constant:1k/300ms --trials 3 --out");
    let mut reader = Killed(start(netfathom(&args).arg(dir.path())));
    let command =
        format!("\n  netfathom load send --to {at} --engine send --profile constant:1k/300ms --size 64 ");
    reader.await_line(&[command.as_str()]).unwrap();
}

/// The record of a run. Its tables name the report, and both can be drawn again from the record.
fn reported(args: &str) -> Record {
    let dir = out();
    let ended = run(&mut netfathom_to(dir.path(), args)).measured();
    let run_dir = only_run(dir.path());
    let report = run_dir.join("report.html");
    assert!(ended.out.contains(&format!("\nreport: {}\nmore", report.display())), "{ended}");
    fs::remove_file(&report).unwrap();
    assert_eq!(run(netfathom("report").arg(&run_dir)).status, 0);
    assert!(report.exists());
    let again = run(netfathom("report --format txt").arg(&run_dir));
    // The short view has the first lines of the whole.
    assert_eq!(again.out.lines().next(), ended.out.lines().next());
    record(dir.path()).unwrap()
}
