//! Stamps that a clock has cut to its steps: the means that come of them are those of the messages, as far as the
//! record says that they are.

use netfathom_model::record::JoinedSpan;

use super::*;

const MESSAGES: u64 = 4000;
const BEGIN_NS: u64 = 1_700_000_000_000_000_000;

/// A message: when it was really sent, captured and received.
#[derive(Clone, Copy)]
struct Truth {
    sequence: u64,
    sent_ns: u64,
    captured_ns: u64,
    received_ns: u64,
}

/// Some 4.15 us out and 14.19 us in, at every place within a step: 7919 and 9973 are prime.
fn truths() -> Vec<Truth> {
    let truth = |sequence| {
        let sent_ns = BEGIN_NS + 10_000 * sequence + sequence * 7919 % 9973;
        let captured_ns = sent_ns + 4_000 + sequence * 31 % 301;
        Truth { sequence, sent_ns, captured_ns, received_ns: captured_ns + 14_000 + sequence * 17 % 381 }
    };
    (0..MESSAGES).map(truth).collect()
}

fn mean(times: impl Iterator<Item = u64>) -> f64 {
    times.sum::<u64>() as f64 / MESSAGES as f64
}

fn packet(truth: &Truth) -> Vec<u8> {
    let Truth { sequence, sent_ns, .. } = *truth;
    udp(&Header { flow: FLOW, sequence, intended_ns: sent_ns, sent_ns })
}

/// As tcpdump writes it unless it is asked for nanoseconds.
fn pcap_us(truths: &[Truth]) -> Vec<u8> {
    let mut file = [0xa1b2_c3d4u32, 2 | 4 << 16, 0, 0, 256, 101].map(u32::to_le_bytes).concat();
    for truth in truths {
        let data = packet(truth);
        let us = truth.captured_ns / 1000;
        let head = [(us / 1_000_000) as u32, (us % 1_000_000) as u32, data.len() as u32, data.len() as u32];
        file.extend(head.map(u32::to_le_bytes).concat());
        file.extend(data);
    }
    file
}

/// Two interfaces, one in microseconds, as none says, and one in nanoseconds; every fourth message is of the first.
fn pcapng_of_both(truths: &[Truth]) -> Vec<u8> {
    let mut file = pcapng_of(&[&[], &[9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]]);
    for truth in truths {
        let interface = u32::from(truth.sequence % 4 != 0);
        let ticks = truth.captured_ns / if interface == 0 { 1000 } else { 1 };
        file.extend(captured(interface, ticks, &packet(truth)));
    }
    file
}

/// A log with these columns, each written by its rule.
fn csv(truths: &[Truth], columns: &str, times: fn(&Truth) -> String) -> Vec<u8> {
    let lines = truths.iter().map(|t| format!("{FLOW},{},{}\n", t.sequence, times(t)));
    (format!("flow,sequence,{columns}\n") + &lines.collect::<String>()).into_bytes()
}

/// In nanoseconds.
fn csv_ns(truths: &[Truth]) -> Vec<u8> {
    csv(truths, "sent_ns,received_ns", |t| format!("{},{}", t.sent_ns, t.received_ns))
}

/// Whether a mean is that of the messages: it is nearer than the steps of the clocks say, since the messages lie everywhere
/// within them.
fn is_true(span: &JoinedSpan, mean_ns: f64, uncertainty_ns: f64) {
    assert_eq!(span.times.n, MESSAGES);
    assert_eq!(span.uncertainty_ns, uncertainty_ns, "{} to {}", span.from, span.to);
    let off_ns = (span.times.mean_ns - mean_ns).abs();
    assert!(off_ns < 20.0, "{} to {}: {} instead of {mean_ns}", span.from, span.to, span.times.mean_ns);
}

fn joined(files: &[(&str, Vec<u8>)], args: &str) -> (Ended, Record) {
    Files::of(files).join(args)
}

#[test]
fn captures_give_the_times_of_the_messages_by_the_steps_of_each_interface() {
    let truths = truths();
    let (ended, record) =
        joined(&[("us.pcap", pcap_us(&truths)), ("a.csv", csv_ns(&truths))], "us.pcap a.csv");
    assert_eq!(record.verdict.level, Level::Valid, "{:?}", record.verdict);
    let result = result(&record);
    is_true(&result.spans[0], mean(truths.iter().map(|t| t.captured_ns - t.sent_ns)), 500.0);
    is_true(&result.spans[1], mean(truths.iter().map(|t| t.received_ns - t.captured_ns)), 500.0);
    assert_eq!((&result.captures[0].steps_ns[..], result.logs[0].step_ns), (&[1000][..], 1));
    // A finding has the number, and why.
    ended.shows(&["4.15 µs (±500 ns) to send and 14.2 µs (±500 ns) to receive"]);
    let [out, inward] = &record.findings[..] else { panic!("{:?}", record.findings) };
    assert!(out.seen.ends_with("4.15 µs, is uncertain by ±500 ns, 12 % of it"), "{out:?}");
    assert!(inward.remedy.contains("tcpdump --time-stamp-precision nano"), "{inward:?}");
    assert_eq!(out.evidence, "us.pcap: steps of 1.00 µs");
    // Each interface has its own steps.
    let files = [("both.pcapng", pcapng_of_both(&truths)), ("a.csv", csv_ns(&truths))];
    let (_, record) = joined(&files, "both.pcapng a.csv");
    let result = self::result(&record);
    is_true(&result.spans[0], mean(truths.iter().map(|t| t.captured_ns - t.sent_ns)), 125.0);
    is_true(&result.spans[1], mean(truths.iter().map(|t| t.received_ns - t.captured_ns)), 125.0);
    assert_eq!(result.captures[0].steps_ns, [1000, 1]);
}

