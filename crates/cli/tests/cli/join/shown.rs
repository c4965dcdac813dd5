//! What `netfathom join` says of files of several hosts, flows and logs, and once it is ended.

use std::ops::Range;
use std::os::unix::process::CommandExt;

use netfathom_model::record::State;
use netfathom_model::verdict::Part;

use super::*;
use crate::child::{end_within, signal, start, until_holds};

/// How the clock of the sender is behind all others here, unless it is ahead.
const BEHIND_NS: i64 = 20_000_000_000;
/// When a message is sent, on the clock of the log.
const BEGIN_NS: u64 = 1_000_000_000_000;
const EACH: u64 = 6000;

/// A capture of flows one after the other, each message so long after it was sent.
fn capture(flows: Range<u32>, after_ns: u64, there: impl Fn(u64) -> bool) -> Vec<u8> {
    stamped(flows, -BEHIND_NS, after_ns, there)
}

/// The same, with a sender that has its clock so far ahead.
fn stamped(flows: Range<u32>, ahead_ns: i64, after_ns: u64, there: impl Fn(u64) -> bool) -> Vec<u8> {
    let mut pcap = PcapWriter::new(Vec::new(), LinkType::Raw, 256).unwrap();
    for (flow, sequence, sent_ns) in messages(flows).filter(|(_, sequence, _)| there(*sequence)) {
        let stamp = sent_ns.checked_add_signed(ahead_ns).unwrap();
        let header = Header { flow, sequence, intended_ns: stamp, sent_ns: stamp };
        pcap.packet(sent_ns + AHEAD_NS as u64 + after_ns, 60, &udp(&header)).unwrap();
    }
    pcap.finish().unwrap()
}

fn messages(flows: Range<u32>) -> impl Iterator<Item = (u32, u64, u64)> {
    let at = |flow: u32, sequence| BEGIN_NS + 100_000_000_000 * u64::from(flow) + 10_000 * sequence;
    flows.flat_map(move |flow| (0..EACH).map(move |sequence| (flow, sequence, at(flow, sequence))))
}

/// A log of one kind of times, 40 us after messages were sent if they are of receiving.
fn log(flows: Range<u32>, columns: Columns) -> Vec<u8> {
    let mut log = LogWriter::new(Vec::new(), LogFormat::Binary, columns).unwrap();
    log.write_clock(1, AHEAD_NS).unwrap();
    for (flow, sequence, sent_ns) in messages(flows) {
        let entry = LogEntry { sequence, intended_ns: sent_ns, sent_ns, received_ns: sent_ns + 40_000 };
        log.write_block(flow, &[entry]).unwrap();
    }
    log.finish().unwrap()
}

