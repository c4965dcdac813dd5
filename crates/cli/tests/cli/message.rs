//! `netfathom message` as its users meet it.

use netfathom_model::plan::Until;
use netfathom_model::print::counted;
use netfathom_model::record::{Ended, Measured, MessageResult, Record, State};
use netfathom_model::verdict::Level;
use netfathom_testkit::needs_root;

use crate::child::{
    end, netfathom, out, record, recorded, run, signal, start, unprivileged, until, until_holds,
};

/// Short, and no privilege needed.
const SHORT: &str = "message pingpong --loopback --sizes 64 --layers write,adaptive --cpu-pairs same --trials 2 --messages 50 --min-time 0s";

pub fn messages(record: &Record) -> &MessageResult {
    MessageResult::of(&record.measurement).expect("messages")
}

#[test]
fn without_privilege_it_measures_over_loopback_and_names_what_is_missing() {
    let (ended, record) = recorded(unprivileged(SHORT).arg("-v"));
    assert!(ended.out.contains("write") && ended.out.contains("adaptive"), "{ended}");
    let result = messages(&record);
    assert_eq!((record.state, result.cells.len()), (State::Complete, 2));
    assert_ne!(record.verdict.level, Level::Void, "{:?}", record.verdict);
    // System calls are counted by a program, which requires privilege: n/a, not zero.
    assert!(ended.out.contains("n/a"), "{ended}");
    let (kernel, dir) = (format!("{SHORT} --placement UK --out"), out());
    run(unprivileged(&kernel).arg(dir.path())).exited(1).explains(&["in the kernel"]);
}

/// The machine decides which of the two ends it; what the record says must be so.
#[test]
fn a_run_without_a_number_of_trials_says_why_it_ended() {
    for (asked, until) in
        [(0.2, "--precision 20% --time-limit 10s"), (0.001, "--precision 0.1% --time-limit 1s")]
    {
        let args = format!("{} -v {until}", SHORT.replace("--trials 2 ", ""));
        let (ended, record) = recorded(&mut netfathom(&args));
        let result = messages(&record);
        let precision = result.precision.as_ref().unwrap();
        let names: Vec<String> = precision.widths.iter().map(|width| width.name()).collect();
        assert_eq!(names, ["median time", "ratio"]);
        let [write, adaptive] = &result.cells[..] else { panic!("{ended}") };
        let rounds = write.trials.len();
        assert_eq!(rounds, adaptive.trials.len());
        let is_narrow = precision.is_within(asked);
        let ends = is_narrow && rounds >= Until::LEAST_TRIALS as usize;
        let why = if ends { Ended::Narrow } else { Ended::TimeLimit };
        assert_eq!(precision.ended, Some(why), "{ended}");
        let shown = if is_narrow { "; ended after " } else { "; ended by the time limit (" };
        ended.shows(&[&format!("{}, ", counted(rounds, "trial")), shown]);
    }
}

#[test]
fn a_killed_run_leaves_its_rounds_and_no_program_in_the_kernel() {
    needs_root!();
    let dir = out();
    let args =
        "message pingpong --lab --sizes 64 --layers write --placement UK,KK --trials 100 --cpu-pairs same";
    let child = start(netfathom(args).arg("--out").arg(dir.path()));
    until("a round", || record(dir.path()).filter(|r| !messages(r).cells.is_empty()));
    signal("KILL", &child);
    assert_eq!(end(child).status, 128 + 9);
    let left = record(dir.path()).unwrap();
    assert_eq!(left.state, State::Partial);
    assert!(!messages(&left).cells.is_empty());
    until_holds("the programs to be gone", || {
        let programs = libbpf_rs::query::ProgInfoIter::default();
        let ours = programs.filter(|p| p.name.to_string_lossy().starts_with("message_")).count();
        ours == 0
    });
}
