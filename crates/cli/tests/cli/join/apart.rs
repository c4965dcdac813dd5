//! Clocks that are apart, long paths, and files with impossible times.

use super::*;

const MESSAGES: u64 = 2000;
const SECOND: u64 = 1_000_000_000;
const BEGIN_NS: u64 = 1_000 * SECOND;

/// A capture 3 us after messages were sent, and a log with a clock by which they were received that much later.
fn received(after_ns: impl Fn(u64) -> u64) -> Files {
    let mut pcap = PcapWriter::new(Vec::new(), LinkType::Raw, 256).unwrap();
    let mut log = LogWriter::new(Vec::new(), LogFormat::Binary, Columns::RECEIVED).unwrap();
    log.write_clock(1, AHEAD_NS).unwrap();
    for sequence in 0..MESSAGES {
        let sent_ns = BEGIN_NS + 10_000_000 * sequence;
        let header = Header { flow: FLOW, sequence, intended_ns: sent_ns, sent_ns };
        let captured_ns = sent_ns + 3_000;
        pcap.packet(captured_ns + AHEAD_NS as u64, 60, &udp(&header)).unwrap();
        let entry =
            LogEntry { sequence, intended_ns: 0, sent_ns: 0, received_ns: captured_ns + after_ns(sequence) };
        log.write_block(FLOW, &[entry]).unwrap();
    }
    Files::of(&[("a.pcap", pcap.finish().unwrap()), ("a.log", log.finish().unwrap())])
}

#[test]
fn clocks_that_are_seconds_apart_are_no_time_of_a_path() {
    let files = received(|sequence| 3 * SECOND + 40_000 + 50 * (sequence % 1000));
    let (ended, record) = files.join("a.pcap a.log");
    assert_eq!(record.verdict.level, Level::Degraded, "{:?}", record.verdict);
    let reason = &record.verdict.reasons[0].text;
    assert!(reason.starts_with("the shortest time from a.pcap to application is 3.00 s"), "{reason}");
    assert!(reason.ends_with("use --clock fitted"), "{reason}");
    let [reply] = &record.findings[..] else { panic!("{:?}", record.findings) };
    assert!(
        reply.cause.contains("no path takes so long") && reply.remedy.contains("--clock fitted"),
        "{reply:?}"
    );
    assert!(ended.out.contains("DEGRADED"), "{ended}");
    // What it says to do helps.
    let (_, record) = files.join("a.pcap a.log --clock fitted");
    assert_eq!((record.verdict.level, record.findings.len()), (Level::Valid, 0), "{:?}", record.findings);
    assert_eq!(result(&record).spans[0].times.max_ns, 50 * 999);
}

#[test]
fn a_clock_that_is_set_meanwhile_shows_in_fitted_times() {
    let files = received(|sequence| 40_000 + if sequence < 1_500 { 0 } else { 5_000_000 });
    let (_, record) = files.join("a.pcap a.log --clock fitted");
    assert_eq!(record.verdict.level, Level::Degraded, "{:?}", record.verdict);
    let reason = &record.verdict.reasons[0].text;
    let wanted = "from a.pcap to application change by 5.00 ms at once, 15.0 s after the first message";
    assert!(reason.contains(wanted), "{reason}");
}

#[test]
fn a_long_path_is_not_called_a_clock() {
    const SATELLITE: u64 = 300_000_000;
    // With the jitter of such a path, and of a queue that fills: what differs is not constant.
    let jitter = |sequence: u64| sequence * 7_919_000 % 40_000_000;
    for (name, files) in [
        ("a satellite", received(|sequence| SATELLITE + jitter(sequence))),
        ("a queue that fills", received(|sequence| SATELLITE + 2_000_000 * sequence)),
        ("a queue that stands", received(|sequence| 2 * SECOND + 500_000 * sequence)),
    ] {
        let (_, record) = files.join("a.pcap a.log");
        assert_eq!(
            (record.verdict.level, record.findings.len()),
            (Level::Valid, 0),
            "{name}: {:?}",
            record.findings
        );
    }
    // Without: it may be either, as the finding has it, and the verdict stays.
    let (_, record) = received(|sequence| SATELLITE + sequence % 1000).join("a.pcap a.log");
    assert_eq!(record.verdict.level, Level::Valid, "{:?}", record.verdict);
    let [reply] = &record.findings[..] else { panic!("{:?}", record.findings) };
    assert!(
        reply.cause.contains("such as a satellite") && reply.cause.contains("or the clocks of two hosts"),
        "{reply:?}"
    );
    assert!(reply.remedy.contains("ping") && reply.remedy.contains("--clock fitted"), "{reply:?}");
}