#[test]
fn a_mean_of_many_steps_is_no_finding() {
    let slow: Vec<Truth> = truths()
        .into_iter()
        .map(|t| Truth { captured_ns: t.captured_ns + 26_000, received_ns: 0, ..t })
        .collect();
    let (_, record) = joined(
        &[("us.pcap", pcap_us(&slow)), ("a.csv", csv(&slow, "sent_ns", |t| t.sent_ns.to_string()))],
        "us.pcap a.csv",
    );
    is_true(&result(&record).spans[0], mean(slow.iter().map(|t| t.captured_ns - t.sent_ns)), 500.0);
    assert!(record.findings.is_empty(), "{:?}", record.findings);
}

#[test]
fn messages_at_one_place_within_a_step_are_off_by_no_more_than_stated() {
    for place in [0, 1, 499, 999] {
        let truth = |t: Truth| Truth { captured_ns: t.captured_ns / 1000 * 1000 + place, ..t };
        let truths: Vec<Truth> = truths().into_iter().map(truth).collect();
        let (_, record) =
            joined(&[("us.pcap", pcap_us(&truths)), ("a.csv", csv_ns(&truths))], "us.pcap a.csv");
        let span = &result(&record).spans[0];
        let off_ns = span.times.mean_ns - mean(truths.iter().map(|t| t.captured_ns - t.sent_ns));
        // But for the last digits of the means.
        assert!(off_ns.abs() < span.uncertainty_ns + 1e-6, "{place}: {off_ns}");
        assert!((off_ns - (500.0 - place as f64)).abs() < 0.01, "{place}: {off_ns}");
    }
}

/// Seconds, as a program writes them that leaves zeros out at the end.
fn fraction(ns: u64) -> String {
    let text = format!("{}.{:06}", ns / 1_000_000_000, ns / 1000 % 1_000_000);
    let short = text.trim_end_matches('0');
    if short.ends_with('.') { format!("{short}0") } else { short.into() }
}

#[test]
fn logs_have_steps_too() {
    let truths = truths();
    let us = |t: &Truth| format!("{},{}", t.sent_ns / 1000, t.received_ns / 1000);
    let s = |t: &Truth| format!("{},{}", fraction(t.sent_ns), fraction(t.received_ns));
    let ms = |t: &Truth| {
        format!("{},{}.{:03}", t.sent_ns / 1000, t.received_ns / 1_000_000, t.received_ns / 1000 % 1000)
    };
    for (columns, times) in [
        ("sent_us,received_us", us as fn(&Truth) -> String),
        ("sent_s,received_s", s as fn(&Truth) -> String),
        ("sent_us,received_ms", ms as fn(&Truth) -> String),
    ] {
        let log = csv(&truths, columns, times);
        let (_, record) = joined(&[("us.pcap", pcap_us(&truths)), ("a.csv", log.clone())], "us.pcap a.csv");
        let out_ns = mean(truths.iter().map(|t| t.captured_ns - t.sent_ns));
        let in_ns = mean(truths.iter().map(|t| t.received_ns - t.captured_ns));
        is_true(&result(&record).spans[0], out_ns, 1000.0);
        is_true(&result(&record).spans[1], in_ns, 1000.0);
        assert_eq!(result(&record).logs[0].step_ns, 1000, "{columns}");
        assert_eq!(record.findings[0].evidence, "a.csv: steps of 1.00 µs, us.pcap: steps of 1.00 µs");
        let (_, record) =
            joined(&[("both.pcapng", pcapng_of_both(&truths)), ("a.csv", log)], "both.pcapng a.csv");
        is_true(&result(&record).spans[0], out_ns, 625.0);
    }
}

#[test]
fn between_captures_both_have_steps_and_fitted_clocks_twice_as_much_doubt() {
    let truths = truths();
    let later: Vec<Truth> = truths
        .iter()
        .map(|t| Truth { captured_ns: t.captured_ns + 3_100 + t.sequence * 13 % 501, ..*t })
        .collect();
    let files = [("us.pcap", pcap_us(&truths)), ("later.pcap", pcap_us(&later)), ("a.csv", csv_ns(&truths))];
    let (_, record) = joined(&files, "us.pcap later.pcap a.csv");
    let between_ns = mean(later.iter().zip(&truths).map(|(to, from)| to.captured_ns - from.captured_ns));
    is_true(&result(&record).spans[1], between_ns, 1000.0);
    let (_, record) = joined(&files[..], "us.pcap a.csv --clock fitted");
    let above_ns = mean(truths.iter().map(|t| t.captured_ns - t.sent_ns)) - 4000.0;
    let span = &result(&record).spans[0];
    assert_eq!(span.uncertainty_ns, 1000.0);
    assert!(
        (span.times.mean_ns - above_ns).abs() <= span.uncertainty_ns,
        "{} {above_ns}",
        span.times.mean_ns
    );
}
