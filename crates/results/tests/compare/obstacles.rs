//! What must not be compared, and the reasons given.

use netfathom_model::environment::Settings;
use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::{Benchmark, BenchmarkKind, InsertedDelay, MarkSource, Subject};
use netfathom_model::record::{Around, Measurement, StackResult, State, Value};
use netfathom_model::verdict::{Level, Part, Verdict};
use netfathom_results::compare::{
    CompareError, Comparison, Gates, Outcome, Passage, Run, Wishes, apart, gates, pairs, settings_differ,
};
use netfathom_results::render::html;
use netfathom_results::{draw, quantity, story};

use crate::fixtures::{ALL, fixture};
use crate::simulated::Maker;

const FORCE: Wishes = Wishes { force: true };

fn two() -> (Run, Run) {
    let mut maker = Maker::new(11);
    (maker.run(5, 1.0), maker.run(5, 1.0))
}

fn stack(run: &mut Run) -> &mut StackResult {
    let Measurement::Stack(stack) = &mut run.record.measurement else { panic!("no stack") };
    stack
}

/// Compared as two runs that nothing stands against.
fn compared(a: &Run, b: &Run) -> Comparison {
    apart(a, b, &Wishes::default()).unwrap()
}

/// As a terminal, Markdown and a page show it.
fn shown_as(comparison: Comparison) -> [String; 3] {
    let all = [(comparison, Gates::default())];
    let page = story::compare::of(&all);
    let html = html::render_comparisons(&all).unwrap();
    [draw::terminal(&page, 120, false), draw::markdown(&page), html]
}

fn refused(a: &Run, b: &Run) -> String {
    let comparison = apart(a, b, &Wishes::default()).unwrap();
    assert!(comparison.is_refused() && comparison.quantities.is_empty());
    assert!(!apart(a, b, &FORCE).unwrap().is_refused());
    comparison.obstacles.join("\n")
}

fn differing(comparison: &Comparison) -> Vec<&str> {
    comparison.differences.iter().map(|difference| difference.what.as_str()).collect()
}

#[test]
fn other_work_is_named_with_why() {
    let (a, mut b) = two();
    let plan = &mut stack(&mut b).plan;
    (plan.size_bytes, plan.seed, plan.trials) = (1000, 99, 50);
    plan.profile = "constant:1k/1s".parse().unwrap();
    let message = refused(&a, &b);
    assert!(message.starts_with("the loads differ: "), "{message}");
    assert!(message.contains(", 64 bytes and constant:1k/1s, 1,000 bytes: measure both alike"), "{message}");
    stack(&mut b).tap = Tap::Pcap;
    let message = refused(&a, &b);
    assert!(message.contains(" bytes\ntap differs (") && message.matches("alike").count() == 1, "{message}");
    // What is shown first says that nothing of it may be compared.
    let [text, ..] = shown_as(apart(&a, &b, &FORCE).unwrap());
    assert!(text.starts_with("NOT COMPARABLE  forced: "), "{text}");
    let comparison = compared(&a, &b);
    assert!(differing(&comparison).contains(&"trials"), "{:?}", differing(&comparison));
    assert!(!differing(&comparison).contains(&"seed"), "{:?}", differing(&comparison));
}

#[test]
fn another_measurement_is_nothing_to_compare_with() {
    let (a, _) = two();
    let b = Run { name: "other".into(), record: fixture("load") };
    let message = compared(&a, &b).obstacles.join("\n");
    assert!(message.contains("nothing in common"), "{message}");
    assert!(apart(&a, &b, &FORCE).unwrap().is_refused(), "no force makes them the same");
}

#[test]
fn void_runs_need_force_and_others_are_cautioned() {
    let (a, mut b) = two();
    b.record.verdict.lower(Level::Void, "the sum does not close");
    assert!(refused(&a, &b).contains("is VOID: the sum does not close"));

    let (a, mut b) = two();
    b.record.state = State::Interrupted;
    b.record.verdict.lower(Level::Degraded, "late");
    let comparison = compared(&a, &b);
    let cautions = comparison.cautions.join("\n");
    assert!(cautions.contains("ended early") && cautions.contains("DEGRADED"), "{cautions}");
}