/// A pcapng file of raw IP with times that are some seconds late.
fn pcapng(later_s: i64, packets: u64) -> Vec<u8> {
    let options = [&[9, 0, 1, 0, 9, 0, 0, 0, 14, 0, 8, 0], &later_s.to_le_bytes()[..], &[0; 4]].concat();
    let mut file = pcapng_of(&[&options]);
    for sequence in 0..packets {
        let sent_ns = BEGIN_NS + 10_000_000 * sequence;
        let data = udp(&Header { flow: FLOW, sequence, intended_ns: sent_ns, sent_ns });
        file.extend(captured(0, sent_ns + AHEAD_NS as u64 + 3_000, &data));
    }
    file
}

#[test]
fn impossible_times_are_reported_of_their_file_and_no_defect_of_ours() {
    const YEAR: i64 = 365 * 24 * 3600;
    let files = received(|_| 40_000);
    let csv = |sent_ns: u64| format!("flow,sequence,sent_ns\n{FLOW},0,{sent_ns}\n{FLOW},1,{sent_ns}\n");
    let late = [&b"nfmsglog"[..], &[1, 0, 0, 0, 4, 0, 0, 0]].concat();
    let statement =
        |ahead_ns: i64| [&late[..], &[2, 0, 0, 0, 0, 0, 0, 0], &[1; 8], &ahead_ns.to_le_bytes()].concat();
    let messages =
        [&[1, 0, 0, 0], &FLOW.to_le_bytes(), &[1, 0, 0, 0, 0, 0, 0, 0][..], &[0; 8], &[0xff; 8]].concat();
    for (name, bytes) in [
        ("past.pcapng", pcapng(-126 * YEAR, 50)),
        ("future.pcapng", pcapng(150 * YEAR, 50)),
        ("far.pcapng", pcapng(-210 * YEAR, 50)),
        ("edge.csv", csv(4_611_686_018_427_387_903).into_bytes()),
        ("most.csv", csv(u64::MAX).into_bytes()),
        ("most.log", [statement(0), messages].concat()),
        ("least.log", statement(i64::MIN)),
        ("moves.log", [statement(-(1 << 61)), statement((1 << 62) - 1)[16..].to_vec()].concat()),
    ] {
        files.write(name, &bytes);
    }
    for (args, damage) in [
        ("future.pcapng a.log", "not within the years 1823 to 2116"),
        ("far.pcapng a.log", "not within the years 1823 to 2116"),
        ("past.pcapng a.log", ""),
        ("past.pcapng edge.csv", ""),
        ("a.pcap edge.csv", ""),
        ("a.pcap most.csv", "a time of 18446744073709551615 ns, after the year 2116"),
        ("a.pcap most.log", "message 0 has a time of 18446744073709551615 ns, after the year 2116"),
        ("a.pcap least.log", "no two clocks are so far apart"),
        ("a.pcap moves.log", "no two clocks are so far apart"),
    ] {
        for clock in ["stated", "fitted"] {
            let (ended, record) = files.join(&format!("{args} --clock {clock}"));
            // Two clocks may well be a hundred years apart.
            if (args, clock) == ("past.pcapng a.log", "fitted") {
                assert_eq!(result(&record).spans[0].times.n, 50);
                continue;
            }
            assert_eq!(
                (ended.status, record.verdict.level),
                (3, Level::Void),
                "{args}: {:?}",
                record.verdict
            );
            assert!(!ended.err.contains("defect"), "{args}: {ended}");
            let (result, reasons) = (result(&record), &record.verdict.reasons);
            let of_files = result.captures[0].damage.iter().chain(&result.logs[0].damage);
            assert!(
                damage.is_empty() || of_files.into_iter().any(|d| d.contains(damage)),
                "{args}: {reasons:?}"
            );
            let named = args.split(' ').any(|file| reasons.iter().any(|r| r.text.contains(file)));
            assert!(named, "{args}: {reasons:?}");
        }
    }
}
