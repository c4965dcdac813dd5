//! `netfathom ttcp sweep`, as its user meets it.

use netfathom_model::record::{Measured, Record, State, SweepResult};
use netfathom_testkit::needs_root;

use super::{receiving, ttcp};
use crate::child::{end, names, only_run, out, record, recorded, run, unprivileged};
use crate::refusals::refused_for;

const TINY: &str = "sweep --here loopback --sndbuf 4096,auto --time 50ms --trials 2";

fn swept(record: &Record) -> &SweepResult {
    SweepResult::of(&record.measurement).expect("a sweep")
}

#[test]
fn a_sweep_leaves_its_record_and_its_tables() {
    let dir = out();
    let ended = run(ttcp(TINY).arg("--out").arg(dir.path())).measured();
    let record = record(dir.path()).unwrap();
    let result = swept(&record);
    assert_eq!((record.state, result.points.len()), (State::Complete, 2));
    for point in &result.points {
        assert_eq!(point.trials.len(), 2);
        assert!(point.trials.iter().all(|t| t.bytes > 0 && t.closed_ns >= Some(t.duration_ns)), "{point:?}");
        let rate = point.rate.unwrap();
        assert!(rate.lowest_bytes_per_s > 0.0 && rate.lowest_bytes_per_s <= rate.highest_bytes_per_s);
    }
    assert_eq!(result.points[0].socket_buffer_bytes, Some(4096));
    assert!(
        result.points[0].granted_buffer_bytes.is_some() && result.points[1].granted_buffer_bytes.is_none()
    );
    let mut order: Vec<u32> = result.points.iter().flat_map(|p| &p.trials).map(|t| t.index).collect();
    order.sort_unstable();
    assert_eq!(order, [0, 1, 2, 3]);
    assert!(ended.out.contains("Rate by send buffer, writes of 8,192 bytes"), "{ended}");
    assert!(ended.out.lines().any(|l| l.trim_start().starts_with("auto ")), "{ended}");
    assert_eq!(names(&only_run(dir.path())), ["head.json", "record.json", "report.html"]);
}

#[test]
fn json_is_the_record_and_nothing_else() {
    let (ended, _) = recorded(ttcp(TINY).args(["--json", "-D", "both"]));
    let record: Record = ended.json();
    let settings: Vec<bool> = swept(&record).points.iter().map(|p| p.no_delay).collect();
    assert_eq!((settings, ended.err.as_str()), (vec![false, false, true, true], ""));
}

#[test]
fn over_a_path_there_is_its_delay() {
    needs_root!();
    let mut command = ttcp("sweep --delay 5ms --sndbuf auto --time 100ms --trials 1 --quiet");
    let (_, record) = recorded(&mut command);
    let tcp = swept(&record).points[0].trials[0].tcp.unwrap();
    assert!(tcp.min_rtt_us.unwrap() >= 10_000, "{tcp:?}");
}

#[test]
fn a_path_without_root_is_refused_with_what_loopback_lacks() {
    let dir = out();
    let mut command = unprivileged("ttcp sweep --delay 5ms --out");
    refused_for(command.arg(dir.path()), 1, &["--here loopback, which has no --delay, --rate or --loss"]);
}

/// A receiver that takes one sender and goes is none for a sweep.
#[test]
fn a_receiver_that_does_not_serve_is_named_with_what_to_do() {
    let (single, port) = receiving("-rs");
    let dir = out();
    let mut command = ttcp(&format!("sweep -p {port} --sndbuf auto --time 50ms --trials 2 127.0.0.1"));
    let ended = run(command.arg("--out").arg(dir.path()));
    ended.exited(1).explains(&["netfathom ttcp -rs --serve"]);
    assert_eq!(end(single).status, 0);
    // What was finished before is kept and shown.
    let record = record(dir.path()).unwrap();
    assert_eq!((record.state, swept(&record).points[0].trials.len()), (State::Interrupted, 1));
}

#[test]
fn a_sweep_of_one_point_tells_it_once() {
    let dir = out();
    let mut sweep = ttcp("sweep --here loopback --sndbuf 64k --time 50ms --trials 1");
    let ended = run(sweep.arg("--out").arg(dir.path())).exited(0);
    let answer = ended.out.split("\n\n").next().unwrap();
    let answer = answer.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(answer.matches("writes of").count(), 1, "{answer}");
}