#[test]
fn a_run_is_not_compared_with_itself_but_with_a_changed_copy() {
    let (a, b) = two();
    let again = Run { name: "again".into(), ..a.clone() };
    assert!(matches!(apart(&a, &again, &Wishes::default()), Err(CompareError::SameRun { .. })));
    let mut copy = b.clone();
    copy.record.id = a.record.id.clone();
    let comparison = compared(&a, &copy);
    assert!(comparison.cautions.iter().any(|caution| caution.contains("copy")), "{:?}", comparison.cautions);
}

#[test]
fn no_trial_is_nothing_and_one_has_no_interval() {
    let mut maker = Maker::new(12);
    let (a, none) = (maker.run(5, 1.0), maker.run(0, 1.0));
    assert!(refused(&a, &none).contains("no finished trial"));
    let one = maker.run(1, 1.5);
    let comparison = compared(&a, &one);
    let mean = &comparison.quantities[0];
    assert_eq!((mean.outcome, mean.change.interval), (Outcome::CannotTell, None));
    assert!(mean.note.as_ref().unwrap().contains("one trial of B"), "{:?}", mean.note);
}

#[test]
fn zero_and_below_have_a_difference_and_no_ratio() {
    let mut maker = Maker::new(13);
    let (mut a, b) = (maker.run(5, 1.0), maker.run(5, 1.0));
    stack(&mut a).trials[2].paths[0].total.mean_ns = -3.0;
    let comparison = compared(&a, &b);
    let mean = comparison.quantities.iter().find(|q| q.name == "tx.mean").unwrap();
    assert_eq!(serde_json::to_value(mean.change.scale).unwrap(), "difference");
    assert!(mean.note.as_ref().unwrap().contains("no ratio"));
}

#[test]
fn values_without_spread_tell_nothing() {
    let (mut a, mut b) = two();
    for (run, value) in [(&mut a, 100), (&mut b, 120)] {
        for trial in &mut stack(run).trials {
            trial.paths[0].total.p99_ns = value;
        }
    }
    let comparison = compared(&a, &b);
    let of = |name: &str| comparison.quantities.iter().find(|q| q.name == name).unwrap();
    assert_eq!((of("tx.p99").outcome, of("rate").outcome), (Outcome::CannotTell, Outcome::Same));
    assert!(of("tx.p99").note.as_ref().unwrap().contains("chance cannot be estimated"));
}

#[test]
fn the_surroundings_are_compared_setting_by_setting() {
    let (a, mut b) = two();
    b.record.tool = "netfathom 9.9".into();
    let around = &mut b.record.environment;
    around.kernel = "7.0".into();
    around.host = Some("other".into());
    let settings = &mut around.settings;
    settings.host.insert("net.core.rmem_max".into(), "1".into());
    settings.host.insert("net.ipv4.tcp_wmem".into(), "1 2 3".into());
    settings.host.insert("net.ipv4.ip_forward".into(), "0".into());
    let sender = settings.namespaces.get_mut("sender").unwrap();
    sender.insert("veth0.feature.tx-udp-segmentation".into(), "off".into());
    around.threads[0].cpu = 7;
    around.devices[0].mtu = 9000;
    around.mitigations.clear();
    around.clock_read_ns += 1.0;
    let comparison = compared(&a, &b);
    assert_eq!(
        differing(&comparison),
        [
            // Known to matter for this measurement.
            "devices.sender.mtu",
            "mitigations.retbleed",
            "mitigations.spectre_v2",
            "net.core.rmem_max",
            "threads.sender.cpu",
            "sender: veth0.feature.tx-udp-segmentation",
            // The rest.
            "host",
            // The lab has its own.
            "host: net.ipv4.ip_forward",
            "kernel",
            "net.ipv4.tcp_wmem",
            "tool"
        ]
    );
}

#[test]
fn another_qdisc_is_an_effect_of_a_command() {
    let (a, mut b) = two();
    assert!(!settings_differ(&a.record, &b.record));
    b.record.around = Some(Around { before: Some("true".into()), after: None });
    assert!(!settings_differ(&a.record, &b.record));
    b.record.environment.devices[0].qdisc = "tbf".into();
    assert!(settings_differ(&a.record, &b.record));
}

