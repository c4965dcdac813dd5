//! What the incoming paper remarks beside its main claims.

use netfathom_model::path::Direction;
use netfathom_model::record::{Claim, Origin, StackResult};
use netfathom_stats::between_trials;

use super::claims::SLOPES;
use super::ours::{self, Slope};
use crate::claim::{Ratio, above, both, written};

/// At its limit is what changes by less than this part of the fall before.
const LEFT: f64 = 0.5;
/// A long time is more than this many times the mean.
const LONG: f64 = 10.0;

/// The fall of the time comes to an end as the rate rises.
pub fn falls_to_a_limit(ours: &StackResult) -> Claim {
    let thirds = ours::thirds_us(ours, Direction::Rx, Some(Slope::Rising));
    let thirds: Vec<[f64; 3]> =
        thirds.filter_map(|[low, middle, high]| Some([low?, middle?, high?])).collect();
    let between = |of: fn(&[f64; 3]) -> f64| between_trials(&thirds.iter().map(of).collect::<Vec<f64>>());
    Claim {
        origin: Origin::Source,
        says: "As the rate rises, the mean time of incoming messages falls to a limit".into(),
        there: SLOPES.into(),
        here: format!(
            "{} µs less from the lowest third of the rates to the middle one, {} µs less from there to the highest (95 % \
             intervals between {} trials, each compared with itself); a limit is there if the latter is significantly less \
             than {:.0} % of the former, up or down",
            written(between(|[low, middle, _]| low - middle), 3),
            written(between(|[_, middle, high]| middle - high), 3),
            thirds.len(),
            100.0 * LEFT
        ),
        holds: both(
            above(between(|[low, middle, high]| LEFT * (low - middle) - (middle - high)), 0.0),
            above(between(|[low, middle, high]| LEFT * (low - middle) + (middle - high)), 0.0),
        ),
    }
}

/// By all messages, as in the paper: those that were disturbed are among the longest.
pub fn single_take_long(ours: &StackResult) -> Claim {
    let paths = ours::paths(ours, Direction::Rx);
    let times: Vec<f64> = paths.iter().map(|path| path.total.max_ns as f64 / path.total.mean_ns).collect();
    let longest = Ratio::of(&times);
    Claim {
        origin: Origin::Source,
        says: "In some cases single incoming messages take long".into(),
        there: "incoming paper, conclusion, without a number, and it may mean messages that come alone; by table 2 the \
                longest message of a trial takes 24 to 2,930 times its mean"
            .into(),
        here: format!(
            "the longest message of a trial takes {} times its mean (95 % interval between {} trials, by logarithms); \
             long: significantly more than {LONG:.0} times",
            longest.written(1.0, 0),
            times.len()
        ),
        holds: longest.above(LONG),
    }
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::Holds;

    use super::super::fixture::{planned, stack};
    use super::*;

    /// A ramp with these times in its ten windows, µs, in trials that are as many times as slow.
    fn curve(us: [i64; 10], trials: &[i64]) -> StackResult {
        let mut ours = stack(&[(Direction::Rx, &vec![(1, 1); trials.len()])]);
        for (trial, times) in ours.trials.iter_mut().zip(trials) {
            let series = &mut trial.paths[0].series;
            series.sum_ns = series.n.iter().zip(us).map(|(&n, us)| n as i64 * us * times).collect();
        }
        ours
    }

    #[test]
    fn the_fall_comes_to_an_end_or_not() {
        let to_a_limit = [90, 70, 55, 45, 40, 38, 36, 35, 35, 35];
        let (evenly, rises) =
            ([100, 90, 80, 70, 60, 50, 40, 30, 20, 10], [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
        let rises_again = [90, 70, 55, 30, 30, 30, 30, 70, 80, 90];
        let trials = [1000, 1010, 990];
        for (us, expected) in
            [(to_a_limit, Holds::Yes), (evenly, Holds::No), (rises, Holds::No), (rises_again, Holds::No)]
        {
            let claim = falls_to_a_limit(&curve(us, &trials));
            assert_eq!(claim.holds, expected, "{us:?}: {}", claim.here);
        }
        assert_eq!(falls_to_a_limit(&curve(to_a_limit, &trials[..1])).holds, Holds::CannotTell);
        assert_eq!(falls_to_a_limit(&curve([35; 10], &trials)).holds, Holds::CannotTell, "there is no fall");
        assert_eq!(falls_to_a_limit(&curve(to_a_limit, &[1000, -900, 990])).holds, Holds::CannotTell);
    }

    #[test]
    fn only_the_rising_slope_has_a_limit() {
        let mut ours = planned("triangle:10..100/10s", &[(Direction::Rx, &[(1000, 1000); 2])]);
        for trial in &mut ours.trials {
            let series = &mut trial.paths[0].series;
            let us = [90, 50, 40, 38, 36, 1, 1, 1, 90, 90];
            series.sum_ns = series.n.iter().zip(us).map(|(&n, us)| n as i64 * us * 1000).collect();
        }
        assert_eq!(falls_to_a_limit(&ours).holds, Holds::Yes);
    }

    #[test]
    fn the_longest_message_takes_long_or_not() {
        let of = |times: &[i64]| {
            let mut ours = stack(&[(Direction::Rx, &vec![(1000, 1000); times.len()])]);
            for (trial, times) in ours.trials.iter_mut().zip(times) {
                trial.paths[0].total.max_ns = 1000 * times;
            }
            single_take_long(&ours)
        };
        // Those of the first platform in table 2.
        let there = of(&[141, 1738, 24, 70, 81, 58, 38, 83, 60, 1034]);
        assert_eq!(there.holds, Holds::Yes, "{}", there.here);
        assert_eq!(of(&[3, 4, 3]).holds, Holds::No);
        assert_eq!(of(&[3, 400, 30]).holds, Holds::CannotTell);
        assert_eq!(of(&[100]).holds, Holds::CannotTell);
    }
}
