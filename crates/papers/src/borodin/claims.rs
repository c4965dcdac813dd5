//! What the papers say of the time in the stack, and whether it holds here.

use netfathom_model::path::Direction;
use netfathom_model::print::{Scale, percent_down};
use netfathom_model::record::{Claim, Holds, Origin, StackResult};
use netfathom_stats::{Estimate, between_trials, paired_ratio};

use super::ours::{self, Slope};
use super::tables::way;
use crate::claim::{ALIKE, above, within, written};

/// Where the outgoing paper says that the time falls.
const OUTGOING_FALLS: &str = "outgoing paper, table 1 and figures 1 to 3: at peak and overall 3.83 and 9.05 µs, 8.20 and \
                              10.35 µs, 17.97 and 60.23 µs on the three platforms; our text has no figures";
/// Where the incoming one does; our text of it has no graphs.
const INCOMING_FALLS: &str = "incoming paper, abstract and the text on graphs 1 to 6; our text has no graphs";
pub const SLOPES: &str = "incoming paper, the text below graphs 4 to 6; our text has no graphs";

/// Claims about the undisturbed messages, where they stand for the others; else about all. Where all messages say the
/// opposite, nothing is decided.
pub fn asked(ours: Option<&StackResult>, claims: impl Fn(&StackResult) -> Vec<Claim>) -> Vec<Claim> {
    let of_all = ours.map(&claims).unwrap_or_default();
    let Some((alone, share)) = ours.and_then(ours::undisturbed) else { return of_all };
    let both = |(claim, all): (Claim, Claim)| Claim {
        here: format!(
            "{}; of the undisturbed messages, {} of those judged; by all messages: {}",
            claim.here,
            percent_down(share),
            all.holds.name()
        ),
        holds: match (claim.holds, all.holds) {
            (Holds::Yes, Holds::No) | (Holds::No, Holds::Yes) => Holds::CannotTell,
            (holds, _) => holds,
        },
        ..claim
    };
    claims(&alone).into_iter().zip(of_all).map(both).collect()
}

/// In the paper's own form: the mean at peak is below the mean over everything.
pub fn less_at_peak(direction: Direction, ours: &StackResult) -> Claim {
    let pair = |path: &&netfathom_model::record::PathTimes| {
        Some((path.total.mean_ns / 1e3, path.peak?.mean_ns / 1e3))
    };
    let pairs: Vec<(f64, f64)> = ours::paths(ours, direction).iter().filter_map(pair).collect();
    let less = less(&pairs);
    // Only the outgoing paper has a row at peak.
    let (source, there) = match direction {
        Direction::Tx => (Origin::Source, OUTGOING_FALLS.into()),
        Direction::Rx => {
            (Origin::Ours, format!("{INCOMING_FALLS}; the outgoing paper's form, {OUTGOING_FALLS}"))
        }
    };
    Claim {
        origin: source,
        says: format!(
            "{} messages take less time at the peak of the load than over all of it",
            capital(direction)
        ),
        there,
        here: format!(
            "mean overall {} µs, at peak {} µs: {} µs less at peak ({})",
            mean(pairs.iter().map(|p| p.0)),
            mean(pairs.iter().map(|p| p.1)),
            written(less, 3),
            trials(&pairs),
        ),
        holds: above(less, 0.0),
    }
}

/// By windows of time: those of the highest third of the rates against those of the lowest.
pub fn less_at_high_rates(direction: Direction, ours: &StackResult, slope: Option<Slope>) -> Claim {
    let pairs = ours::ends_us(ours, direction, slope);
    let less = less(&pairs);
    let (low, high) = ours::thirds_per_s(&ours.plan.profile);
    Claim {
        origin: Origin::Source,
        says: match slope {
            None | Some(Slope::Rising) => {
                format!("The mean time of {} messages falls as the rate rises", way(direction))
            }
            Some(Slope::Falling) => {
                format!("The mean time of {} messages grows again as the rate falls", way(direction))
            }
        },
        there: match direction {
            Direction::Tx => OUTGOING_FALLS.into(),
            Direction::Rx if slope.is_some() => SLOPES.into(),
            Direction::Rx => INCOMING_FALLS.into(),
        },
        here: format!(
            "mean {} µs up to {} messages/s, {} µs from {} messages/s on: {} µs less at the high rates ({})",
            mean(pairs.iter().map(|p| p.0)),
            Scale::Multiple.text(low),
            mean(pairs.iter().map(|p| p.1)),
            Scale::Multiple.text(high),
            written(less, 3),
            trials(&pairs),
        ),
        holds: above(less, 0.0),
    }
}

