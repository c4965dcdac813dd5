//! Captures and logs that have messages in another order than they were sent, or more than once.

use std::iter;

use super::*;

const MESSAGES: u64 = 2000;

/// A capture with these numbers, each 3 us after it was sent, and a log with those.
fn files(captured: impl Iterator<Item = u64>, logged: impl Iterator<Item = u64>) -> Files {
    let sent_ns = |sequence: u64| AHEAD_NS as u64 + 10_000 * sequence;
    let mut pcap = PcapWriter::new(Vec::new(), LinkType::Raw, 256).unwrap();
    for sequence in captured {
        let at = sent_ns(sequence);
        let header = Header { flow: FLOW, sequence, intended_ns: at, sent_ns: at };
        pcap.packet(at + 3_000, 60, &udp(&header)).unwrap();
    }
    let line = |sequence| format!("{FLOW},{sequence},{}\n", sent_ns(sequence));
    let log = "flow,sequence,sent_ns\n".to_owned() + &logged.map(line).collect::<String>();
    Files::of(&[("a.pcap", pcap.finish().unwrap()), ("a.csv", log.into_bytes())])
}

#[test]
fn messages_out_of_order_are_those_of_the_capture_whatever_the_order_of_the_log() {
    let swapped = || (0..MESSAGES).map(|sequence| sequence ^ 1);
    let (ended, record) = files(0..MESSAGES, swapped()).join("a.pcap a.csv");
    assert_eq!(result(&record).logs[0].reordered, [0]);
    assert!(!ended.out.contains("out of order"), "{ended}");
    let (ended, record) = files(swapped(), 0..MESSAGES).join("a.pcap a.csv");
    assert_eq!(result(&record).logs[0].reordered, [MESSAGES / 2]);
    let (captures, logs) = ended.out.split_once("\nLogs\n").unwrap();
    assert!(captures.contains("messages of a.csv out of order: 1,000"), "{ended}");
    assert!(!logs.contains("out of order"), "{ended}");
}

#[test]
fn a_message_that_is_in_a_log_twice_was_sent_once() {
    let times = |sequence: u64| if sequence.is_multiple_of(4) { 2 } else { 1 };
    let logged = (0..MESSAGES).flat_map(|sequence| iter::repeat_n(sequence, times(sequence)));
    let (ended, record) = files(0..MESSAGES, logged).join("a.pcap a.csv");
    let log = &result(&record).logs[0];
    assert_eq!((log.messages, log.unusable, &log.missing[..]), (MESSAGES, MESSAGES / 4, &[0][..]));
    assert_eq!(record.verdict.level, Level::Valid, "{:?}", record.verdict);
    let [finding] = &record.findings[..] else { panic!("{:?}", record.findings) };
    assert_eq!(finding.evidence, "500 of 2,500 records repeat an earlier one");
    ended.shows(&["matched 2,000 of 2,000 sent messages", "repeated records, left out: 500"]);
}
