//! What `netfathom join` must not be led to say by files that look whole.

use netfathom_capture::log::{Columns, LogEntry, LogFormat, LogWriter};
use netfathom_capture::packet::LinkType;
use netfathom_capture::write::PcapWriter;
use netfathom_model::message::Header;
use netfathom_model::record::Record;
use netfathom_model::verdict::Level;
use tempfile::TempDir;

use crate::child::{Ended, netfathom, out, record, run, shell};
use crate::join::{result, udp};

const AHEAD_NS: i64 = 1_763_000_000_000_000_000;
const MESSAGES: u64 = 500;
const FLOW: u32 = 78;
const SECOND: i64 = 1_000_000_000;

/// 10 us from one message to the next, 3 us out, 40 us in.
fn sent(sequence: u64) -> u64 {
    5_000_000_000_000 + 10_000 * sequence
}

/// A capture on the receiving host, and a log of that host with a CLOCK_MONOTONIC that is `apart`
/// ahead of the sender's; the log's times of sending are there if `columns` says so.
fn files(columns: Columns, apart: i64) -> TempDir {
    let dir = out();
    let mut pcap = PcapWriter::new(Vec::new(), LinkType::Raw, 256).unwrap();
    let mut log = LogWriter::new(Vec::new(), LogFormat::Binary, columns).unwrap();
    log.write_clock(1, AHEAD_NS - apart).unwrap();
    for sequence in 0..MESSAGES {
        let sent_ns = sent(sequence);
        let header = Header { flow: FLOW, sequence, intended_ns: sent_ns, sent_ns };
        pcap.packet(sent_ns + AHEAD_NS as u64 + 3_000, 60, &udp(&header)).unwrap();
        let here = sent_ns.checked_add_signed(apart).unwrap();
        let entry = LogEntry { sequence, intended_ns: here, sent_ns: here, received_ns: here + 43_000 };
        log.write_block(FLOW, &[entry]).unwrap();
    }
    std::fs::write(dir.path().join("a.pcap"), pcap.finish().unwrap()).unwrap();
    std::fs::write(dir.path().join("a.log"), log.finish().unwrap()).unwrap();
    dir
}

fn join(dir: &TempDir, args: &str) -> (Ended, Record) {
    let kept = out();
    let ended = run(netfathom(&format!("join {args}")).current_dir(dir.path()).arg("--out").arg(kept.path()));
    (ended.measured(), record(kept.path()).unwrap())
}

/// The stamp in a message is of the sender's CLOCK_MONOTONIC. A log of the receiver states its
/// own, which began when that host was booted: what lies between the two is no way out.
#[test]
fn a_log_of_the_receiving_host_says_nothing_of_the_way_out() {
    for apart in [600 * SECOND, -600 * SECOND] {
        let dir = files(Columns { intended: false, sent: false, received: true }, apart);
        let (_, record) = join(&dir, "a.pcap a.log");
        let times: Vec<_> = result(&record).spans.iter().map(|s| &s.times).filter(|t| t.n > 0).collect();
        assert!(times.iter().all(|t| t.min_ns == 40_000 && t.max_ns == 40_000), "{apart}: {times:?}");
    }
}

/// No clock of today is off by the time that a message takes, but by hours; and there is no
/// way that takes less than nothing.
#[test]
fn times_that_are_all_below_zero_are_void() {
    let dir = files(Columns { intended: false, sent: true, received: false }, 0);
    let text: String = (0..MESSAGES)
        .map(|s| format!("{FLOW},{s},{}\n", sent(s) as i64 + AHEAD_NS + 3_000 * SECOND))
        .collect();
    std::fs::write(dir.path().join("late.csv"), format!("flow,sequence,sent_ns\n{text}")).unwrap();
    let (ended, record) = join(&dir, "a.pcap late.csv");
    assert_eq!((ended.status, record.verdict.level), (3, Level::Void), "{:?}", record.verdict);
}

/// Where the clock is fitted so that the shortest way out takes nothing, the way in keeps what
/// was taken from it: it is not what lies above the shortest.
#[test]
fn a_fitted_way_in_is_above_its_own_shortest_or_not_called_so() {
    let dir = files(Columns { intended: false, sent: true, received: true }, 0);
    let (ended, record) = join(&dir, "a.pcap a.log --clock fitted");
    let spans = &result(&record).spans;
    let way_in = spans.iter().map(|s| s.times.min_ns).max().unwrap();
    let reply = ended.out.matches("above the shortest").count();
    assert!(way_in == 0 || reply < 2, "{way_in} ns at least, and yet: {ended}");
}

#[test]
fn a_file_that_is_named_twice_is_refused_or_reported() {
    let dir = files(Columns { intended: false, sent: true, received: false }, 0);
    for args in ["a.pcap a.log a.log", "a.pcap a.pcap a.log"] {
        let kept = out();
        let ended =
            run(netfathom(&format!("join {args}")).current_dir(dir.path()).arg("--out").arg(kept.path()));
        let shown = ended.status == 2 || record(kept.path()).unwrap().verdict.level != Level::Valid;
        assert!(shown, "{args}: {ended}");
    }
}

/// A FIFO without a writer: the request to end must be heard while it is opened.
#[test]
fn a_fifo_without_a_writer_is_left_at_once() {
    let dir = files(Columns { intended: false, sent: true, received: false }, 0);
    let ended =
        run(shell("mkfifo f; timeout -s TERM -k 5 1 $0 join f a.log; exit $?").current_dir(dir.path()));
    assert_ne!(ended.status, 137, "SIGTERM was not heard: {ended}");
}

#[test]
fn a_name_cannot_write_to_the_terminal() {
    let dir = out();
    let ended = run(netfathom("join").args(["no\u{1b}[31mred", "a.log"]).current_dir(dir.path()));
    assert_eq!(ended.status, 2);
    assert!(!ended.err.contains('\u{1b}'), "{:?}", ended.err);
}
