//! Every measurement has its quantities.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use netfathom_model::path::Direction;
use netfathom_model::record::{Measurement, Series, TrialKind, UndisturbedTimes, Value, WatchDrop};
use netfathom_model::verdict::{Level, Part, Verdict};
use netfathom_results::compare::{Gates, Run, Wishes, apart};
use netfathom_results::quantity::{Better, Quantity, Unit, level, of};
use netfathom_results::story;

use crate::fixtures::{ALL, fixture};

fn named<'a>(all: &'a [Quantity], name: &str) -> &'a Quantity {
    all.iter().find(|quantity| quantity.name == name).unwrap_or_else(|| panic!("{name} of {:?}", names(all)))
}

fn names(all: &[Quantity]) -> Vec<&str> {
    all.iter().map(|quantity| quantity.name.as_str()).collect()
}

#[test]
fn every_measurement_has_a_main_quantity_and_no_name_twice() {
    for name in ALL {
        let all = of(&fixture(name).measurement);
        assert!(all.first().is_some_and(|quantity| quantity.main), "{name}: {:?}", names(&all));
        assert_eq!(names(&all).into_iter().collect::<BTreeSet<_>>().len(), all.len(), "{name}");
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
        for quantity in &all {
            assert!(quantity.name.chars().all(plain), "{name}: {}", quantity.name);
            assert!(!quantity.trials.is_empty() && quantity.trials.iter().all(|v| v.is_finite()));
        }
    }
}

#[test]
fn values_are_those_of_the_trials() {
    let Measurement::Stack(stack) = fixture("stack").measurement else { panic!() };
    let measured = stack.trials.iter().filter(|t| t.kind == TrialKind::Measured);
    let means: Vec<f64> = measured.map(|t| t.paths[0].total.mean_ns).collect();
    assert_eq!(named(&of(&Measurement::Stack(stack)), "tx.mean").trials, means);

    let Measurement::Reverse(reverse) = fixture("reverse").measurement else { panic!() };
    let summary = reverse.variants[0].summary.clone().unwrap();
    let name = format!("{}.drop", reverse.variants[0].variant.name());
    let drops = named(&of(&Measurement::Reverse(reverse)), &name).trials.clone();
    assert!((drops.iter().sum::<f64>() / drops.len() as f64 - summary.drop).abs() < 1e-9);

    let Measurement::Load(load) = fixture("load").measurement else { panic!() };
    let summary = load.summary.clone().unwrap();
    let all = of(&Measurement::Load(load));
    let rates = &named(&all, "rate").trials;
    assert_eq!(rates.len(), summary.trials as usize);
    assert!((rates.iter().sum::<f64>() / rates.len() as f64 / summary.reached_per_s - 1.0).abs() < 1e-9);
}

/// A late load says nothing against times of all messages where all messages judged their direction.
#[test]
fn a_quantity_has_the_level_of_the_reasons_about_it() {
    let mut measurement = fixture("stack").measurement;
    let mut verdict = Verdict::default();
    verdict.lower_only(&[Part::Load], Level::Void, "late");
    verdict.lower_only(&[Part::Tx], Level::Degraded, "late");
    verdict.lower_value(Part::Rx, Value::P99, Level::Degraded, "wide");
    let levels = |measurement: &Measurement, names: [&str; 5]| {
        names.map(|name| level(measurement, &verdict, name).name()).join(" ")
    };
    let all = ["rate", "tx.mean", "rx.mean", "rx.p999", "rx.p99"];
    assert_eq!(levels(&measurement, all), "VOID DEGRADED VALID VALID DEGRADED");
    let Measurement::Stack(stack) = &mut measurement else { panic!() };
    for path in stack.trials.iter_mut().flat_map(|trial| &mut trial.paths) {
        path.undisturbed = Some(UndisturbedTimes {
            judged: path.total.n,
            times: path.total.clone(),
            stages: Vec::new(),
            peak: None,
            series: Series::default(),
            missed_slots: 0,
            lag_p99_of_interval: 0.0,
        });
    }
    let some =
        ["tx.mean", "tx.socket.mean", "tx.undisturbed.mean", "rx.undisturbed.mean", "rx.undisturbed.p99"];
    assert_eq!(levels(&measurement, some), "VOID VOID DEGRADED VALID DEGRADED");
}