#[test]
fn a_setting_is_shown_with_what_it_does_where_that_matters() {
    let (mut a, mut b) = two();
    for run in [&mut a, &mut b] {
        run.record.measurement = fixture("ttcp").measurement;
        run.record.id.push_str(&run.name);
    }
    b.record.environment.settings.host.insert("net.ipv4.tcp_wmem".into(), "4096 4096 4096".into());
    let comparison = apart(&a, &b, &FORCE).unwrap();
    let line = "net.ipv4.tcp_wmem  4096 16384 4194304 \u{2192} 4096 4096 4096   (limits TCP send buffers)";
    let [text, markdown, html] = shown_as(comparison);
    assert!(text.contains(&format!("changed       {line}")), "{text}");
    assert!(text.find("changed").unwrap() < text.find("Main quantities").unwrap(), "{text}");
    assert!(markdown.contains("changed") && markdown.contains("(limits TCP send buffers)"), "{markdown}");
    assert!(html.contains("(limits TCP send buffers)"));
}

/// Two runs of cost, each with a command as its benchmark.
fn of_commands(commands: [&str; 2]) -> Comparison {
    let [a, b] = [("a", commands[0]), ("b", commands[1])].map(|(name, command)| {
        let mut record = fixture("cost");
        let Measurement::Cost(cost) = &mut record.measurement else { panic!("no cost") };
        let kind = BenchmarkKind::Command {
            command: ["sh", "-c", command].map(Into::into).to_vec(),
            marks: MarkSource::Emitted,
        };
        cost.plan.as_mut().unwrap().benchmarks = vec![Benchmark { name: "g".into(), kind }];
        record.id.push_str(name);
        Run { name: name.into(), record }
    });
    apart(&a, &b, &FORCE).unwrap()
}

#[test]
fn commands_that_differ_are_shown_as_a_shell_takes_them() {
    let short = of_commands(["gzip -1 F", "gzip -2 F"]);
    assert_eq!(differing(&short), ["benchmarks.g.kind.command"]);
    let [text, markdown, html] = shown_as(short);
    for shown in [text, markdown] {
        assert!(shown.contains("sh -c 'gzip -1 F' \u{2192} sh -c 'gzip -2 F'"), "{shown}");
    }
    assert!(!html.contains("in full"));
}

#[test]
fn commands_that_were_timed_alone_are_compared_whatever_they_are() {
    let of = |name: &str, benchmark: &str, command: &str, subject: Subject| {
        let mut record = fixture("cost-chance");
        let Measurement::Cost(cost) = &mut record.measurement else { panic!("no cost") };
        let kind = BenchmarkKind::Command { command: vec![command.into()], marks: MarkSource::Emitted };
        let plan = cost.plan.as_mut().unwrap();
        plan.benchmarks = vec![Benchmark { name: benchmark.into(), kind }];
        plan.subject = subject;
        record.id.push_str(name);
        Run { name: name.into(), record }
    };
    let nothing = |name, benchmark, command| of(name, benchmark, command, Subject::Nothing);
    let (a, b) = (nothing("a", "x", "one"), nothing("b", "y", "other"));
    let comparison = compared(&a, &b);
    assert!(!comparison.is_refused(), "{:?}", comparison.obstacles);
    let main: Vec<&str> = comparison.quantities.iter().filter(|q| q.main).map(|q| q.name.as_str()).collect();
    assert_eq!(main, ["command.time"]);
    assert!(differing(&comparison).contains(&"command"));
    // Each side is one command all the same.
    let rounds = [(a.clone(), b.clone()), (nothing("c", "x", "one"), nothing("d", "y", "another"))];
    assert!(pairs(&rounds, &Wishes::default()).unwrap().is_refused());
    // Beside a program they are what it slows: it must be the same.
    let beside = |name, command| of(name, "x", command, Subject::Command { argv: vec!["p".into()] });
    assert!(compared(&beside("a", "one"), &beside("b", "other")).is_refused());
}

#[test]
fn long_commands_are_cut_around_what_differs() {
    let long = |file: &str, level: u8| format!("cd {}; gzip -{level} {file}", "x/".repeat(50));
    let [a, b] = [long("F", 1), long("F", 2)];
    let [text, _, html] = shown_as(of_commands([&a, &b]));
    assert!(text.contains("\u{2026}/x/x/x/; gzip -1 F' \u{2192} \u{2026}/x/x/x/; gzip -2 F'"), "{text}");
    assert!(!text.contains(&a) && html.contains(&a) && html.contains("in full"), "{text}");
    let [a, b] = ["1", "2"].map(|first| format!("{first}{}", long("F", 1)));
    let [text, ..] = shown_as(of_commands([&a, &b]));
    assert!(text.contains("sh -c '1cd x/x/") && text.contains("sh -c '2cd"), "{text}");
    assert!(!text.contains("gzip"), "{text}");
}

