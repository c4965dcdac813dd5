//! The tables on a terminal, over the fixture and over records that lack things.

use netfathom_model::accounting::Fate;
use netfathom_model::record::{Agreement, Measurement, Record, Refused, StackResult, State, TrialKind};
use netfathom_model::verdict::Verdict;
use netfathom_results::render::terminal::render;
use netfathom_stats as stats;

use crate::contract::stack_fixture;

/// The fixture with something changed.
fn changed(change: impl FnOnce(&mut Record)) -> Record {
    let mut record = stack_fixture();
    change(&mut record);
    record
}

fn result(record: &mut Record) -> &mut StackResult {
    let Measurement::Stack(result) = &mut record.measurement;
    result
}

fn widest(text: &str) -> usize {
    text.lines().map(|l| l.chars().count()).max().unwrap_or(0)
}

#[test]
fn eighty_columns() {
    insta::assert_snapshot!(render(&stack_fixture(), 80, false));
}

#[test]
fn a_hundred_and_twenty_columns() {
    insta::assert_snapshot!(render(&stack_fixture(), 120, false));
}

#[test]
fn no_line_is_wider_than_the_page() {
    for width in [80, 100, 120] {
        let text = render(&stack_fixture(), width, false);
        assert!(widest(&text) <= width, "{width}: {text}");
    }
    assert!(widest(&render(&stack_fixture(), 0, false)) <= 80);
}

#[test]
fn escapes_come_with_color_only() {
    assert!(render(&stack_fixture(), 80, true).contains("\x1b[1;33mDEGRADED\x1b[0m"));
    let hostile = changed(|r| r.findings[0].seen = "\x1b[2Jgone\r\nand\x07 back".into());
    let text = render(&hostile, 80, false);
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text}");
}

#[test]
fn color_changes_nothing_but_escapes() {
    let colored = render(&stack_fixture(), 80, true);
    let mut plain = String::new();
    for (i, part) in colored.split("\x1b[").enumerate() {
        plain.push_str(if i == 0 { part } else { part.split_once('m').expect("an escape").1 });
    }
    assert_eq!(plain, render(&stack_fixture(), 80, false));
}

/// What a run killed after its first trial leaves: no interval, no control, no witness.
#[test]
fn one_trial_of_a_killed_run() {
    let record = changed(|r| {
        r.state = State::Partial;
        r.findings.clear();
        r.verdict = Verdict::default();
        let result = result(r);
        result.trials.truncate(1);
        result.self_cost = None;
        result.witnesses.clear();
        result.left_out.clear();
        for s in &mut result.summaries {
            s.overall.trials = 1;
            s.overall.between_trials_ns = None;
            (s.peak, s.theoretical_per_s, s.reached_per_s) = (None, None, None);
        }
    });
    insta::assert_snapshot!(render(&record, 80, false));
}

#[test]
fn interrupted_before_any_measured_trial() {
    let record = changed(|r| {
        r.state = State::Interrupted;
        let result = result(r);
        result.trials.retain(|t| t.kind == TrialKind::Control);
        result.trials.truncate(1);
        result.summaries.clear();
        result.witnesses.clear();
        result.self_cost = None;
    });
    insta::assert_snapshot!(render(&record, 80, false));
}

#[test]
fn a_gap_and_a_disagreeing_counter_are_loud() {
    let record = changed(|r| {
        let accounting = &mut result(r).trials[3].accounting;
        accounting.fates.retain(|f| f.fate == Fate::Delivered);
        accounting.counters[0].observed -= 5;
    });
    let text = render(&record, 120, false);
    assert!(text.contains("GAP in trial 4: 1,962 messages without a fate"), "{text}");
    assert!(text.contains("DISAGREES in trial 4: lab sender: device packets out"), "{text}");
    assert!(!text.contains("the sum closes"), "{text}");
}

#[test]
fn a_witness_that_disagrees_is_loud() {
    let record = changed(|r| {
        let witness = &mut result(r).witnesses[0];
        (witness.difference_ns, witness.agreement) = (812.0, Agreement::Disagree);
    });
    assert!(render(&record, 120, false).contains("812 ns more: they DISAGREE"));
}

#[test]
fn a_direction_without_messages_is_not_zero() {
    let nothing = stats::Distribution::new(5);
    let record = changed(|r| {
        let result = result(r);
        result.summaries[1].total = (&nothing).into();
        for trial in result.trials.iter_mut().filter(|t| t.kind == TrialKind::Measured) {
            trial.paths[1].total = (&nothing).into();
            trial.load.refused = vec![Refused { error: "ECONNREFUSED".into(), count: 7 }];
        }
    });
    let text = render(&record, 120, false);
    assert!(text.contains("rx n/a per message"), "{text}");
    assert!(text.contains("n/a: no message was measured in this trial"), "{text}");
    assert!(text.contains("refused with ECONNREFUSED 21"), "{text}");
    assert!(!text.contains(" 0 ns"), "{text}");
}
