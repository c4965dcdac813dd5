//! The tables on a terminal, over the fixture and over records that lack things.

use crate::contract::render;
use netfathom_model::accounting::{Fate, FateCount};
use netfathom_model::plan::{Place, Transport};
use netfathom_model::record::{
    Agreement, Estimate, Measurement, Record, Refused, Served, StackResult, StageSummaryTimes, State,
    TrialKind, WatchSent, WatchStage,
};
use netfathom_model::verdict::{Level, Verdict};
use netfathom_stats as stats;

use crate::contract::stack_fixture;
use crate::fixtures::{ALL, fixture};

fn changed(change: impl FnOnce(&mut Record)) -> Record {
    let mut record = stack_fixture();
    change(&mut record);
    record
}

fn result(record: &mut Record) -> &mut StackResult {
    let Measurement::Stack(result) = &mut record.measurement else {
        panic!("the fixture is of another measurement")
    };
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
fn color_changes_nothing_but_escapes() {
    let colored = render(&stack_fixture(), 80, true);
    assert!(colored.contains("\x1b[30;43mDEGRADED\x1b[0m"));
    let mut plain = String::new();
    for (i, part) in colored.split("\x1b[").enumerate() {
        plain.push_str(if i == 0 { part } else { part.split_once('m').expect("an escape").1 });
    }
    assert_eq!(plain, render(&stack_fixture(), 80, false));
}

/// What a run killed after its first trial leaves: no interval, no baseline, no cross-check.
#[test]
fn one_trial_of_a_killed_run() {
    let record = changed(|r| {
        r.state = State::Partial;
        r.findings.clear();
        r.verdict = Verdict::default();
        let result = result(r);
        result.trials.truncate(1);
        result.self_cost = None;
        result.cross_checks.clear();
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
        result.trials.retain(|t| t.kind == TrialKind::Baseline);
        result.trials.truncate(1);
        result.summaries.clear();
        result.cross_checks.clear();
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
    assert!(text.contains("GAP in trial 4: 1,962 messages without an outcome"), "{text}");
    assert!(text.contains("DISAGREES in trial 4: lab sender: device packets out"), "{text}");
    assert!(!text.contains("accounted for"), "{text}");
}

#[test]
fn unexplained_messages_are_not_accounted_for() {
    let record = changed(|r| {
        let fates = &mut result(r).trials[3].accounting.fates;
        let delivered = fates.iter_mut().find(|f| f.fate == Fate::Delivered).unwrap();
        delivered.count -= 84;
        fates.push(FateCount { fate: Fate::Unexplained, count: 84 });
    });
    let text = render(&record, 120, false);
    assert!(text.contains("+ unexplained 84"), "{text}");
    assert!(!text.contains("accounted for"), "{text}");
}

#[test]
fn what_came_in_broken_stands_beside_the_sum() {
    let record = changed(|r| {
        let accounting = &mut result(r).trials[0].accounting;
        (accounting.truncated, accounting.garbage) = (2, 41);
    });
    assert!(render(&record, 120, false).contains("cut off 2, no message at all 41"));
}

#[test]
fn a_witness_that_disagrees_is_loud() {
    let record = changed(|r| {
        let cross_check = &mut result(r).cross_checks[0];
        (cross_check.difference_ns, cross_check.agreement) = (812.0, Agreement::Disagree);
    });
    assert!(render(&record, 120, false).contains("812 ns more: they DISAGREE"));
}

#[test]
fn the_taps_own_part_of_the_times_is_shown() {
    let record = changed(|r| {
        let result = result(r);
        let cost = result.self_cost.as_mut().unwrap();
        cost.within_tx_ns = Some(Estimate { value: 149.0, half_width: 21.0 });
        cost.within_rx_ns = Some(Estimate { value: 300.0, half_width: 640.0 });
        result.cross_checks[0].behind_ns = Some(431.0);
    });
    let text = render(&record, 300, false);
    assert!(text.contains("within tx    +149 ns ± 21 per message"), "{text}");
    assert!(text.contains("within rx    +300 ns ± 640 per message: not significant"), "{text}");
    assert!(
        text.contains("the timestamp of timestamping is 431 ns later, which is part of the difference"),
        "{text}"
    );
    let much = "the answer includes the time of the bpf tap itself: 149 ns ± 21 of the time to send (";
    assert!(text.contains(much) && text.find(much) < text.find("largest stages"), "{text}");
}

#[test]
fn times_below_zero_are_counted_by_stage() {
    let record = changed(|r| {
        let stages = &mut result(r).summaries[1].stages;
        let StageSummaryTimes::Measured(times) = &mut stages[3].times else {
            panic!("a time of the fixture")
        };
        (times.n, times.negative) = (100_000, 1_900);
    });
    let text = render(&record, 120, false);
    assert!(text.contains("negative times: runqueue 1,900 of 100"), "{text}");
    assert!(text.contains("(1.90 %)"), "{text}");
}

#[test]
fn the_list_under_the_answer_says_where_the_time_goes() {
    let text = render(&stack_fixture(), 200, false);
    let Measurement::Stack(result) = stack_fixture().measurement else { panic!("a record of stack") };
    for summary in &result.summaries {
        let inside = summary.stages.iter().filter(|s| s.inside);
        let most = inside.max_by(|a, b| a.share.unwrap_or(0.0).total_cmp(&b.share.unwrap_or(0.0))).unwrap();
        let share = most.share.unwrap() * 100.0;
        // There is room for what one of them is.
        let meaning = match summary.direction.name() {
            "tx" => String::new(),
            _ => format!(" ({})", most.stage.meaning(Transport::Udp)),
        };
        let words = format!(" {}{meaning}, {share:.0} % of the time to ", most.stage.name());
        assert!(text.contains(&words), "{text}: {words}");
    }
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
    assert!(text.contains("n/a to receive"), "{text}");
    assert!(text.contains("n/a: no message was measured in this trial"), "{text}");
    assert!(text.contains("refused with ECONNREFUSED 21"), "{text}");
    assert!(!text.contains(" 0 ns"), "{text}");
}

#[test]
fn reverse_answers_with_what_is_significant() {
    let with = |open: usize, sign: f64| {
        let mut record = fixture("reverse");
        let Measurement::Reverse(reverse) = &mut record.measurement else { panic!("another measurement") };
        assert!(reverse.variants.len() > 2);
        for variant in reverse.variants.iter_mut().take(open) {
            let summary = variant.summary.as_mut().unwrap();
            summary.drop_interval.as_mut().unwrap().half_width = 2.0 * summary.drop.abs();
        }
        for summary in reverse.variants.iter_mut().filter_map(|variant| variant.summary.as_mut()) {
            summary.drop *= sign;
            summary.drop_interval.as_mut().unwrap().value *= sign;
        }
        render(&record, 200, false)
    };
    let answer = |open| with(open, 1.0);
    let range = |verb| format!("{verb} the send rate by 31.1 % (ignored) to 61.9 % (other-thread)");
    assert!(answer(0).contains(&range("Receiving 200k/s cuts")), "{}", answer(0));
    assert!(with(0, -1.0).contains(&range("Receiving 200k/s raises")));
    assert!(!answer(0).contains("not significant: "), "{}", answer(0));
    let one = answer(1);
    assert!(one.contains(" cuts the send rate by ") && one.contains("- not significant: ignored\n"), "{one}");
    // An echo is another experiment.
    let (same_thread, echo) = (answer(2), answer(3));
    assert!(same_thread.contains("cuts the send rate by 47.9 % ± 0.5 (same-thread)\n"), "{same_thread}");
    assert!(
        echo.contains("Receiving its own echo at 189k/s cuts the send rate by 55.04 % ± 0.01 (echo)"),
        "{echo}"
    );
    let none = answer(usize::MAX);
    assert!(none.contains("No significant cut of the send rate by receiving (known to ± "), "{none}");
}

#[test]
fn reverse_answers_with_what_came_in() {
    let mut record = fixture("reverse");
    let Measurement::Reverse(reverse) = &mut record.measurement else { panic!("another measurement") };
    let [ignored, other_thread, ..] = &mut reverse.variants[..] else { panic!("one variant") };
    ignored.summary.as_mut().unwrap().inbound_per_s[2] = 187e3;
    other_thread.trials.iter_mut().for_each(|trial| trial.verdict.lower(Level::Void, "nothing came in"));
    let text = render(&record, 200, false);
    let cut = "Receiving 187k/s to 200k/s cuts the send rate by 31.1 % (ignored) to 47.9 % (same-thread)";
    assert!(text.contains(cut), "{text}");
    record.verdict.lower(Level::Void, "nothing came in");
    assert!(render(&record, 200, false).starts_with("VOID  no usable answer"));
}

#[test]
fn eighty_columns_of_the_others() {
    // Of the others each has a snapshot of its own.
    let elsewhere = ["stack", "cost", "fleet"];
    for name in ALL.into_iter().filter(|name| !elsewhere.iter().any(|kind| name.starts_with(kind))) {
        insta::assert_snapshot!(format!("eighty_columns_of_{name}"), render(&fixture(name), 80, false));
    }
}

#[test]
fn the_head_says_where_it_was_measured() {
    let of = |name: &str| {
        let mut record = fixture(name);
        record.environment.host = Some("vm1".into());
        render(&record, 200, false)
    };
    for (name, place) in [
        ("stack", "lab on vm1"),
        ("load", "lab on vm1"),
        ("capacity", "lab on vm1"),
        ("reverse", "lab on vm1"),
        ("message", "lab on vm1"),
        ("sweep", "lab on vm1"),
        ("ttcp", "vm1 -> 10.0.0.2:5001"),
        ("join", "captures and logs"),
        ("reproduce", "vm1"),
        ("cost-own", "vm1"),
        ("watch", "vm1"),
        ("cost-offline", "times taken elsewhere"),
    ] {
        assert!(of(name).contains(&format!(", {place}, ")), "{name}: {}", of(name));
    }
    let mut record = fixture("stack");
    let Measurement::Stack(stack) = &mut record.measurement else { panic!("another measurement") };
    stack.plan.place = Place::To("10.0.0.2:9000".parse().unwrap());
    assert!(render(&record, 100, false).contains("stack, this host -> 10.0.0.2:9000, "));
}

#[test]
fn a_tap_that_did_not_run_has_no_column_and_one_alone_no_table() {
    const TABLE: &str = "The taps compared";
    let with = |trials: [u32; 3]| {
        let mut record = fixture("taps");
        let Measurement::Stack(stack) = &mut record.measurement else { panic!("another measurement") };
        assert_eq!(stack.taps.len(), 3);
        for (tap, trials) in stack.taps.iter_mut().zip(trials) {
            tap.trials = trials;
        }
        let text = render(&record, 80, false);
        text.split_once(TABLE).map(|(_, table)| table.lines().nth(1).unwrap_or_default().to_owned())
    };
    let names = |line: Option<String>| line.map(|line| line.split_whitespace().count());
    assert_eq!(names(with([10, 5, 5])), Some(3));
    assert_eq!(names(with([10, 0, 5])), Some(2));
    assert_eq!(with([10, 0, 0]), None);
}

#[test]
fn a_long_address_leaves_its_table_and_not_the_page() {
    let mut record = fixture("ttcp");
    let Measurement::Transfer(transfer) = &mut record.measurement else { panic!("another measurement") };
    let long = "[2001:db8:1111:2222:3333:4444:5555:6666]:50001";
    transfer.streams[1].peer = Some(long.into());
    let text = render(&record, 80, false);
    assert!(widest(&text) <= 80 && text.contains(long), "{text}");
}

#[test]
fn a_service_is_shown_by_its_senders() {
    let mut record = fixture("ttcp");
    let Measurement::Transfer(transfer) = &mut record.measurement else { panic!("another measurement") };
    let served =
        Served { whole: 5, broken: 1, too_long: 2, turned_away: 3, most_at_once: 4, bytes: 1_234_567 };
    transfer.served = Some(served);
    let text = render(&record, 80, false);
    assert!(text.contains("1,234,567 bytes received over TCP in 8 streams, at most 4 at once"), "{text}");
    assert!(text.contains("- turned away, too many at once: 3"), "{text}");
}

/// What a run leaves that was stopped before anything was finished.
#[test]
fn nothing_finished_of_any_measurement_is_stated() {
    for name in ["load", "capacity", "reverse"] {
        let mut record = fixture(name);
        record.state = State::Interrupted;
        match &mut record.measurement {
            Measurement::Load(l) => {
                l.trials.clear();
                l.ladder.clear();
                (l.summary, l.receive) = (None, None);
            }
            Measurement::Capacity(c) => {
                c.rows.clear();
                c.inferred = None;
            }
            Measurement::Reverse(r) => {
                r.variants.iter_mut().for_each(|v| (v.trials, v.summary) = Default::default());
            }
            _ => panic!("the fixture is of another measurement"),
        }
        let text = render(&record, 80, false);
        assert!(text.contains("there is no answer yet"), "{name}: {text}");
        assert!(text.contains("NOT WHOLE: 0 of "), "{name}: {text}");
        assert!(!text.contains("NaN") && !text.contains("inf/s"), "{name}: {text}");
    }
}

#[test]
fn an_engine_without_capacity_says_why() {
    let text = render(&fixture("capacity"), 200, false);
    assert!(text.contains("gso, 2 workers: on schedule: no rate was on schedule"), "{text}");
    assert!(
        text.contains(
            "xdp, 1 worker: sustained, as a multiple of the inferred rate: the engine bypasses the stack"
        ),
        "{text}"
    );
}

#[test]
fn losses_that_were_not_reported_are_not_none() {
    let mut record = fixture("load");
    let Measurement::Load(l) = &mut record.measurement else { panic!("another measurement") };
    l.receive = None;
    if let Some(summary) = &mut l.summary {
        summary.lost = None;
    }
    let text = render(&record, 80, false);
    assert!(text.contains("losses unknown") && text.contains("the far end did not report"), "{text}");
    assert!(!text.contains("0.024 %"), "{text}");
}

/// A capture, say, has one time each way.
#[test]
fn a_tap_without_stages_says_so_once() {
    let mut record = fixture("stack");
    let Measurement::Stack(stack) = &mut record.measurement else { panic!("another measurement") };
    for stage in stack.summaries.iter_mut().flat_map(|s| &mut s.stages) {
        stage.times = StageSummaryTimes::Unavailable("a single time".into());
    }
    let text = render(&record, 80, false);
    assert_eq!(text.matches("all stages").count(), 2, "{text}");
    assert_eq!(text.matches("n/a: a single time").count(), 2, "{text}");
    assert!(text.contains("total"), "{text}");
}

/// They have no link layer, and what is sent is counted alone.
#[test]
fn messages_of_unix_sockets_begin_at_their_sender() {
    let mut record = fixture("watch-both");
    let Measurement::Watch(watch) = &mut record.measurement else { panic!("another measurement") };
    watch.plan.unix = Some(true);
    watch.send.as_mut().unwrap().account.unix = Some(WatchSent { messages: 1234, bytes: 56_789 });
    let text = render(&record, 200, false);
    assert!(text.contains("Receive (rx): link layer (Unix: sender's call) to application"), "{text}");
    assert!(text.contains("what is sent over Unix sockets is counted, without times"), "{text}");
    assert!(text.contains("or were read before they were announced (Unix)"), "{text}");
    assert!(text.contains("not among these: 56,789 bytes"), "{text}");
    let Measurement::Watch(watch) = &mut record.measurement else { panic!("another measurement") };
    watch.stages.retain(|stage| !matches!(stage.stage, WatchStage::Protocol | WatchStage::Lock));
    let text = render(&record, 200, false);
    assert!(text.contains("Receive (rx): sender's call to application"), "{text}");
}

#[test]
fn merged_messages_have_the_times_of_others() {
    let merged = |name: &str, sent: bool| {
        let mut record = fixture(name);
        let Measurement::Watch(watch) = &mut record.measurement else { panic!("another measurement") };
        let account = &mut watch.send.as_mut().unwrap().account;
        (account.merged, account.timed) = (account.seen / 4, account.seen - account.seen / 4);
        if !sent {
            (account.merged, watch.account.merged) = (0, watch.account.seen / 2);
        }
        render(&record, 200, false)
    };
    let words = "share the times of the message before (merged)";
    assert!(!render(&fixture("watch-tx"), 200, false).contains(words));
    let text = merged("watch-tx", true);
    assert!(text.contains(&format!("; 25.0 % {words}")), "{text}");
    let text = merged("watch-both", true);
    assert!(text.contains(&format!("; 25.0 % of sent {words}")), "{text}");
    let text = merged("watch-both", false);
    assert!(text.contains(&format!(" % of received {words}")), "{text}");
}

#[test]
fn what_udp_sends_begins_where_the_kernel_shows_it() {
    const NO_CALL: &str = "stage socket of UDP requires fentry, which this kernel does not load";
    let mut record = fixture("watch-tx");
    let mut show = |calls: Option<bool>, has_tcp: bool, udp: u64| {
        let Measurement::Watch(watch) = &mut record.measurement else { panic!("another measurement") };
        let send = watch.send.as_mut().unwrap();
        (send.datagram_calls, send.account.udp) = (calls, udp);
        send.account.dropped = Some(12_345);
        if !has_tcp {
            send.stages.retain(|stage| stage.stage != WatchStage::Socket);
        }
        render(&record, 200, false)
    };
    let text = show(Some(true), true, 1);
    assert!(text.contains("Send (tx): application to device") && !text.contains(NO_CALL), "{text}");
    assert!(text.contains("12,345") && text.contains("one per send call, or datagram"), "{text}");
    let text = show(Some(false), true, 0);
    assert!(!text.contains(NO_CALL), "a socket of UDP that sends nothing: {text}");
    let few = show(Some(false), true, 500);
    assert!(few.contains("Send (tx): application to device") && !few.contains(NO_CALL), "{few}");
    let text = show(Some(false), true, 501);
    assert!(text.contains("Send (tx): send call or device queue to device"), "{text}");
    assert!(text.contains(NO_CALL) && text.contains("TCP and UDP over IPv4 and IPv6"), "{text}");
    let text = show(Some(false), false, 1);
    assert!(text.contains("Send (tx): the device's queue to device"), "{text}");
}
