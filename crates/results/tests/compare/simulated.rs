//! Many simulated comparisons: how often a difference is found where there is one, and where there is none.

use std::collections::BTreeSet;

use netfathom_model::environment::Settings;
use netfathom_model::random::SplitMix64;
use netfathom_model::record::{Measurement, Record, StackResult, Trial, TrialKind};
use netfathom_results::compare::{Comparison, Outcome, Run, Threshold, Wishes, apart, gates, pairs};

use crate::fixtures::fixture;

/// What trials of one run differ among themselves, as a part.
const SPREAD: f64 = 0.03;
/// What the machine drifts from round to round.
const DRIFT: f64 = 0.2;
const TRIALS: usize = 10;
const COMPARISONS: usize = 1000;

/// Those of a machine, and of the two ends of a lab.
fn settings() -> Settings {
    let map =
        |pairs: &[(&str, &str)]| pairs.iter().map(|&(name, value)| (name.into(), value.into())).collect();
    let own = || map(&[("net.ipv4.ip_forward", "0"), ("veth0.feature.tx-udp-segmentation", "on")]);
    Settings {
        host: map(&[
            ("net.core.rmem_max", "212992"),
            ("net.ipv4.ip_forward", "1"),
            ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
            ("nftables.rules", "0"),
        ]),
        namespaces: [("sender".into(), own()), ("reader".into(), own())].into(),
        ..Settings::default()
    }
}

/// Runs without what only pictures need.
pub struct Maker {
    random: SplitMix64,
    bare: Record,
    made: u32,
}

impl Maker {
    pub fn new(seed: u64) -> Self {
        let mut bare = fixture("stack");
        bare.environment.settings = settings();
        let stack = stack(&mut bare);
        stack.summaries.clear();
        stack.cross_checks.clear();
        stack.trials.retain(|trial| trial.kind == TrialKind::Measured);
        stack.trials.truncate(1);
        for path in &mut stack.trials[0].paths {
            path.stages.clear();
            path.total.buckets.clear();
        }
        Self { random: SplitMix64::new(seed), bare, made: 0 }
    }