/// The curve of the time is the same on both sides of the peak.
pub fn symmetric(direction: Direction, ours: &StackResult) -> Claim {
    let times = ours::falling_over_rising(ours, direction);
    let quotient = paired_ratio(&times.iter().map(|&times| (times, 1.0)).collect::<Vec<_>>());
    Claim {
        origin: Origin::Source,
        says: "The curve of the mean time is symmetric about the peak of the rate".into(),
        there: "incoming paper, the text below graphs 4 to 6".into(),
        here: format!(
            "at the same rate a message takes {} times as long on the falling slope as on the rising one (95 % interval \
             between {} trials); symmetric is an interval within {:.2} to {ALIKE:.2}",
            written(quotient, 3),
            times.len(),
            1.0 / ALIKE
        ),
        holds: within(quotient, 1.0 / ALIKE, ALIKE),
    }
}

/// The way in takes longer than the way out.
pub fn incoming_costs_more(ours: &StackResult) -> Claim {
    let growths = ours::growths(ours);
    let pairs = ours::pairs_us(ours);
    let growth = between_trials(&growths);
    Claim {
        origin: Origin::Source,
        says: "An incoming message takes the operating system more time than an outgoing one".into(),
        there: "incoming paper, conclusion: 166, 406 and 16 % more on the three platforms; table 1 of each paper: 24.13 \
                and 9.05 µs, 52.43 and 10.35 µs, 69.96 and 60.23 µs"
            .into(),
        here: format!(
            "incoming {} µs, outgoing {} µs: {} times as long ({})",
            mean(pairs.iter().map(|p| p.1)),
            mean(pairs.iter().map(|p| p.0)),
            written(growth, 3),
            trials(&pairs),
        ),
        holds: above(growth, 1.0),
    }
}

