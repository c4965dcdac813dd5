use netfathom_model::random::SplitMix64;

use super::*;

fn pair(from: usize, to: usize) -> FleetPair {
    FleetPair { from: name(from), to: name(to), ..FleetPair::default() }
}

fn name(host: usize) -> String {
    format!("c{host:02}")
}

/// Rates of all pairs of `n` hosts that scatter by a quarter, each as `change` makes it.
fn mesh(n: usize, seed: u64, change: impl Fn(usize, usize) -> f64) -> (Vec<String>, Vec<FleetPair>) {
    let mut random = SplitMix64::new(seed);
    let mut pairs = Vec::new();
    for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|(i, j)| i != j) {
        let noise = 0.5 + 0.5 * (random.next_unit() + random.next_unit());
        pairs.push(FleetPair { bytes_per_s: Some(1e9 * noise * change(i, j)), ..pair(i, j) });
    }
    ((0..n).map(name).collect(), pairs)
}

#[test]
fn a_slow_host_is_named_first_and_alone() {
    for seed in 0..20 {
        let (names, mut pairs) = mesh(24, seed, slow_rate);
        let effects = judge(&names, &mut pairs, FleetTest::Throughput);
        let named: Vec<&str> = effects.iter().filter(|e| e.named).map(|e| e.host.as_str()).collect();
        assert_eq!(named, ["c07"], "seed {seed}");
        assert!((effects[0].ratio - 0.4).abs() < 0.08 && effects[0].side == Side::Both, "{:?}", effects[0]);
    }
}

#[test]
fn no_host_is_named_if_all_are_alike() {
    for (n, seed) in (0..300).map(|seed| (2 + seed as usize % 12, seed)) {
        let (names, mut pairs) = mesh(n, seed, |_, _| 1.0);
        let effects = judge(&names, &mut pairs, FleetTest::Throughput);
        assert!(effects.iter().all(|e| !e.named), "{n} hosts, seed {seed}: {:?}", effects[0]);
    }
}

/// Round trips of a mesh in which each host has four others; each round has a factor of its own, each pair the one of `change`.
fn in_rounds(seed: u64, change: impl Fn(usize, usize) -> f64) -> (Vec<String>, Vec<FleetPair>) {
    let mut random = SplitMix64::new(seed);
    let mut pairs = Vec::new();
    for (round, meetings) in crate::schedule::rounds(24, Some(4), None, false, seed).into_iter().enumerate() {
        let of_round = 4.0 * random.next_unit() - 2.0;
        for (i, j) in meetings {
            let ns = 1e5 * change(i, j) * (of_round + 0.3 * random.next_unit()).exp();
            let mut times = netfathom_stats::Distribution::new(7);
            times.add(ns as i64);
            let round_trip = Some((&times).into());
            pairs.push(FleetPair { round: round as u32, sent: Some(1), round_trip, ..pair(i, j) });
        }
    }
    ((0..24).map(name).collect(), pairs)
}

#[test]
fn what_all_pairs_of_a_round_have_in_common_hides_no_host_and_is_no_host() {
    let slow = |i, j| if i == 7 || j == 7 { 3.0 } else { 1.0 };
    for seed in 0..20 {
        let (names, mut pairs) = in_rounds(seed, slow);
        let effects = judge(&names, &mut pairs, FleetTest::Latency);
        let named: Vec<&str> = effects.iter().filter(|e| e.named).map(|e| e.host.as_str()).collect();
        assert_eq!(named, ["c07"], "seed {seed}: {:?}", &effects[..2]);
        let (names, mut pairs) = in_rounds(seed, |_, _| 1.0);
        assert!(judge(&names, &mut pairs, FleetTest::Latency).iter().all(|e| !e.named), "seed {seed}");
    }
    // Rounds of a resumed run, in which there is the slow host alone.
    let (names, mut pairs) = mesh(24, 1, slow_rate);
    for (round, pair) in (1..).zip(pairs.iter_mut().filter(|p| p.from == name(7) || p.to == name(7))) {
        pair.round = round;
    }
    assert!(judge(&names, &mut pairs, FleetTest::Throughput)[0].named);
}

fn slow_rate(i: usize, j: usize) -> f64 {
    if i == 7 || j == 7 { 0.4 } else { 1.0 }
}