fn reasons(record: &Record) -> String {
    record.verdict.reasons.iter().map(|reason| reason.text.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn who_only_received_tells_no_way_out() {
    for ahead_ns in [-BEHIND_NS, BEHIND_NS] {
        let capture = stamped(0..2, ahead_ns, 1000, |_| true);
        let files = Files::of(&[("in.pcap", capture), ("in.log", log(0..2, Columns::RECEIVED))]);
        let (_, record) = files.join("in.pcap in.log --window 1024");
        assert_eq!(record.verdict.level, Level::Valid, "{:?}", record.verdict);
        let [rx] = &result(&record).spans[..] else { panic!("{:?}", result(&record).spans) };
        assert_eq!(rx.direction, Some(netfathom_model::path::Direction::Rx));
        assert_eq!((rx.times.n, rx.times.min_ns, rx.times.max_ns), (2 * EACH, 39_000, 39_000));
    }
}

#[test]
fn the_way_between_two_captures_has_every_flow_and_is_judged() {
    let files = Files::of(&[
        ("first.pcap", capture(0..2, 1000, |_| true)),
        ("second.pcap", capture(0..2, 31_000, |_| true)),
        ("gaps.pcap", capture(0..2, 31_000, |sequence| sequence % 10 != 0)),
        ("sent.log", log(0..2, Columns::SENT)),
        ("both.log", log(0..2, Columns::ALL)),
    ]);
    let (_, record) = files.join("first.pcap sent.log second.pcap --window 1024");
    assert_eq!(record.verdict.level, Level::Valid, "{:?}", record.verdict);
    let between = &result(&record).spans[1];
    let times = &between.times;
    assert_eq!((between.direction, times.n, times.min_ns, times.max_ns), (None, 2 * EACH, 30_000, 30_000));
    let reply = reasons(&record);
    assert!(reply.starts_with("the clocks of first.pcap and second.pcap are taken for one"), "{reply}");
    // Who writes the times of both ends into one log has one clock for them.
    let (_, record) = files.join("first.pcap both.log second.pcap --window 1024");
    assert_eq!(reasons(&record), "");
    let (_, record) = files.join("first.pcap sent.log gaps.pcap --window 1024");
    assert_eq!(result(&record).spans[1].times.n, 2 * EACH - EACH / 5);
    let reply = reasons(&record);
    assert!(reply.contains("10.0 % of the messages in first.pcap are not in gaps.pcap"), "{reply}");
    // What was in no capture before came from somewhere else.
    let (_, record) = files.join("gaps.pcap sent.log second.pcap --window 1024");
    let reply = reasons(&record);
    assert!(reply.contains("10.0 % of the messages in second.pcap are not in gaps.pcap"), "{reply}");
}

#[test]
fn the_clock_of_the_second_host_takes_nothing_from_the_time_to_send() {
    let files = Files::of(&[
        ("first.pcap", capture(0..2, 1000, |_| true)),
        ("behind.pcap", capture(0..2, 500, |_| true)),
        ("sent.log", log(0..2, Columns::SENT)),
    ]);
    let (ended, record) = files.join("first.pcap sent.log behind.pcap --window 1024");
    let levels = [Part::Tx, Part::Between].map(|part| record.verdict.of(part));
    assert_eq!((ended.status, levels), (0, [Level::Valid, Level::Void]), "{:?}", record.verdict);
    assert!(ended.out.contains("between VOID, not part of the answer"), "{ended}");
    let (_, record) = files.join("first.pcap sent.log behind.pcap --window 1024 --clock fitted");
    assert!(record.verdict.is_valid(), "{:?}", record.verdict);
}

#[test]
fn one_capture_with_the_logs_of_two_hosts_is_not_valid() {
    let booted = |after_ns: i64| {
        let mut log = LogWriter::new(Vec::new(), LogFormat::Binary, Columns::RECEIVED).unwrap();
        log.write_clock(1, AHEAD_NS + after_ns).unwrap();
        for (flow, sequence, sent_ns) in messages(0..1) {
            let received_ns = (sent_ns + 40_000).checked_add_signed(-after_ns).unwrap();
            log.write_block(flow, &[LogEntry { sequence, intended_ns: 0, sent_ns: 0, received_ns }]).unwrap();
        }
        log.finish().unwrap()
    };
    let files = Files::of(&[
        ("a.pcap", capture(0..1, 1000, |_| true)),
        ("sent.log", log(0..1, Columns::SENT)),
        ("here.log", booted(0)),
        ("there.log", booted(60_000_000_000)),
    ]);
    let level = |received: &str| files.join(&format!("a.pcap sent.log {received}")).1.verdict.level;
    assert_eq!([level("here.log"), level("there.log")], [Level::Valid, Level::Degraded]);
}

#[test]
fn what_one_log_lacks_is_reported_of_that_log() {
    let files = Files::of(&[
        ("both.pcap", capture(0..2, 1000, |_| true)),
        ("first.log", log(0..1, Columns::SENT)),
        ("second.log", log(1..2, Columns::SENT)),
    ]);
    let (ended, record) = files.join("both.pcap first.log second.log");
    let by_log = &result(&record).captures[0].by_log;
    for (log, of_log) in by_log.iter().enumerate() {
        let count = |kind| of_log.kinds.iter().filter(|k| k.kind == kind).map(|k| k.count).sum::<u64>();
        assert_eq!(of_log.log as usize, log);
        assert_eq!((count(PacketKind::Joined), count(PacketKind::NotInLog)), (EACH, EACH));
    }
    assert_eq!(by_log.len(), 2);
    for log in ["first.log", "second.log"] {
        assert!(ended.out.contains(&format!("with {log}: 12,000 = joined 6,000")), "{ended}");
    }
    let (_, record) = files.join("both.pcap first.log");
    assert_eq!(result(&record).captures[0].by_log, []);
}

#[test]
fn packets_without_a_time_are_joined_and_make_none() {
    // Without a bound.
    let mut simple = pcapng_of(&[&[]]);
    for (flow, sequence, sent_ns) in messages(0..1) {
        let packet = udp(&Header { flow, sequence, intended_ns: sent_ns, sent_ns });
        simple.extend(block(3, &[&(packet.len() as u32).to_le_bytes(), &packet[..]].concat()));
    }
    let files = Files::of(&[("simple.pcapng", simple), ("sent.log", log(0..1, Columns::SENT))]);
    let (ended, record) = files.join("simple.pcapng sent.log");
    assert_eq!((ended.status, record.verdict.level), (3, Level::Void));
    assert_eq!(reasons(&record), "100 % of the packets in simple.pcapng have no time and are left out");
    let result = result(&record);
    assert_eq!((count(result, 0, PacketKind::Joined), result.captures[0].untimed), (EACH, EACH));
    assert!(result.spans.is_empty() && result.captures[0].span_ns == 0);
    let [reply] = &record.findings[..] else { panic!("{:?}", record.findings) };
    assert!(reply.cause.contains("simple packets of pcapng"), "{reply:?}");
}

/// Whether all of its threads sleep (/proc/PID/task/*/stat).
fn is_asleep(pid: u32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut stats = tasks.map(|task| fs::read_to_string(task.path().join("stat")).unwrap_or_default());
    stats.all(|stat| stat.contains(") S "))
}

#[test]
fn ctrl_c_ends_what_waits_for_a_pipe_and_keeps_no_part_of_a_pair() {
    let files = Files::new();
    let half = fs::read(files.path("a.pcap")).unwrap();
    for (args, bytes) in [
        ("- a.log", &half[..half.len() / 2]),
        ("- a.log", &[]),
        ("a.pcap -", &fs::read(files.path("a.log")).unwrap()[..5000]),
        ("fifo a.log", &[]),
    ] {
        let _ = Command::new("mkfifo").arg(files.path("fifo")).stderr(Stdio::null()).status();
        let kept = out();
        let mut command = netfathom(&format!("join {args}"));
        command.current_dir(files.dir.path()).arg("--out").arg(kept.path()).process_group(0);
        let mut child = start(command.stdin(Stdio::piped()));
        child.stdin.as_mut().unwrap().write_all(bytes).unwrap();
        // As far as it can come.
        until_holds("its wait for the pipe", || record(kept.path()).is_some() && is_asleep(child.id()));
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was asked to");
        // What is left of it if it is killed.
        let left = record(kept.path()).unwrap();
        assert_eq!((left.state, left.verdict.level), (State::Partial, Level::Void), "{args}");
        signal("INT", &child);
        // Not only when somebody writes.
        end_within(child, Duration::from_secs(20));
        let record = record(kept.path()).unwrap();
        assert_eq!(reasons(&record), "nothing was joined: the run was ended before", "{args}");
        assert!(result(&record).captures.is_empty() && record.findings.is_empty(), "{args}");
    }
}
