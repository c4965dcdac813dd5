//! Each claim with figures that say yes, that say no, and that say nothing.

use super::super::fixture::{CellTimes, result};
use super::super::ours::sockets;
use super::*;

/// µs a message of a layer at a size, in the middle of three rounds.
type Times = fn(&str, u64) -> f64;

/// The trials of a round are all slower or all faster.
const ROUNDS: [f64; 3] = [1.0, 1.2, 0.9];

fn made(test: MessageTest, times: Times, noise: f64, cpu: fn(&str) -> f64) -> Vec<Claim> {
    let layers = [Strategy::Zccl, Strategy::Inline, Strategy::Adaptive].map(library);
    let layers: Vec<Layer> = [sockets()].into_iter().chain(layers).collect();
    let made = result(test, &layers, |cell| {
        let name = cell.layer.to_string();
        // What is noise of its own is no noise of the round.
        let own = if name == "zccl" { [1.0, 1.0 + noise, 1.0 / (1.0 + noise)] } else { [1.0; 3] };
        let us: Vec<f64> = ROUNDS.iter().zip(own).map(|(r, n)| r * n * times(&name, cell.bytes)).collect();
        Some(CellTimes::each(&us, cpu(&name)))
    });
    all(test, Some(&Ours { name: "it", result: &made }))
}

/// The answers that start so, one a pair.
fn holds(claims: &[Claim], says: &str) -> Vec<Holds> {
    let found: Vec<Holds> = claims.iter().filter(|c| c.says.starts_with(says)).map(|c| c.holds).collect();
    assert_eq!(found.len(), 2, "{says}: {claims:#?}");
    found
}

fn quiet(test: MessageTest, times: Times) -> Vec<Claim> {
    made(test, times, 0.0, |_| 1.0)
}

const YES: [Holds; 2] = [Holds::Yes; 2];
const NO: [Holds; 2] = [Holds::No; 2];
const UNDECIDED: [Holds; 2] = [Holds::CannotTell; 2];

/// As the paper has it: the thread adds so much, whatever the size, to what grows with the size.
fn as_there(layer: &str, bytes: u64) -> f64 {
    let network = 10.0 + bytes as f64;
    match layer {
        "zccl" => network + 100.0,
        "inline" => network + 5.0,
        _ => network,
    }
}

/// The thread costs nothing with small messages, much with large ones, and inline costs the same.
fn the_other_way(layer: &str, bytes: u64) -> f64 {
    match layer {
        "write+nodelay" => 100.0,
        _ => 101.0 + bytes as f64,
    }
}

/// Through the thread is faster.
fn faster(layer: &str, _: u64) -> f64 {
    if layer == "zccl" { 50.0 } else { 100.0 }
}

#[test]
fn one_way_comes_out_either_way() {
    let slow = "One way, the library is much slower";
    let fast = "One way, the library is as fast";
    let test = MessageTest::Oneway;
    assert_eq!(holds(&quiet(test, as_there), slow), YES);
    assert_eq!(holds(&quiet(test, the_other_way), slow), NO);
    let limited: Times = |layer, bytes| if bytes >= 256 { 1000.0 } else { as_there(layer, bytes) };
    assert_eq!(holds(&quiet(test, limited), fast), YES);
    assert_eq!(holds(&quiet(test, the_other_way), fast), NO);
    for says in [slow, fast] {
        assert_eq!(holds(&made(test, as_there, 20.0, |_| 1.0), says), UNDECIDED, "{says}");
    }
}