#[test]
fn the_worst_host_comes_first_and_not_the_best() {
    let odd = |i, j| {
        if i == 3 || j == 3 {
            0.01
        } else if i == 7 || j == 7 {
            1.5
        } else {
            1.0
        }
    };
    let (names, mut pairs) = in_rounds(1, odd);
    let effects = judge(&names, &mut pairs, FleetTest::Latency);
    assert_eq!((effects[0].host.as_str(), effects[23].host.as_str()), ("c07", "c03"));
}

#[test]
fn the_side_that_is_slow_is_named_and_a_slow_pair_is_no_slow_host() {
    let (names, mut pairs) = mesh(12, 1, |_, j| if j == 3 { 0.4 } else { 1.0 });
    let effects = judge(&names, &mut pairs, FleetTest::Throughput);
    assert_eq!((effects[0].host.as_str(), effects[0].side, effects[0].pairs), ("c03", Side::Receive, 11));
    let (names, mut pairs) = mesh(12, 2, |i, j| if (i, j) == (4, 5) { 0.1 } else { 1.0 });
    assert!(judge(&names, &mut pairs, FleetTest::Throughput).iter().all(|e| !e.named));
    let worst = pairs.iter().min_by(|a, b| a.residual.partial_cmp(&b.residual).unwrap()).unwrap();
    assert_eq!((worst.from.as_str(), worst.to.as_str()), ("c04", "c05"));
}

#[test]
fn one_percent_of_loss_is_found_and_single_losses_are_not() {
    let loss = |planted: bool, seed| {
        let (names, mut pairs) = mesh(16, seed, |_, _| 1.0);
        let mut random = SplitMix64::new(seed);
        pairs.retain(|pair| pair.from < pair.to);
        for pair in &mut pairs {
            let own = planted && [&pair.from, &pair.to].contains(&&name(9));
            let chance = u64::from(random.next_unit() < 0.1);
            (pair.sent, pair.lost) = (Some(1000), Some(if own { 8 + chance } else { chance }));
        }
        judge(&names, &mut pairs, FleetTest::Loss)
    };
    for seed in 0..20 {
        assert!(loss(false, seed).iter().all(|e| !e.named));
        let planted = loss(true, seed);
        assert!(planted[0].named && planted[0].host == "c09" && !planted[1].named);
    }
}

#[test]
fn a_host_that_measures_worse_by_itself_is_named() {
    let figure = |slow: f64| FleetFigure {
        name: "rx.mean".into(),
        title: String::new(),
        unit: "ns".into(),
        less: true,
        main: true,
        hosts: (0..8).map(|i| (name(i), if i == 2 { slow } else { 1000.0 + 10.0 * i as f64 })).collect(),
    };
    let effects = judge_figures(&[figure(2000.0)]);
    assert!(effects[0].named && effects[0].host == "c02" && effects[0].figure.as_deref() == Some("rx.mean"));
    // The stages of the same direction say where.
    let stage = |of: &str, of_slow| FleetFigure {
        name: format!("{of}.mean"),
        title: format!("stage {}, mean", of.split_once('.').unwrap().1),
        main: false,
        hosts: (0..8).map(|i| (name(i), if i == 2 { of_slow } else { 300.0 })).collect(),
        ..figure(1000.0)
    };
    let stages = [stage("rx.wakeup", 350.0), stage("rx.runqueue", 1200.0), stage("tx.qdisc", 9000.0)];
    let effects = judge_figures(&[&[figure(2000.0)][..], &stages].concat());
    assert_eq!(effects[0].cause.as_deref(), Some("most of it in stage runqueue"));
    // Faster is no fault, and a little slower is chance.
    assert!([500.0, 1100.0].iter().all(|&v| judge_figures(&[figure(v)]).iter().all(|e| !e.named)));
}

#[test]
fn hosts_that_scatter_by_themselves_are_not_named() {
    let mut named = Vec::new();
    for seed in 0..400 {
        let mut random = SplitMix64::new(seed);
        let hosts = 4 + seed as usize % 20;
        let figures: Vec<FleetFigure> = (0..4)
            .map(|number| FleetFigure {
                name: format!("figure.{number}"),
                title: String::new(),
                unit: "ns".into(),
                less: true,
                main: true,
                // Nearly normal, by a quarter.
                hosts: (0..hosts)
                    .map(|i| (name(i), (0.433 * (0..4).map(|_| random.next_unit() - 0.5).sum::<f64>()).exp()))
                    .collect(),
            })
            .collect();
        named.extend(judge_figures(&figures).iter().any(|e| e.named).then_some((seed, hosts)));
    }
    assert!(named.len() <= 2, "{named:?}");
}
