//! Thresholds.

use netfathom_model::path::Direction;
use netfathom_model::record::Measurement;
use netfathom_model::verdict::{Level, Part};
use netfathom_results::compare::{
    Comparison, Design, Gates, Passage, Run, Scale, Threshold, ThresholdError, Wishes, Withheld, apart,
    gates, pairs, testable,
};

use crate::fixtures::fixture;
use crate::simulated::Maker;

fn passage(factor: f64, threshold: &str) -> Passage {
    let mut maker = Maker::new(7);
    let (a, b) = (maker.run(10, 1.0), maker.run(10, factor));
    let threshold: Threshold = threshold.parse().unwrap();
    gates(&apart(&a, &b, &Wishes::default()).unwrap(), &[threshold]).unwrap().gates[0].passage
}

#[test]
fn a_change_is_beyond_within_or_untold() {
    assert_eq!(passage(1.3, "tx.mean>5%"), Passage::Beyond);
    assert_eq!(passage(1.3, "tx.mean>100ns"), Passage::Beyond);
    assert_eq!(passage(1.3, "tx.mean > 80 %"), Passage::Within);
    assert_eq!(passage(1.3, "tx.mean>1ms"), Passage::Within);
    assert_eq!(passage(1.3, "tx.mean<-5%"), Passage::Within);
    assert_eq!(passage(0.7, "tx.mean<-5%"), Passage::Beyond);
    assert_eq!(passage(1.0, "tx.mean>20%"), Passage::Within);
    assert_eq!(passage(1.0, "tx.mean>0.1%"), Passage::CannotTell);
    // Significant, but neither surely below what is a little more nor surely beyond what is a little less.
    assert_eq!(passage(1.29, "tx.mean>31%"), Passage::CannotTell);
    assert_eq!(passage(1.3, "tx.mean>29%"), Passage::CannotTell);
    // Both directions: a rate that is the same in all trials.
    assert_eq!(passage(1.3, "rate<-3%"), Passage::Within);
}

#[test]
fn the_end_of_a_name_will_do_where_one_main_quantity_has_it() {
    let mut maker = Maker::new(7);
    let run = |factor: f64, maker: &mut Maker| maker.run(10, factor);
    let (a, b) = (run(1.0, &mut maker), run(1.3, &mut maker));
    let comparison = apart(&a, &b, &Wishes::default()).unwrap();
    let of = |text: &str| gates(&comparison, &[text.parse().unwrap()]);
    let ambiguous = of("mean>5%").unwrap_err().to_string();
    assert!(ambiguous.ends_with("; these end with it: rx.mean, tx.mean"), "{ambiguous}");
    let of_one_is = |comparison: &Comparison, name: &str| {
        gates(comparison, &["mean>5%".parse().unwrap()]).unwrap().gates[0].quantity == name
    };
    let mut of_one = comparison.clone();
    of_one.quantities.iter_mut().filter(|q| q.name == "rx.mean").for_each(|q| q.main = false);
    let found = gates(&of_one, &["mean>5%".parse().unwrap()]).unwrap();
    assert_eq!((found.gates[0].quantity.as_str(), found.gates[0].passage), ("tx.mean", Passage::Beyond));
    // One that is left out for its VOID runs is not replaced by another.
    of_one.withheld.insert("rx.mean".into(), Withheld { void: 1, main: false });
    assert!(of_one_is(&of_one, "tx.mean"));
    of_one.withheld.insert("rx.mean".into(), Withheld { void: 1, main: true });
    assert!(gates(&of_one, &["mean>5%".parse().unwrap()]).is_err());
    of_one.withheld.clear();
    let mut undisturbed = of_one.quantities.iter().find(|q| q.name == "tx.mean").unwrap().clone();
    undisturbed.name = "tx.undisturbed.mean".into();
    of_one.quantities.push(undisturbed);
    assert!(of_one_is(&of_one, "tx.mean"));
    of_one.quantities.retain(|q| q.name != "tx.mean");
    assert!(of_one_is(&of_one, "tx.undisturbed.mean"));
    // A whole name is no end of another.
    assert_eq!(of("rate<-3%").unwrap().gates[0].quantity, "rate");
    assert!(of("ean>5%").is_err());
}

/// As many rounds again, each with the values of one before.
fn repeated(rounds: &[(Run, Run)], times: usize) -> Vec<(Run, Run)> {
    let again = |run: &Run, of: usize| {
        let mut run = run.clone();
        run.record.id = format!("{}{of:02x}", run.record.id);
        run.name.clone_from(&run.record.id);
        run
    };
    (0..times).flat_map(|of| rounds.iter().map(move |(a, b)| (again(a, of), again(b, of)))).collect()
}