#[test]
fn round_trips_come_out_either_way() {
    let (longer, constant) = ("A round trip through the library", "What a round trip takes longer");
    let falls = "The slowdown of a round trip falls";
    let test = MessageTest::Pingpong;
    let claims = quiet(test, as_there);
    assert_eq!([holds(&claims, constant), holds(&claims, falls)], [YES, YES]);
    let claims = quiet(test, the_other_way);
    assert_eq!([holds(&claims, constant), holds(&claims, falls)], [NO, NO]);
    let claims = quiet(test, faster);
    assert_eq!(holds(&claims, constant), UNDECIDED, "there is nothing that could be constant");
    assert!(claims[1].here.contains("so there is no such cost"), "{}", claims[1].here);
    assert_eq!(holds(&quiet(test, as_there), longer), YES);
    assert_eq!(holds(&quiet(test, faster), longer), NO);
    assert_eq!(holds(&made(test, as_there, 20.0, |_| 1.0), longer), UNDECIDED);
}

#[test]
fn posts_come_out_either_way() {
    let (little, less) = ("Posts cost little", "Posts cost the less");
    let test = MessageTest::Post;
    let claims = quiet(test, as_there);
    assert_eq!([holds(&claims, little), holds(&claims, less)], [YES, YES]);
    let claims = quiet(test, the_other_way);
    assert_eq!([holds(&claims, little), holds(&claims, less)], [NO, NO]);
    let claims = made(test, as_there, 20.0, |_| 1.0);
    assert_eq!(holds(&claims, little), UNDECIDED);
}

#[test]
fn a_cost_is_removed_or_left_or_not_there() {
    let removes = "Sending in the caller's context";
    for test in MessageTest::ALL {
        assert_eq!(holds(&quiet(test, as_there), removes), YES, "{test:?}");
        assert_eq!(holds(&quiet(test, the_other_way), removes), NO, "{test:?}");
        assert_eq!(holds(&quiet(test, faster), removes), UNDECIDED, "{test:?}");
    }
}

#[test]
fn processor_time_comes_out_either_way() {
    let takes = "The sender thread takes more CPU time";
    for (cpu, expected) in [
        ((|layer| if layer == "zccl" { 2.0 } else { 1.0 }) as fn(&str) -> f64, YES),
        (|layer| if layer == "zccl" { 0.5 } else { 1.0 }, NO),
        (|_| 1.0, UNDECIDED),
    ] {
        assert_eq!(holds(&made(MessageTest::Oneway, as_there, 0.0, cpu), takes), expected);
        assert_eq!(holds(&made(MessageTest::Pingpong, as_there, 0.0, cpu), takes), expected);
    }
}

#[test]
fn what_the_text_does_not_claim_is_ours() {
    for (test, ours) in [(MessageTest::Oneway, 2), (MessageTest::Pingpong, 2), (MessageTest::Post, 0)] {
        let claims = quiet(test, as_there);
        let found = claims.iter().filter(|claim| claim.origin == Origin::Ours).count();
        // On each of two pairs.
        assert_eq!(found, 2 * ours, "{claims:#?}");
    }
}

#[test]
fn one_trial_and_none_decide_nothing() {
    for test in MessageTest::ALL {
        for rounds in [&[5.0][..], &[]] {
            let made = result(test, &[sockets(), zccl()], |_| Some(CellTimes::each(rounds, 1.0)));
            let claims = all(test, Some(&Ours { name: "it", result: &made }));
            assert!(!claims.is_empty() && claims.iter().all(|c| c.holds == Holds::CannotTell), "{claims:#?}");
            assert!(claims.iter().all(|c| c.here.contains("unknown")), "{claims:#?}");
        }
        assert!(all(test, None).is_empty());
    }
}

#[test]
fn the_evidence_is_that_of_the_rounds() {
    let claims = quiet(MessageTest::Oneway, |layer, _| if layer == "zccl" { 40.0 } else { 10.0 });
    assert!(claims[0].here.starts_with("25.0 (25.0 to 25.0) % over 4 B to 32 B"), "{}", claims[0].here);
    assert!(claims[0].says.ends_with("(both ends on one CPU)"), "{}", claims[0].says);
    assert!(claims[4].says.ends_with("(each end on a CPU of its own)"), "{}", claims[4].says);
}