/// The first of each pair minus the second, with the interval between trials.
fn less(pairs: &[(f64, f64)]) -> Option<Estimate> {
    between_trials(&pairs.iter().map(|(a, b)| a - b).collect::<Vec<f64>>())
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> String {
    match values.len() {
        0 => "unknown".into(),
        n => format!("{:.3}", values.sum::<f64>() / n as f64),
    }
}

fn trials(pairs: &[(f64, f64)]) -> String {
    match pairs.len() {
        0 => "no trial has both".into(),
        1 => "one trial, which has no interval".into(),
        n => format!("± is the 95 % interval between {n} trials, each compared with itself"),
    }
}

fn capital(direction: Direction) -> &'static str {
    match direction {
        Direction::Tx => "Outgoing",
        Direction::Rx => "Incoming",
    }
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::{PathTimes, Series, Undisturbed, UndisturbedTimes};

    use super::super::fixture::{planned, stack};
    use super::*;

    const FALLS: &[(i64, i64)] = &[(9000, 3000), (9100, 3100), (8900, 2900)];
    const RISES: &[(i64, i64)] = &[(3000, 9000), (3100, 9100), (2900, 8900)];
    const BOTH: &[(i64, i64)] = &[(9000, 3000), (3000, 9000), (5000, 5000)];

    #[test]
    fn the_time_falls_rises_or_is_undecided() {
        for direction in [Direction::Tx, Direction::Rx] {
            let cases = [
                (FALLS, Holds::Yes),
                (RISES, Holds::No),
                (BOTH, Holds::CannotTell),
                // A single trial has no interval.
                (&FALLS[..1], Holds::CannotTell),
            ];
            for (ends, expected) in cases {
                let ours = stack(&[(direction, ends)]);
                assert_eq!(less_at_peak(direction, &ours).holds, expected, "{ends:?}");
                assert_eq!(less_at_high_rates(direction, &ours, None).holds, expected, "{ends:?}");
            }
        }
    }

    #[test]
    fn the_evidence_is_that_of_the_thirds() {
        // Thirds of 10 to 100 a second end at 40 and begin at 70: windows 0 to 2, with
        // rates from 14.5 to 32.5, and 7 to 9.
        let claim =
            less_at_high_rates(Direction::Tx, &stack(&[(Direction::Tx, &[(9000, 0), (9000, 0)])]), None);
        let mean = |windows: std::ops::Range<u64>| {
            let n: u64 = windows.clone().map(|w| w + 1).sum();
            windows.map(|w| (9000 - 1000 * w) * (w + 1)).sum::<u64>() as f64 / n as f64 / 1e3
        };
        let (low, high) = (mean(0..3), mean(7..10));
        let expected = format!(
            "mean {low:.3} µs up to 40 messages/s, {high:.3} µs from 70 messages/s on: {:.3} ± 0.000 µs less",
            low - high
        );
        assert!(claim.here.starts_with(&expected), "{}\n{expected}", claim.here);
    }

    #[test]
    fn each_slope_of_a_triangle_is_asked_and_whether_both_are_alike() {
        use Holds::{CannotTell, No, Yes};
        let (alike, falling): (&[_], &[_]) =
            (&[(5000, 5000), (5010, 5010), (4990, 4990)], &[(9000, 1000), (9010, 1010), (8990, 990)]);
        let mixed: &[_] = &[(9000, 1000), (1000, 9000), (5000, 5000)];
        for (ends, expected) in [
            (alike, [CannotTell, CannotTell, Yes]),
            (falling, [Yes, No, No]),
            (mixed, [CannotTell; 3]),
            (&alike[..1], [CannotTell; 3]),
        ] {
            let ours = planned("triangle:10..100/10s", &[(Direction::Rx, ends)]);
            let on = |slope| less_at_high_rates(Direction::Rx, &ours, Some(slope)).holds;
            let holds = [on(Slope::Rising), on(Slope::Falling), symmetric(Direction::Rx, &ours).holds];
            assert_eq!(holds, expected, "{ends:?}");
        }
    }

    #[test]
    fn incoming_costs_more_less_or_is_undecided() {
        let (little, much): (&[_], &[_]) =
            (&[(1000, 1000), (1010, 1010), (990, 990)], &[(2000, 2000), (2050, 2050), (1900, 1900)]);
        let mixed: &[_] = &[(500, 500), (2050, 2050), (990, 990)];
        for (out, into, expected) in [
            (little, much, Holds::Yes),
            (much, little, Holds::No),
            (little, mixed, Holds::CannotTell),
            (&little[..1], &much[..1], Holds::CannotTell),
        ] {
            let ours = stack(&[(Direction::Tx, out), (Direction::Rx, into)]);
            let claim = incoming_costs_more(&ours);
            assert_eq!(claim.holds, expected, "{}", claim.here);
        }
    }

    /// The second claim about a run with these times of all messages and of the undisturbed ones; `judged` are those of a
    /// trial, which has 550, and `kept` gives the undisturbed ones of a window.
    fn asked_of(all: &[(i64, i64)], alone: &[(i64, i64)], judged: u64, kept: fn(u64) -> u64) -> Claim {
        let [mut ours, alone] = [all, alone].map(|ends| stack(&[(Direction::Tx, ends)]));
        let of = |path: &PathTimes| UndisturbedTimes {
            judged,
            times: path.total.clone(),
            stages: Vec::new(),
            peak: path.peak,
            series: Series { n: path.series.n.iter().map(|&n| kept(n)).collect(), ..path.series.clone() },
            missed_slots: 0,
            lag_p99_of_interval: 0.0,
        };
        let times: Vec<_> = ours::paths(&alone, Direction::Tx).into_iter().map(of).collect();
        ours.summaries[0].undisturbed =
            Some(Undisturbed { overall: alone.summaries[0].overall, total: times[0].clone() });
        for (trial, times) in ours.trials.iter_mut().zip(times) {
            trial.paths[0].undisturbed = Some(times);
        }
        let claims = |ours: &StackResult| {
            vec![less_at_peak(Direction::Tx, ours), less_at_high_rates(Direction::Tx, ours, None)]
        };
        let mut claims = asked(Some(&ours), claims);
        assert_eq!(claims[0].holds, claims[1].holds);
        claims.remove(1)
    }

    #[test]
    fn undisturbed_messages_decide_where_they_stand_for_the_others() {
        let claim = asked_of(BOTH, FALLS, 600, |n| n);
        assert_eq!(claim.holds, Holds::Yes, "{}", claim.here);
        let end = "; of the undisturbed messages, 91.7 % of those judged; by all messages: inconclusive";
        assert!(claim.here.ends_with(end), "{}", claim.here);
        // Fewer than half do not stand for all, nor do they at the highest rates; all of them are no choice.
        let few: fn(u64) -> u64 = |n| if n > 80 { n / 3 } else { n };
        for (judged, kept) in [(1200, (|n| n) as fn(u64) -> u64), (600, few), (550, |n| n)] {
            let claim = asked_of(BOTH, FALLS, judged, kept);
            assert!(
                claim.holds == Holds::CannotTell && !claim.here.contains("undisturbed"),
                "{}",
                claim.here
            );
        }
        assert_eq!(asked_of(RISES, FALLS, 600, |n| n).holds, Holds::CannotTell);
    }

    #[test]
    fn without_a_trial_the_claim_is_undecided() {
        let claim = less_at_peak(Direction::Tx, &stack(&[]));
        assert_eq!(claim.holds, Holds::CannotTell);
        assert!(claim.here.contains("no trial"), "{}", claim.here);
    }
}