#[test]
fn what_a_record_lacks_is_not_called_equal() {
    let (mut a, mut b) = two();
    let settings = &mut b.record.environment.settings;
    settings.host.remove("nftables.rules");
    settings.not_recorded.insert("nftables.rules".into(), "Operation not permitted".into());
    settings.not_recorded.insert("sender: veth0.feature.".into(), "no".into());
    settings.namespaces.get_mut("sender").unwrap().remove("veth0.feature.tx-udp-segmentation");
    let comparison = compared(&a, &b);
    assert!(comparison.differences.is_empty(), "{:?}", comparison.differences);
    let shown: Vec<String> =
        comparison.not_compared.iter().map(|missing| format!("{}: {}", missing.what, missing.why)).collect();
    assert_eq!(
        shown,
        [
            "nftables.rules: not recorded in B (Operation not permitted)",
            "sender: veth0.feature: not recorded in B (no)"
        ]
    );
    for run in [&mut a, &mut b] {
        run.record.environment.settings = Settings::default();
    }
    for text in shown_as(compared(&a, &b)) {
        assert!(text.contains("No settings were compared"), "{text}");
    }
}

#[test]
fn of_pairs_the_difference_is_what_they_are_for_but_each_side_is_one_thing() {
    let mut maker = Maker::new(14);
    let mut made: Vec<(Run, Run)> = (0..4).map(|_| (maker.run(3, 1.0), maker.run(3, 1.0))).collect();
    let larger = |run: &mut Run, size: usize| stack(run).plan.size_bytes = size;
    made.iter_mut().for_each(|pair| larger(&mut pair.1, 1000));
    assert!(!pairs(&made, &Wishes::default()).unwrap().is_refused());
    larger(&mut made[2].1, 500);
    assert!(pairs(&made, &Wishes::default()).unwrap().is_refused());
    larger(&mut made[2].1, 1000);
    made[1].0.record.verdict.lower(Level::Void, "gap");
    let comparison = pairs(&made, &Wishes::default()).unwrap();
    assert!(comparison.cautions.iter().any(|caution| caution.contains("left out")));
    assert_eq!(comparison.quantities[0].a.len(), 3);
}

#[test]
fn a_pair_counts_for_what_both_of_its_runs_vouch_for() {
    let mut maker = Maker::new(16);
    let mut made: Vec<(Run, Run)> = (0..4).map(|_| (maker.run(3, 1.0), maker.run(3, 1.0))).collect();
    made.iter_mut().flat_map(|(a, b)| [a, b]).for_each(|run| run.record.verdict = Verdict::default());
    let late = |run: &mut Run| run.record.verdict.lower_only(&[Part::Rx], Level::Void, "late");
    late(&mut made[1].0);
    let comparison = pairs(&made, &Wishes::default()).unwrap();
    let of = |name: &str| comparison.quantities.iter().find(|q| q.name == name).unwrap();
    assert_eq!([of("tx.mean").a.len(), of("rx.mean").a.len(), of("rx.mean").b.len()], [4, 3, 3]);
    assert_eq!(of("rx.mean").note.as_deref(), Some("3 of 4 pairs: VOID in 1 run of A and 0 of B"));
    let without = "VOID in rx, so the answer is without rx.mean, rx.p99";
    assert!(comparison.cautions.iter().any(|caution| caution.contains(without)), "{:?}", comparison.cautions);
    late(&mut made[2].1);
    late(&mut made[3].1);
    let comparison = pairs(&made, &Wishes::default()).unwrap();
    let has = |name: &str| comparison.quantities.iter().any(|q| q.name == name);
    assert_eq!((has("tx.mean"), has("rx.mean"), comparison.withheld["rx.mean"].void), (true, false, 3));
}

#[test]
fn losses_of_a_late_load_are_compared_and_its_rate_is_not() {
    let run = |id: &str, about: &[Part]| {
        let mut record = fixture("load");
        record.id = format!("20261121T031400Z-load-{id}");
        record.verdict.lower_only(about, Level::Void, "late");
        Run { name: id.into(), record }
    };
    let (a, b) = (run("000001", &[Part::Load]), run("000002", &[Part::Load]));
    let comparison = compared(&a, &b);
    let has = |name: &str| comparison.quantities.iter().any(|q| q.name == name);
    assert_eq!(["lost", "missed", "lag.p99", "rate"].map(has), [true, true, true, false]);
    assert!(comparison.withheld.contains_key("rate"), "{:?}", comparison.withheld);
    let caution = "A and B are VOID in load, so the answer is without rate";
    assert!(comparison.cautions.iter().any(|text| text.starts_with(caution)), "{:?}", comparison.cautions);
    assert!(refused(&a, &run("000003", &[])).contains("B is VOID: late"));
}

