//! What a transfer prints while it runs.

use std::io::{BufRead, BufReader};
use std::time::Duration;

use super::{both, receiving, result, ttcp};
use crate::child::{Ended, end, run, signal, start};

/// One line: which stream, from, to, rate.
fn interval(line: &str) -> Option<(String, f64, f64, f64)> {
    let line = line.strip_prefix("ttcp-t: ")?;
    let (which, rest) = match line.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", line),
    };
    let (times, rest) = rest.split_once(" s ")?;
    let (from, to) = times.split_once('-')?;
    let (rate, rest) = rest.split_once(" KB/sec, retr ")?;
    assert!((rest.contains(", rtt ") || which == "sum") && line.len() <= 72, "{line}");
    let number = |text: &str| text.trim().parse::<f64>().ok();
    Some((which.trim().into(), number(from)?, number(to)?, number(rate)?))
}

fn shown(options: &str) -> Vec<(String, f64, f64, f64)> {
    let (receiving, port) = receiving("-rs --serve --quiet");
    let ended = run(&mut ttcp(&format!("-ts {options} -p {port} 127.0.0.1")));
    signal("INT", &receiving);
    assert_eq!((ended.status, end(receiving).status), (0, 0), "{ended}");
    ended.err.lines().filter_map(interval).collect()
}

#[test]
fn intervals_follow_each_other_without_a_gap() {
    let shown = shown("--time 900ms --interval 200ms");
    assert!(shown.len() >= 3, "{shown:?}");
    assert_eq!(shown[0].1, 0.0);
    assert!(shown.windows(2).all(|two| two[0].2 == two[1].1), "{shown:?}");
    assert!(shown.iter().all(|(which, .., rate)| which.is_empty() && *rate > 0.0), "{shown:?}");
}

#[test]
fn of_several_streams_each_is_shown_and_their_sum() {
    // Until both have begun: on a busy machine the second may do so after some intervals.
    let (receiving, port) = receiving("-rs --serve --quiet");
    let mut sending = start(&mut ttcp(&format!("-ts -P 2 --time 60s --interval 200ms -p {port} 127.0.0.1")));
    let mut lines = BufReader::new(sending.stderr.take().unwrap()).lines();
    let mut shown = Vec::new();
    let last = loop {
        shown.extend(interval(&lines.next().expect("an interval of both").unwrap()));
        // The stream that began first comes first.
        let is_of_both = |last: &&[(String, f64, f64, f64); 3]| {
            let names = last.each_ref().map(|line| line.0.as_str());
            [["1", "2", "sum"], ["2", "1", "sum"]].contains(&names)
        };
        if let Some(last) = shown.last_chunk().filter(is_of_both) {
            break last;
        }
    };
    let [one, two, sum] = last.each_ref().map(|(.., rate)| rate);
    assert!((one + two - sum).abs() < 0.1, "{last:?}");
    [&sending, &receiving].into_iter().for_each(|child| signal("INT", child));
    drop(lines);
    end(sending);
    assert_eq!(end(receiving).status, 0);
}

#[test]
fn a_record_has_the_looks_and_nothing_is_printed() {
    let [ended, _] = both("-ts --json --time 300ms --interval 100ms", "-rs");
    assert_eq!(ended.err, "");
    let result = result(&ended.out);
    let looks = &result.streams[0].samples;
    assert!(looks.len() > 10 && looks.is_sorted_by_key(|look| (look.at_ns, look.bytes)), "{}", looks.len());
    assert!(looks.last().unwrap().bytes <= result.bytes() && looks.last().unwrap().bytes > 0);
}

#[test]
fn an_explanation_is_the_first_line() {
    let [ended, _] = both("-ts --explain -n 1", "-rs");
    let first = ended.err.lines().next().unwrap_or_default();
    assert!(first.contains("too short to explain"), "{ended}");
    assert!(ended.err.contains("what to do: send more") && !ended.err.contains("I/O calls"), "{ended}");
}

/// The lines of intervals: the only ones that tell a time from and to.
fn intervals(ended: &Ended) -> Vec<&str> {
    ended.err.lines().filter(|line| line.contains(" s ") && line.contains("-0.")).collect()
}

/// The clock of a UDP receiver begins with the data: before, there is nothing to tell, and the
/// first interval does not have the bytes of two.
#[test]
fn intervals_of_a_udp_receiver_begin_with_the_data() {
    let (to, port) = receiving("-rus -i 50ms");
    std::thread::sleep(Duration::from_millis(300));
    let from = run(&mut ttcp(&format!("-tus -l 1000 --pace 8m --time 300ms -i 50ms -p {port} 127.0.0.1")));
    let to = end(to);
    assert_eq!((from.status, to.status), (0, 0), "{from}{to}");
    let accepted = to.err.find("accept from").unwrap();
    let first = intervals(&to)[0];
    assert!(to.err.find(first).unwrap() > accepted, "{to}");
    assert!(first.starts_with("ttcp-r:   0.00-"), "{to}");
    for ended in [&from, &to] {
        assert!(!ended.err.contains("again"), "UDP sends nothing again: {ended}");
    }
}

/// A stream has one number, in its intervals and in its figures.
#[test]
fn intervals_count_streams_as_the_figures_do() {
    let [from, to] = both("-ts -P 2 --pace 80m --time 250ms -i 100ms", "-rs -P 2 -i 100ms");
    for ended in [&from, &to] {
        for number in [1, 2] {
            assert!(ended.err.contains(&format!("[{number:>3}] ")), "{ended}");
            assert!(ended.err.contains(&format!("stream {number}: ")), "{ended}");
        }
        assert!(!ended.err.contains("[  0] "), "{ended}");
    }
    let [from, to] = [&from, &to].map(|ended| intervals(ended).join("\n"));
    assert!(from.contains(", retr ") && from.contains("cwnd"), "{from}");
    assert!(!to.contains(", retr ") && !to.contains("cwnd"), "a receiver sends nothing again: {to}");
}

/// The kernel's own limit is larger than what a small window is to be enlarged to: a command that
/// sets that would make things worse.
#[test]
fn a_remedy_does_not_lower_the_kernels_limit() {
    let [from, _] = both("-ts --time 300ms --explain", "-rs -b 2k");
    assert!(!from.err.contains("sysctl -w net.ipv4.tcp_"), "{from}");
}
