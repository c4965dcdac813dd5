//! Single messages that take long.

use super::*;
use crate::refusals::all_refused;

#[test]
fn a_run_ends_with_a_slow_message_and_keeps_it() {
    needs_root!();
    let (dir, listener, port) = listening();
    let child = watching(&format!("--port {port} --slow 60ms --stop-after 1 --json"), dir.path());
    echo(&listener, 100, 0);
    echo(&listener, 2, 80);
    let record = record(&end(child));
    let result = result(&record);
    let slow = result.slow.as_ref().unwrap();
    assert_eq!((slow.received_bound_ns, slow.sent_bound_ns, slow.lost), (Some(60_000_000), None, 0));
    // A machine that is busy makes others slow.
    let planted = slow.messages.iter().filter(|message| message.total_ns() > 80_000_000);
    assert!(planted.clone().count() >= 1 && slow.seen() as usize == slow.messages.len(), "{slow:?}");
    assert!(planted.clone().any(|message| message.most().unwrap().stage == WatchStage::Blocked), "{slow:?}");
    assert!(slow.messages.iter().all(|message| message.begin_ns > slow.began_ns), "{slow:?}");
    is_exported(dir.path());
}

/// The slow messages of the last run are a trace.
fn is_exported(out: &Path) {
    let trace = out.join("slow.pftrace");
    run(netfathom("export last --to perfetto --out").arg(out).arg("-o").arg(&trace)).exited(0);
    assert!(fs::metadata(trace).unwrap().len() > 100);
}

/// What the record of a run that goes on has.
fn so_far(out: &Path) -> Option<WatchResult> {
    let record = crate::child::record(out)?;
    assert_eq!(record.state, State::Partial);
    WatchResult::of(&record.measurement).cloned()
}

#[test]
fn a_run_that_is_killed_leaves_its_slow_messages_and_no_program() {
    needs_root!();
    let (dir, listener, port) = listening();
    let child = watching(&format!("--port {port} --slow 60ms"), dir.path());
    echo(&listener, 5, 80);
    let is_written = |result: &WatchResult| result.slow.as_ref().is_some_and(|slow| slow.kept > 0);
    until("slow messages in the record", || so_far(dir.path()).filter(is_written));
    let held = Held::by(child.id());
    assert!(!held.is_gone(), "this test cannot see {held:?}");
    signal("KILL", &child);
    assert_eq!(end(child).status, 128 + 9);
    until_holds("the kernel to clean up", || held.is_gone());
    let slow = so_far(dir.path()).unwrap().slow.unwrap();
    assert!(slow.messages.iter().any(|message| message.total_ns() > 80_000_000), "{slow:?}");
    is_exported(dir.path());
}

#[test]
fn a_record_is_written_when_it_is_asked_for_and_the_run_goes_on() {
    needs_root!();
    let (dir, listener, port) = listening();
    let child = watching(&format!("--port {port} --json"), dir.path());
    echo(&listener, 20, 0);
    assert_eq!(so_far(dir.path()).unwrap().account.seen, 0, "without being asked");
    signal("USR1", &child);
    until("the record", || so_far(dir.path()).filter(|result| result.account.seen > 0));
    echo(&listener, 20, 0);
    let record = record(&interrupted(child));
    assert_eq!(record.state, State::Complete);
    assert!(result(&record).account.seen > 20, "{:?}", result(&record).account);
    // That of a whole run.
    assert!(!record.verdict.reasons.iter().any(|reason| reason.text.contains("written during the run")));
}

#[test]
fn the_slowest_thousandth_is_known_once_there_are_enough() {
    needs_root!();
    let (dir, listener, port) = listening();
    let child = watching(&format!("--port {port} --slow p99 --json-lines"), dir.path());
    echo(&listener, 1100, 0);
    // The bound is set each second.
    thread::sleep(Duration::from_millis(1500));
    echo(&listener, 5, 100);
    thread::sleep(Duration::from_millis(1500));
    let ended = interrupted(child).exited(0);
    let lines = lines(&ended);
    let slow = || lines.iter().flat_map(|line| line["slow"].as_array().unwrap());
    let took = |message: &&Value| {
        message["end_ns"].as_u64().unwrap() - message["begin_ns"].as_u64().unwrap() > 100_000_000
    };
    assert_eq!(slow().filter(took).count(), 5, "{ended}");
}

#[test]
fn what_is_slow_must_be_named_rightly() {
    let cases = [
        ("--slow p100", "a percentile is from p50 to p99.999"),
        ("--slow pxy", "write a percentile as p99.9"),
        ("--slow 0ms", "--slow"),
        ("--slow 1ms --stop-after 0", "--stop-after: name how many"),
        ("--stop-after 3", "--slow"),
    ];
    all_refused("watch --port 1 --time 1s", &cases);
}