#[test]
fn of_pairs_a_void_run_counts_where_that_is_forced() {
    let mut maker = Maker::new(17);
    let mut made: Vec<(Run, Run)> = (0..3).map(|_| (maker.run(3, 1.0), maker.run(3, 1.0))).collect();
    made[1].0.record.verdict.lower(Level::Void, "late");
    let counted = |wishes: &Wishes| {
        let comparison = pairs(&made, wishes).unwrap();
        (comparison.quantities[0].a.len(), comparison.obstacles)
    };
    assert_eq!(counted(&Wishes::default()), (2, Vec::new()));
    let (runs, obstacles) = counted(&FORCE);
    assert!(runs == 3 && obstacles[0].starts_with("1 of 3 pairs should be left out"), "{runs} {obstacles:?}");
}

#[test]
fn a_pair_without_a_quantity_leaves_the_others_compared() {
    for lacking in 0..4 {
        let mut maker = Maker::new(17);
        let mut made: Vec<(Run, Run)> = (0..4).map(|_| (maker.run(3, 1.0), maker.run(3, 1.0))).collect();
        made.iter_mut().flat_map(|(a, b)| [a, b]).for_each(|run| run.record.verdict = Verdict::default());
        let (a, _) = &mut made[lacking];
        stack(a).trials.clear();
        a.record.verdict.lower(Level::Void, "nothing");
        let comparison = pairs(&made, &FORCE).unwrap();
        let tx = comparison.quantities.iter().find(|q| q.name == "tx.mean").unwrap();
        let counted: Vec<usize> = (1..=4).filter(|round| *round != lacking + 1).collect();
        assert_eq!((tx.rounds.as_ref(), tx.level), (Some(&counted), Level::Valid));
        assert_eq!(tx.note.as_deref(), Some("3 of 4 pairs: missing in 1 run of A and 0 of B"));
        assert!(comparison.only_a.is_empty() && comparison.only_b.is_empty(), "{:?}", comparison.only_b);
    }
}

#[test]
fn what_one_pair_alone_has_is_of_both_sides() {
    let mut maker = Maker::new(18);
    let mut made: Vec<(Run, Run)> = (0..4).map(|_| (maker.run(3, 1.0), maker.run(3, 1.0))).collect();
    made.iter_mut().flat_map(|(a, b)| [a, b]).for_each(|run| run.record.verdict = Verdict::default());
    for (a, _) in &mut made[1..] {
        let trials = &mut stack(a).trials;
        trials.iter_mut().for_each(|trial| trial.paths.retain(|path| path.direction == Direction::Tx));
    }
    let comparison = pairs(&made, &Wishes::default()).unwrap();
    let tested = gates(&comparison, &["rx.mean>5%".parse().unwrap()]).unwrap();
    assert_eq!(tested.gates[0].passage, Passage::NotTested);
    assert!(tested.gates[0].why.as_ref().is_some_and(|why| why.ends_with(": more --rounds")), "{tested:?}");
    let [text, ..] = shown_as(comparison);
    assert!(
        text.contains("fewer than two pairs have both values of") && !text.contains("only A has"),
        "{text}"
    );
}

#[test]
fn what_is_void_in_part_is_compared_where_that_is_forced() {
    let (a, mut b) = two();
    b.record.verdict.lower_value(Part::Rx, Value::P99, Level::Void, "wide");
    b.record.verdict.level = Level::Valid;
    let has_p99 = |comparison: &Comparison| comparison.quantities.iter().any(|q| q.name == "rx.p99");
    assert!(!has_p99(&compared(&a, &b)));
    let forced = apart(&a, &b, &FORCE).unwrap();
    assert!(has_p99(&forced) && forced.withheld.is_empty(), "{:?}", forced.withheld);
    assert!(
        forced.obstacles.iter().any(|o| o.ends_with("has its rx p99 VOID: wide")),
        "{:?}",
        forced.obstacles
    );
    assert!(!forced.cautions.iter().any(|caution| caution.contains("not compared")), "{:?}", forced.cautions);
}

