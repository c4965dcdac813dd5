//! Verdicts on generated cells.

use netfathom_model::record::{Contention, Distribution, EndCost, Held, Holder, MessageRate, MessageTrial};
use netfathom_stats as stats;

use super::super::fixture;
use super::*;
use crate::load::judge::priority;

fn cell(layer: &str, times: u64, sent: u64, lost: u64) -> MessageCell {
    let mut all = stats::Distribution::new(7);
    all.add_many(1000, times);
    let trial = MessageTrial { sent, lost, ..fixture::trial(sent - lost) };
    fixture::cell(layer, trial, &all)
}

fn judged(cells: Vec<MessageCell>) -> Verdict {
    levels(Carrier::Udp, cells).0
}

/// The verdict of the run, and the levels of its cells.
fn levels(carrier: Carrier, cells: Vec<MessageCell>) -> (Verdict, Vec<Level>) {
    let planned = cells.len();
    let mut result = MessageResult { cells, ..fixture::result() };
    result.plan.carrier = carrier;
    let verdict = judge(&mut result, planned, 0);
    (verdict, result.cells.iter().map(|cell| cell.verdict.level).collect())
}

#[test]
fn a_cell_is_void_by_itself_and_the_run_with_all_of_them() {
    let lossy = || cell("writev", 100, 100, 3);
    let (run, cells) = levels(Carrier::Tcp, vec![cell("write", 100, 100, 0), lossy()]);
    assert_eq!(cells, [Level::Valid, Level::Void]);
    assert_eq!((run.level, run.of_whole()), (Level::Degraded, Level::Valid));
    let text = "VOID in 1 of 2 cells, worst writev with 64 bytes: 3 messages were sent over a stream";
    assert!(run.reasons[0].text.starts_with(text), "{run:?}");
    let (run, cells) = levels(Carrier::Tcp, vec![cell("write", 0, 9, 9), lossy()]);
    assert_eq!((run.level, cells), (Level::Void, vec![Level::Void; 2]));
    let text = "12 messages were sent over a stream and not received";
    assert!(run.reasons.iter().any(|reason| reason.text == text), "{run:?}");
}

#[test]
fn restless_sockets_degrade_what_ran_beside_them() {
    let with = |layer: &str, bytes: u64, highest_per_s: f64| {
        let rate = MessageRate { median_per_s: 1.0, lowest_per_s: 1.0, highest_per_s, mean_per_s: None };
        MessageCell { bytes, rate: Some(rate), ..cell(layer, 100, 100, 0) }
    };
    let first = fixture::result().plan.layers[0].to_string();
    let cells = vec![with(&first, 64, 3.0), with("two", 64, 1.0), with("two", 4, 9.0), with(&first, 4, 1.1)];
    let (run, cells) = levels(Carrier::Tcp, cells);
    assert_eq!(cells, [Level::Degraded, Level::Degraded, Level::Valid, Level::Valid], "{run:?}");
    assert!(run.reasons[0].text.contains("× 3.0 (64 bytes; 1 of 2 cells)"), "{run:?}");
}

#[test]
fn losses_are_reported_with_the_worst_layer() {
    let few = judged(vec![cell("write", 990, 1000, 10)]);
    assert_eq!(few.level, Level::Valid, "{few:?}");
    let many = judged(vec![cell("write", 980, 1000, 20), cell("writev", 700, 1000, 300)]);
    assert_eq!(many.level, Level::Degraded);
    let text = format!("{many:?}");
    assert!(text.contains("in 2 of 2 cells") && text.contains("writev and 64 bytes: 30.0 %"), "{text}");
}

/// Of round trips at 2k/s, 290 ms late, in a trial of 1 µs.
fn late_text(waited_ns: u64, contention: Vec<Contention>) -> String {
    let times = stats::Distribution::new(7);
    let client = EndCost { run_delay_ns: Some(waited_ns), ..EndCost::default() };
    let trial = MessageTrial { client, duration_ns: 1000, ..fixture::trial(100) };
    let lag = Some(Distribution { p99_ns: 290_455_600, ..(&times).into() });
    let cell = MessageCell { lag, ..fixture::cell("write", trial, &times) };
    let result = MessageResult { cells: vec![cell], contention, ..fixture::result() };
    late(&result, 2000.0).unwrap().text
}

#[test]
fn a_lower_rate_is_advised_only_where_the_ends_had_their_cpus() {
    let client = |ns| Contention {
        thread: LoadThread::Client,
        cpu: 1,
        span_ns: 1000,
        waited_ns: ns,
        holders: vec![Held { by: Holder::Process { name: "rustc".into(), pid: 7, cgroup: None }, ns }],
        stolen_ns: 0,
        interrupts: Vec::new(),
        stopped_ns: 0,
        blocked_ns: 0,
    };
    let slow = late_text(100, Vec::new());
    assert!(slow.contains("worst p99 290 ms (write, 64 bytes)"), "{slow}");
    assert!(slow.ends_with(": lower --rate"), "{slow}");
    assert!(late_text(0, vec![client(5)]).ends_with(": lower --rate"));
    assert!(late_text(770, vec![client(770)]).ends_with(": stop rustc (pid 7) on CPU 1"));
    assert!(late_text(770, Vec::new()).ends_with(&priority()), "no one was followed");
}

#[test]
fn a_tail_of_a_few_times_is_none() {
    assert_eq!(judged(vec![cell("write", 100, 100, 0)]).level, Level::Valid);
    // There are none at all where a sink counts.
    assert_eq!(judged(vec![cell("write", 0, 5000, 0)]).level, Level::Valid);
    let short = judged(vec![cell("write", 100, 100, 0), cell("writev", 20, 20, 0)]);
    assert_eq!(short.level, Level::Degraded);
    let text = format!("{short:?}");
    assert!(text.contains("1 of 2 cells") && text.contains("writev with 64 bytes: 20"), "{text}");
}