#[test]
fn as_many_rounds_as_an_inconclusive_threshold_asks_for_decide_it() {
    let mut maker = Maker::new(13);
    // One trial a run, so that rounds differ by the spread of trials.
    let rounds: Vec<(Run, Run)> = (0..8).map(|_| (maker.run(1, 1.0), maker.run(1, 1.02))).collect();
    let gate = |rounds: &[(Run, Run)], threshold: &str| {
        let comparison = pairs(rounds, &Wishes::default()).unwrap();
        gates(&comparison, &[threshold.parse().unwrap()]).unwrap().gates.remove(0)
    };
    // Of the last the change is beyond.
    for (threshold, then) in [
        ("tx.mean>5%", Passage::Within),
        ("tx.mean>100ns", Passage::Within),
        ("tx.mean>0.5%", Passage::Beyond),
    ] {
        let now = gate(&rounds, threshold);
        assert_eq!(now.passage, Passage::CannotTell, "{threshold}");
        let needed = now.pairs_needed.expect(threshold);
        assert_eq!(gate(&repeated(&rounds, needed.div_ceil(8)), threshold).passage, then, "{threshold}");
        // Beside others an interval is wider.
        let comparison = pairs(&rounds, &Wishes::default()).unwrap();
        let all = [threshold, "tx.p99>90%", "rx.mean>90%", "rx.p99>90%"].map(|text| text.parse().unwrap());
        let beside = gates(&comparison, &all).unwrap().gates[0].pairs_needed.unwrap();
        assert!(
            if then == Passage::Beyond { beside > needed } else { beside == needed },
            "{beside} {needed}"
        );
        // Without the margin for the power it is about half as many, and never a quarter.
        let fewer = gate(&repeated(&rounds, needed / 32), threshold);
        assert_eq!(fewer.passage, Passage::CannotTell, "{threshold}");
    }
}

/// A small A that differs much makes the ratio wide, and the difference not.
#[test]
fn a_limit_in_a_unit_is_decided_by_differences() {
    let mut maker = Maker::new(9);
    let a = [20e3, 70e3, 35e3, 28e3, 60e3, 40e3];
    let by = [1.43e6, 1.38e6, 1.41e6, 1.24e6, 1.29e6, 1.56e6];
    let rounds: Vec<_> = a.into_iter().zip(by).map(|(a, by)| (maker.of(a), maker.of(a + by))).collect();
    let comparison = pairs(&rounds, &Wishes::default()).unwrap();
    let gate = |text: &str| gates(&comparison, &[text.parse().unwrap()]).unwrap().gates.remove(0);
    let in_unit = gate("tx.mean>900us");
    let (change, interval) = (in_unit.change.unwrap(), in_unit.interval.unwrap());
    // The mean with 4.032 standard errors, t(0.995, 5) of the tables.
    for (value, expected) in [(change.value, 1.385e6), (interval.low, 1.2e6), (interval.high, 1.57e6)] {
        assert!((value - expected).abs() < 1e3, "{in_unit:?}");
    }
    assert_eq!((in_unit.passage, change.scale), (Passage::Beyond, Scale::Difference));
    // The ratio is 37, and its 99 % interval 17 to 80.
    let outcomes = ["1.3ms", "2ms", "2000%"].map(|limit| gate(&format!("tx.mean>{limit}")).passage);
    assert_eq!(outcomes, [Passage::CannotTell, Passage::Within, Passage::CannotTell]);
}

#[test]
fn differences_without_a_spread_decide_nothing() {
    let mut maker = Maker::new(9);
    let mut comparison = apart(&maker.run(10, 1.0), &maker.run(10, 1.3), &Wishes::default()).unwrap();
    comparison.design = Design::Pairs;
    let mean = comparison.quantities.iter_mut().find(|q| q.name == "tx.mean").unwrap();
    mean.a = (1..=10).map(f64::from).collect();
    mean.b = mean.a.iter().map(|value| value + 512.0).collect();
    mean.note = Some("10 of 11 pairs".into());
    let same = gates(&comparison, &["tx.mean>100ns".parse().unwrap()]).unwrap();
    assert_eq!((same.gates[0].passage, same.together), (Passage::NotTested, 0));
    assert!(same.gates[0].why.as_ref().is_some_and(|why| why.contains("chance")), "{same:?}");
}