#[test]
fn a_quantity_that_is_trusted_less_than_others_is_marked() {
    let (mut a, mut b) = two();
    a.record.verdict = Verdict::default();
    b.record.verdict = Verdict::default();
    assert!(shown_as(compared(&a, &b)).iter().all(|shown| !shown.contains("(DEGRADED)")));
    b.record.verdict.lower_value(Part::Rx, Value::P99, Level::Degraded, "wide");
    b.record.verdict.level = Level::Valid;
    let comparison = compared(&a, &b);
    let degraded = comparison.quantities.iter().filter(|q| q.level == Level::Degraded);
    assert_eq!(degraded.map(|q| q.name.as_str()).collect::<Vec<_>>(), ["rx.p99"]);
    let less = "B is VALID, but DEGRADED in rx p99, which lowers the trust in rx.p99";
    assert!(comparison.cautions.iter().any(|caution| caution == less), "{:?}", comparison.cautions);
    assert!(shown_as(comparison).iter().all(|shown| shown.contains("(DEGRADED)")));
    // What is VOID is not shown as found.
    b.record.verdict.lower_value(Part::Rx, Value::P99, Level::Void, "wider");
    let comparison = compared(&a, &b);
    assert!(comparison.withheld.contains_key("rx.p99") && comparison.only_a.is_empty());
    let names: Vec<&str> = comparison.quantities.iter().map(|q| q.name.as_str()).collect();
    assert!(names.contains(&"rx.mean") && !names.contains(&"rx.p99"), "{names:?}");
}

#[test]
fn of_pairs_a_difference_of_any_is_shown_once() {
    let mut maker = Maker::new(15);
    let mut made: Vec<(Run, Run)> = (0..4).map(|_| (maker.run(3, 1.0), maker.run(3, 1.0))).collect();
    for (_, b) in &mut made {
        b.record.environment.kernel = "7.0".into();
    }
    for (_, b) in &mut made[2..] {
        b.record.environment.cpus = 99;
        stack(b).plan.trials = 50;
    }
    let comparison = pairs(&made, &Wishes::default()).unwrap();
    let shown = |comparison: &Comparison, what: &str| {
        let of: Vec<_> = comparison.differences.iter().filter(|d| d.what == what).collect();
        (of.len(), of.first().and_then(|d| d.in_pairs()))
    };
    assert_eq!(shown(&comparison, "kernel"), (1, None));
    for what in ["cpus", "trials"] {
        assert_eq!(shown(&comparison, what), (1, Some("in 2 of 4 pairs".into())), "{what}");
    }
    for (_, b) in &mut made {
        stack(b).plan.inserted_delay = Some(InsertedDelay { direction: Direction::Tx, delay_ns: 5000 });
    }
    let with_delay = pairs(&made, &Wishes::default()).unwrap();
    let delay: Vec<_> =
        with_delay.differences.iter().filter(|d| d.what.starts_with("inserted_delay")).collect();
    let delay: Vec<_> = delay.iter().map(|d| (d.what.as_str(), d.a.as_str(), d.b.as_str())).collect();
    let each =
        [("inserted_delay.delay_ns", "not set", "5000"), ("inserted_delay.direction", "not set", "tx")];
    assert_eq!(delay, each);
    made[3].1.record.environment.cpus = 98;
    assert_eq!(
        shown(&pairs(&made, &Wishes::default()).unwrap(), "cpus"),
        (2, Some("in 1 of 4 pairs".into()))
    );
    for text in shown_as(comparison) {
        assert!(text.contains("in 2 of 4 pairs"), "{text}");
    }
}

#[test]
fn every_kind_of_record_is_compared_with_a_changed_copy() {
    for name in ALL {
        let record = fixture(name);
        let a = Run { name: name.into(), record: record.clone() };
        let mut other = record;
        other.id.push('2');
        let b = Run { name: "copy".into(), record: other };
        let comparison = apart(&a, &b, &FORCE).unwrap();
        assert_eq!(comparison.quantities.len(), quantity::of(&a.record.measurement).len(), "{name}");
        assert!(
            comparison.obstacles.iter().all(|o| !o.contains("differ")),
            "{name}: {:?}",
            comparison.obstacles
        );
        let shown = |o| matches!(o, Outcome::Better | Outcome::Worse);
        assert!(!comparison.quantities.iter().any(|quantity| shown(quantity.outcome)), "{name}");
    }
}