#[test]
fn a_late_load_lowers_neither_its_losses_nor_its_lateness() {
    let measurement = fixture("load").measurement;
    let levels = |verdict: &Verdict| {
        let names = ["rate", "echo.response.p99", "lost", "missed", "lag.p99"];
        names.map(|name| level(&measurement, verdict, name).name()).join(" ")
    };
    let mut verdict = Verdict::default();
    verdict.lower_only(&[Part::Load], Level::Void, "late");
    verdict.lower_only(&[Part::Loss], Level::Degraded, "in bursts");
    assert_eq!(levels(&verdict), "VOID VOID DEGRADED VALID VALID");
    // As in records with reasons that name no part.
    verdict.lower(Level::Void, "late");
    assert_eq!(levels(&verdict), "VOID VOID VOID VOID VOID");
}

#[test]
fn a_void_row_takes_its_own_rates_alone() {
    let Measurement::Capacity(mut capacity) = fixture("capacity").measurement else { panic!() };
    capacity.rows.iter_mut().for_each(|row| row.verdict = Verdict::default());
    // Of the same engine; the name of one begins with that of the other.
    capacity.rows[1].workers = 10;
    capacity.rows[0].verdict.lower(Level::Void, "searches differ");
    let engine = capacity.rows[0].engine.name();
    let mut verdict = Verdict::default();
    verdict.lower_only(&[Part::Cells], Level::Degraded, "searches differ");
    let measurement = Measurement::Capacity(capacity);
    let of_row =
        |verdict: &Verdict, workers| level(&measurement, verdict, &format!("{engine}.{workers}.sustained"));
    assert_eq!([1, 10].map(|workers| of_row(&verdict, workers)), [Level::Void, Level::Valid]);
    assert_eq!(level(&measurement, &verdict, "inferred"), Level::Degraded);
    verdict.lower(Level::Degraded, "a row is missing");
    assert_eq!([1, 10].map(|workers| of_row(&verdict, workers)), [Level::Void, Level::Degraded]);
}

#[test]
fn a_cell_has_a_level_of_its_own() {
    let Measurement::Message(mut message) = fixture("message").measurement else { panic!() };
    message.cells[0].verdict.lower(Level::Void, "lost");
    let mut verdict = Verdict::default();
    verdict.lower_only(&[Part::Cells], Level::Degraded, "VOID in 1 cell: lost");
    let measurement = Measurement::Message(message);
    let names = ["write-nodelay.4.uu.same-cpu.rate", "two.4.uu.same-cpu.rate"];
    let levels = |verdict: &Verdict| names.map(|name| level(&measurement, verdict, name));
    assert_eq!(levels(&verdict), [Level::Void, Level::Valid]);
    // As in records without verdicts of cells.
    verdict.lower(Level::Degraded, "ended early");
    assert_eq!(levels(&verdict), [Level::Void, Level::Degraded]);
}

#[test]
fn dropped_packets_are_rates_by_reason() {
    let Measurement::Watch(mut watch) = fixture("watch").measurement else { panic!() };
    let drop = |direction, reason: &str, packets| WatchDrop { direction, reason: reason.into(), packets };
    watch.drops = vec![
        drop(Direction::Rx, "SOCKET_RCVBUFF", 600),
        drop(Direction::Tx, "QDISC_DROP", 12),
        drop(Direction::Rx, "<b>\u{1b}[31m,\n", 5),
        drop(Direction::Rx, "B [31m", 3),
    ];
    let seconds = watch.followed_ns() as f64 / 1e9;
    let all = of(&Measurement::Watch(watch));
    let all: Vec<&Quantity> = all.iter().filter(|quantity| quantity.name.starts_with("drops")).collect();
    assert!(all.iter().all(|quantity| (quantity.unit, quantity.better) == (Unit::PerSecond, Better::Less)));
    let packets = |quantity: &&Quantity| (quantity.trials[0] * seconds).round() as u64;
    assert_eq!(
        all.iter().map(|quantity| (quantity.name.as_str(), packets(quantity))).collect::<Vec<_>>(),
        [
            ("drops", 620),
            ("drops.rx.socket_rcvbuff", 600),
            ("drops.tx.qdisc_drop", 12),
            ("drops.rx.b-31m", 5),
            ("drops.rx.b-31m-2", 3),
        ]
    );
}