#[test]
fn nonsense_is_refused_with_what_would_be_right() {
    let message = |text: &str| text.parse::<Threshold>().unwrap_err().to_string();
    for (text, why) in [
        ("", "neither > nor <"),
        ("tx.mean", "neither > nor <"),
        (">5%", "no quantity before"),
        ("tx.mean>", "no change behind"),
        ("tx.mean>=5%", "only > and <"),
        ("tx.mean>five", "no number"),
        ("tx.mean>nan", "no number"),
        ("tx.mean>inf%", "finite"),
        ("tx.mean>1e999%", "finite"),
        ("tx.mean>--5%", "no number"),
        ("tx.mean<5%", "nothing has changed"),
        ("tx.mean>-5%", "nothing has changed"),
    ] {
        let message = message(text);
        assert!(message.contains(why) && message.contains("'tx.mean>5%'"), "{text}: {message}");
    }
}

#[test]
fn a_quantity_that_is_not_there_names_those_that_are_near() {
    let mut maker = Maker::new(8);
    let (a, b) = (maker.run(3, 1.0), maker.run(3, 1.0));
    let comparison = apart(&a, &b, &Wishes::default()).unwrap();
    let message = |text: &str| gates(&comparison, &[text.parse().unwrap()]).unwrap_err().to_string();
    assert!(message("tx.maen>5%").contains("did you mean tx.mean"), "{}", message("tx.maen>5%"));
    assert!(message("tx.mean>5").contains("counted in time"), "{}", message("tx.mean>5"));
    assert!(message("rate>5ms").contains("things a second"), "{}", message("rate>5ms"));
}

#[test]
fn what_one_trial_shows_is_not_decided() {
    let mut maker = Maker::new(9);
    let (a, b) = (maker.run(1, 1.0), maker.run(1, 9.0));
    let comparison = apart(&a, &b, &Wishes::default()).unwrap();
    let gates = gates(&comparison, &["tx.mean>5%".parse().unwrap()]).unwrap();
    assert_eq!(gates.gates[0].passage, Passage::NotTested);
    assert!(gates.gates[0].why.as_ref().is_some_and(|why| why.contains("trial")), "{gates:?}");
    assert!(!gates.are_tested());
}

#[test]
fn three_rounds_decide_no_threshold_and_four_do() {
    let passage = |rounds: usize, factor| {
        let mut maker = Maker::new(9);
        let made: Vec<(Run, Run)> = (0..rounds).map(|_| (maker.run(3, 1.0), maker.run(3, factor))).collect();
        let comparison = pairs(&made, &Wishes::default()).unwrap();
        gates(&comparison, &["tx.mean>5%".parse().unwrap()]).unwrap()
    };
    let few = passage(3, 1.08);
    assert_eq!((few.gates[0].passage, few.are_tested()), (Passage::NotTested, false), "{few:?}");
    assert!(few.gates[0].why.as_ref().is_some_and(|why| why.starts_with("only 3 of 4 rounds")), "{few:?}");
    assert_eq!(passage(4, 9.0).gates[0].passage, Passage::Beyond);
}

/// The run of the other side may be VOID.
#[test]
fn a_quantity_of_one_side_is_no_mistake_in_the_threshold() {
    let mut maker = Maker::new(9);
    let (a, b) = (maker.run(3, 1.0), maker.run(3, 1.0));
    let mut comparison = apart(&a, &b, &Wishes::default()).unwrap();
    comparison.only_b.push("tx.extra".into());
    let wrong = |text: &str| gates(&comparison, &[text.parse().unwrap()]).unwrap_err();
    assert!(matches!(wrong("tx.extra>5%"), ThresholdError::OneSided { side: "B", .. }));
    assert!(matches!(wrong("tx.none>5%"), ThresholdError::Unknown { .. }));
}