    /// Normal, by Box and Muller.
    fn normal(&mut self) -> f64 {
        let (a, b) = (self.random.next_unit(), self.random.next_unit());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// A run with `factor` times the usual times.
    pub fn run(&mut self, trials: usize, factor: f64) -> Run {
        self.of_factors(trials, factor, factor)
    }

    /// A run in which the mean of the first path alone is `factor` times the usual one.
    pub fn mean_alone(&mut self, trials: usize, factor: f64) -> Run {
        self.of_factors(trials, factor, 1.0)
    }

    /// A run of one trial in which the first path has that mean.
    pub fn of(&mut self, mean_ns: f64) -> Run {
        let mut run = self.run(1, 1.0);
        stack(&mut run.record).trials[0].paths[0].total.mean_ns = mean_ns;
        run
    }

    fn of_factors(&mut self, trials: usize, of_mean: f64, of_others: f64) -> Run {
        let mut record = self.bare.clone();
        self.made += 1;
        record.id = format!("20261121T031400Z-stack-{:06x}", self.made);
        let first = stack(&mut record).trials[0].clone();
        let made: Vec<Trial> = (0..trials).map(|_| self.trial(&first, of_mean, of_others)).collect();
        stack(&mut record).trials = made;
        Run { name: record.id.clone(), record }
    }

    fn trial(&mut self, like: &Trial, of_mean: f64, of_others: f64) -> Trial {
        let mut trial = like.clone();
        for (place, path) in trial.paths.iter_mut().enumerate() {
            let of_mean = if place == 0 { of_mean } else { of_others };
            let mut of = |base: f64, factor: f64| base * factor * (SPREAD * self.normal()).exp();
            path.total.mean_ns = of(2000.0, of_mean);
            path.total.p50_ns = of(1_800_000.0, of_others) as i64;
            path.total.p99_ns = of(9_000_000.0, of_others) as i64;
            path.total.p999_ns = of(30_000_000.0, of_others) as i64;
        }
        trial
    }
}

fn stack(record: &mut Record) -> &mut StackResult {
    let Measurement::Stack(stack) = &mut record.measurement else { panic!("no stack") };
    stack
}

fn shown(comparison: &Comparison) -> Vec<(bool, Outcome)> {
    assert!(!comparison.quantities.is_empty());
    comparison.quantities.iter().map(|quantity| (quantity.main, quantity.outcome)).collect()
}

fn any_change(comparison: &Comparison) -> bool {
    shown(comparison).iter().any(|&(main, o)| main && matches!(o, Outcome::Better | Outcome::Worse))
}

/// What a share of n cases is at most, but for one seed in ten thousand: the upper end of a binomial.
fn at_most(share: f64, n: usize) -> usize {
    let n = n as f64;
    (n * share + 3.8 * (n * share * (1.0 - share)).sqrt()).ceil() as usize
}

#[test]
fn equal_runs_are_false_positives_once_in_a_hundred_at_most() {
    let mut maker = Maker::new(1);
    let alarms = (0..COMPARISONS)
        .filter(|_| {
            let (a, b) = (maker.run(TRIALS, 1.0), maker.run(TRIALS, 1.0));
            any_change(&apart(&a, &b, &Wishes::default()).unwrap())
        })
        .count();
    println!("apart, equal: {alarms} false alarms in {COMPARISONS} comparisons");
    assert!(alarms <= at_most(0.01, COMPARISONS), "{alarms} of {COMPARISONS}");
}

/// Any change at all, of every main quantity: as many false positives as of the main quantities themselves.
#[test]
fn thresholds_of_equal_runs_fail_once_in_a_hundred_at_most() {
    let mut maker = Maker::new(6);
    let thresholds: Vec<Threshold> = ["tx.mean", "tx.p99", "rx.mean", "rx.p99"]
        .into_iter()
        .flat_map(|name| [format!("{name}>0%"), format!("{name}<-0%")])
        .map(|text| text.parse().unwrap())
        .collect();
    let alarms = (0..COMPARISONS)
        .filter(|_| {
            let (a, b) = (maker.run(TRIALS, 1.0), maker.run(TRIALS, 1.0));
            gates(&apart(&a, &b, &Wishes::default()).unwrap(), &thresholds).unwrap().fail()
        })
        .count();
    println!("apart, equal, thresholds: {alarms} fail in {COMPARISONS} comparisons");
    assert!(alarms <= at_most(0.01, COMPARISONS), "{alarms} of {COMPARISONS}");
}

#[test]
fn one_twentieth_more_is_found() {
    let mut maker = Maker::new(2);
    let found = (0..COMPARISONS)
        .filter(|_| {
            let (a, b) = (maker.run(TRIALS, 1.0), maker.run(TRIALS, 1.05));
            let comparison = apart(&a, &b, &Wishes::default()).unwrap();
            comparison.quantities.iter().any(|q| q.name == "tx.mean" && q.outcome == Outcome::Worse)
        })
        .count();
    println!("apart, 5 % more: found in {found} of {COMPARISONS} comparisons");
    // t = 0.05 / (0.03 sqrt(2/10)) = 3.7 against 2.9 to 3.5 after the correction.
    assert!(COMPARISONS - found <= at_most(0.5, COMPARISONS), "{found} of {COMPARISONS}");
    let clear = (0..100).filter(|_| {
        let (a, b) = (maker.run(TRIALS, 1.0), maker.run(TRIALS, 1.1));
        any_change(&apart(&a, &b, &Wishes::default()).unwrap())
    });
    assert!(clear.count() >= 99);
}

#[test]
fn the_smallest_change_that_is_named_is_found_four_times_in_five() {
    let mut maker = Maker::new(3);
    let mut sum = 0.0;
    for _ in 0..100 {
        let (a, b) = (maker.run(TRIALS, 1.0), maker.run(TRIALS, 1.0));
        let comparison = apart(&a, &b, &Wishes::default()).unwrap();
        sum += comparison.quantities.iter().find(|q| q.name == "tx.mean").unwrap().smallest.unwrap();
    }
    let smallest = sum / 100.0;
    let found = (0..COMPARISONS)
        .filter(|_| {
            let (a, b) = (maker.run(TRIALS, 1.0), maker.mean_alone(TRIALS, 1.0 + smallest));
            let comparison = apart(&a, &b, &Wishes::default()).unwrap();
            comparison.quantities.iter().any(|q| q.name == "tx.mean" && q.outcome == Outcome::Worse)
        })
        .count();
    println!("apart, {:.1} % more, the smallest: found in {found} of {COMPARISONS}", 100.0 * smallest);
    assert!((720..=880).contains(&found), "{found} of {COMPARISONS}");
}

/// Rounds on a machine that is now fast, now slow.
fn rounds(maker: &mut Maker, n: usize, factor: f64) -> Vec<(Run, Run)> {
    (0..n)
        .map(|_| {
            let drift = (DRIFT * maker.normal()).exp();
            (maker.run(3, drift), maker.run(3, drift * factor))
        })
        .collect()
}

#[test]
fn pairs_find_what_the_drift_of_the_machine_hides() {
    let mut maker = Maker::new(4);
    let changes_of = |maker: &mut Maker, factor: f64| {
        let cases = (0..COMPARISONS / 2).map(|_| rounds(maker, 8, factor));
        cases.filter(|made| any_change(&pairs(made, &Wishes::default()).unwrap())).count()
    };
    let (alarms, found) = (changes_of(&mut maker, 1.0), changes_of(&mut maker, 1.05));
    println!("pairs: {alarms} false alarms, 5 % found {found} times, in {} each", COMPARISONS / 2);
    assert!(alarms <= at_most(0.01, COMPARISONS / 2), "{alarms}");
    assert!(found >= COMPARISONS * 9 / 20, "{found} of {}", COMPARISONS / 2);
    // One pair has no interval.
    let alone = rounds(&mut maker, 1, 1.05).remove(0);
    let comparison = pairs(&[alone], &Wishes::default()).unwrap();
    assert!(comparison.is_refused(), "{:?}", comparison.obstacles);
}

/// From far below the edge of significance to far above it, with some quantities changed and others not.
#[test]
fn the_interval_that_is_shown_decides() {
    let mut maker = Maker::new(7);
    let mut outcomes = BTreeSet::new();
    for step in 0..200 {
        let by = 1.0 + f64::from(step) * 5e-4;
        let (a, b) = (maker.run(TRIALS, 1.0), maker.run(TRIALS, by));
        let alone = maker.mean_alone(TRIALS, by);
        let rounds = rounds(&mut maker, 8, by);
        for comparison in [
            apart(&a, &b, &Wishes::default()).unwrap(),
            apart(&a, &alone, &Wishes::default()).unwrap(),
            pairs(&rounds, &Wishes::default()).unwrap(),
        ] {
            for quantity in comparison.quantities.iter().filter(|q| q.chance.is_some()) {
                let (low, high) = quantity.change.decided.unwrap();
                let found = matches!(quantity.outcome, Outcome::Better | Outcome::Worse);
                assert_eq!(found, low > 1.0 || high < 1.0, "{by} {}: {low} {high}", quantity.name);
                outcomes.insert(found);
            }
        }
    }
    assert_eq!(outcomes.len(), 2, "steps on both sides of the edge");
}

#[test]
fn better_and_worse_follow_the_quantity() {
    let mut maker = Maker::new(5);
    let (slow, fast) = (maker.run(TRIALS, 1.5), maker.run(TRIALS, 1.0));
    let outcome = |a: &Run, b: &Run| {
        let comparison = apart(a, b, &Wishes::default()).unwrap();
        let of = comparison.quantities.into_iter().find(|q| q.name == "tx.mean").unwrap();
        (of.outcome, of.change.value)
    };
    let (better, down) = outcome(&slow, &fast);
    let (worse, up) = outcome(&fast, &slow);
    assert_eq!((better, worse), (Outcome::Better, Outcome::Worse));
    assert!((up * down - 1.0).abs() < 1e-9 && (1.4..1.6).contains(&up));
}