/// A server that answers late is why most runs of `watch` are compared.
#[test]
fn times_of_an_application_and_of_those_that_it_asks_are_main() {
    let Measurement::Watch(mut watch) = fixture("watch-both").measurement else { panic!() };
    watch.answer = watch.application.clone();
    let all = of(&Measurement::Watch(watch));
    for name in ["application.mean", "application.p99", "answer.mean", "answer.p99"] {
        assert!(named(&all, name).main, "{name}");
    }
    assert!(!named(&all, "application.p50").main);
}

#[test]
fn a_slowdown_by_blocks_is_the_one_that_the_record_tells() {
    let Measurement::Cost(cost) = fixture("cost").measurement else { panic!() };
    let shown: Vec<(f64, u32)> =
        cost.benchmarks[0].comparisons.iter().map(|c| (c.ratio.value, c.blocks)).collect();
    let all = of(&Measurement::Cost(cost));
    let ours: Vec<&Quantity> =
        all.iter().filter(|q| q.name.starts_with("tar.") && q.name.contains(".over.")).collect();
    assert_eq!(ours.len(), shown.len());
    for (quantity, (ratio, blocks)) in ours.iter().zip(shown) {
        assert_eq!(quantity.trials.len(), blocks as usize, "{}", quantity.name);
        let logs = quantity.trials.iter().map(|ratio| ratio.ln()).sum::<f64>() / f64::from(blocks);
        assert!((logs.exp() / ratio - 1.0).abs() < 1e-9, "{}", quantity.name);
    }
}

#[test]
fn the_parts_of_an_experiment_carry_its_name() {
    let all = of(&fixture("reproduce").measurement);
    assert!(named(&all, "outgoing.tx.mean").main);
    assert!(all.iter().any(|quantity| quantity.name.starts_with("incoming-load-beside-it.")));
}

#[test]
fn messages_have_the_tail_that_each_trial_saw() {
    let mut record = fixture("message");
    let Measurement::Message(message) = &mut record.measurement else { panic!("another measurement") };
    for trial in message.cells.iter_mut().flat_map(|cell| &mut cell.trials) {
        (trial.p999_ns, trial.max_ns) = (Some(30_000), Some(70_000));
    }
    let all = of(&record.measurement);
    let first = |end: &str| all.iter().find(|q| q.name.ends_with(end)).map(|q| (q.trials[0], q.main));
    assert_eq!([first(".p999"), first(".max")], [Some((30_000.0, false)), Some((70_000.0, false))]);
}

/// Of records with that many stages: each has several quantities.
fn time_to_compare(of_a: usize, of_b: usize) -> Duration {
    let [a, b] = [("a", of_a), ("b", of_b)].map(|(name, stages)| {
        let mut record = fixture("watch");
        record.id = name.into();
        let Measurement::Watch(watch) = &mut record.measurement else { panic!("another measurement") };
        let first = watch.stages.iter().find(|stage| stage.times.n > 0).expect("times").clone();
        watch.stages = vec![first; stages];
        Run { name: name.into(), record }
    });
    let since = Instant::now();
    let compared = apart(&a, &b, &Wishes { force: true }).unwrap();
    let all = compared.quantities.len() + compared.only_a.len();
    assert!(all > 4 * of_a, "{all}");
    drop(story::compare::of(&[(compared, Gates::default())]));
    since.elapsed()
}

#[test]
fn a_comparison_takes_time_by_its_quantities_and_not_by_their_square() {
    for has_few in [false, true] {
        // The shortest of three: other programs have the CPU meanwhile.
        let time = |stages| (0..3).map(|_| time_to_compare(stages, if has_few { 1 } else { stages })).min();
        let [few, many] = [500, 4000].map(|stages| time(stages).unwrap());
        // 8 times, not 64.
        assert!(many < few * 24, "{few:?} {many:?}");
    }
}