#[test]
fn what_a_first_run_has_by_chance_ends_no_comparison() {
    let mut maker = Maker::new(9);
    let (mut a, b) = (maker.run(3, 1.0), maker.run(3, 1.0));
    let tested = |a: &Run, b: Option<&Run>, text: &str| testable(a, b, &[text.parse().unwrap()]);
    for b in [None, Some(&b)] {
        assert!(tested(&a, b, "tx.undisturbed.none>5%").is_err() && tested(&a, b, "tx.none>5%").is_err());
        // There is a tx.mean.
        assert!(tested(&a, b, "tx.undisturbed.mean>5%").is_ok() && tested(&a, b, "tx.mean>5%").is_ok());
        // Both have a mean.
        assert!(tested(&a, b, "undisturbed.mean>5%").is_ok() && tested(&a, b, "mean>5%").is_err());
    }
    // A plan to send alone has nothing to receive, in any run.
    let mut sent = a.clone();
    let Measurement::Stack(stack) = &mut sent.record.measurement else { panic!("another measurement") };
    stack.trials.iter_mut().for_each(|trial| trial.paths.retain(|path| path.direction == Direction::Tx));
    assert!(
        tested(&sent, None, "rx.mean>5%").is_err() && tested(&sent, None, "tx.undisturbed.mean>5%").is_ok()
    );
    a.record.verdict.lower(Level::Void, "late");
    assert!(tested(&a, None, "tx.none>5%").is_ok() && tested(&a, Some(&b), "tx.none>5%").is_ok());
}

/// An uneven load says nothing against the time to send.
#[test]
fn a_threshold_of_what_runs_do_not_vouch_for_is_not_decided() {
    let mut maker = Maker::new(9);
    let (mut a, mut b) = (maker.run(10, 1.0), maker.run(10, 1.0));
    for run in [&mut a, &mut b] {
        run.record.verdict.lower_only(&[Part::Rx], Level::Void, "the load was uneven");
    }
    let comparison = apart(&a, &b, &Wishes::default()).unwrap();
    let gates = gates(&comparison, &["rx.p99>5%".parse().unwrap(), "tx.mean>5%".parse().unwrap()]).unwrap();
    assert_eq!(gates.gates[0].passage, Passage::NotTested);
    assert_eq!(gates.gates[0].why.as_deref(), Some("2 of 2 runs are VOID as far as rx.p99 is concerned"));
    assert_ne!(gates.gates[1].passage, Passage::NotTested);
}

#[test]
fn thresholds_are_a_family_of_their_own() {
    let shown = |comparison: &Comparison, texts: &[&str]| {
        let thresholds: Vec<Threshold> = texts.iter().map(|text| text.parse().unwrap()).collect();
        gates(comparison, &thresholds).unwrap()
    };
    let is_beyond = |gates: &Gates| gates.gates[0].passage == Passage::Beyond;
    let (alone, beside) = (["tx.mean>0.001%"], ["tx.mean>0.001%", "rx.p99>50%"]);
    // A seed with a change that is beyond its threshold alone and not with others.
    let comparison = (1..1000)
        .find_map(|seed| {
            let mut maker = Maker::new(seed);
            let (a, b) = (maker.run(10, 1.0), maker.mean_alone(10, 1.05));
            let comparison = apart(&a, &b, &Wishes::default()).unwrap();
            let [one, two] = [shown(&comparison, &alone), shown(&comparison, &beside)];
            assert!(is_beyond(&one) || !is_beyond(&two), "{one:?} {two:?}");
            (is_beyond(&one) && !is_beyond(&two)).then_some(comparison)
        })
        .expect("one of a thousand");
    // Two thresholds of one quantity ask one question.
    let same = shown(&comparison, &["tx.mean>0.001%", "tx.mean>0.002%"]);
    assert!(same.gates.iter().all(|gate| gate.passage == Passage::Beyond) && same.together == 1);
    let two = shown(&comparison, &beside);
    assert_eq!((two.gates[0].passage, two.together), (Passage::CannotTell, 2), "{two:?}");
}

#[test]
fn thresholds_of_runs_that_cannot_be_compared_are_not_decided() {
    let (a, b) = (fixture("stack"), fixture("load"));
    let run = |name: &str, record| Run { name: name.into(), record };
    let refused = apart(&run("a", a), &run("b", b), &Wishes::default()).unwrap();
    let gates = gates(&refused, &["tx.mean>5%".parse().unwrap()]).unwrap();
    assert_eq!(gates.gates[0].passage, Passage::NotTested);
    assert!(!gates.fail() && !gates.are_inconclusive());
    // One that no run can have is a mistake, and one that a quieter run may have is not.
    let of = |text: &str| netfathom_results::compare::gates(&refused, &[text.parse().unwrap()]);
    let mistake = of("tx.maen>5%").unwrap_err().to_string();
    assert!(mistake.contains("did you mean tx.mean"), "{mistake}");
    assert!(of("tx.undisturbed.mean>5%").is_ok() && of("undisturbed.none>5%").is_err());
    // So is an end that several have.
    let ambiguous = of("mean>5%").unwrap_err().to_string();
    assert!(ambiguous.contains("; these end with it: ") && ambiguous.contains("tx.mean"), "{ambiguous}");
}
