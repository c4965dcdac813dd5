//! The other half of the outgoing paper's figure 4: the stack time of the outgoing messages.

use netfathom_model::record::{
    BesideTable, Claim, Figure, FigurePoint, Origin, Phase, ReverseResult, ReverseTrial,
};
use netfathom_stats::{between_trials, paired_ratio};

use super::super::ours::window;
use super::{DECIDES, THERE, decisive, over_time};
use crate::beside::{beside_table, lines, mean, ours, own, plain, point};
use crate::claim::{above, written};

fn mean_us(trial: &ReverseTrial, phase: Phase) -> Option<f64> {
    trial.phases.iter().find(|times| times.phase == phase)?.stack_mean_ns.map(|ns| ns / 1e3)
}

/// At the inbound peak, and before.
fn pairs_us(trials: &[ReverseTrial]) -> Vec<(f64, f64)> {
    let pair = |trial| Some((mean_us(trial, Phase::Peak)?, mean_us(trial, Phase::Before)?));
    trials.iter().filter_map(pair).collect()
}

/// What the paper calls the effect of the reverse load.
pub fn rises(result: Option<&ReverseResult>) -> Claim {
    let pairs = pairs_us(result.map(decisive).unwrap_or_default());
    let quotient = paired_ratio(&pairs);
    let mean =
        |of: fn(&(f64, f64)) -> f64| written(between_trials(&pairs.iter().map(of).collect::<Vec<_>>()), 3);
    Claim {
        origin: Origin::Source,
        says: "Incoming messages raise the mean processing time of the outgoing ones".into(),
        there: THERE.into(),
        here: match pairs.len() {
            0 => "no trial has stack times, which need kernel programs".into(),
            n => format!(
                "mean {} µs before, {} µs at the inbound peak: {} times as long (95 % intervals between {n} trials)",
                mean(|p| p.1),
                mean(|p| p.0),
                written(quotient, 3)
            ),
        },
        holds: above(quotient, 1.0),
    }
}

pub fn table(result: &ReverseResult) -> BesideTable {
    let trials = decisive(result);
    let mean = |phase| mean(&trials.iter().filter_map(|trial| mean_us(trial, phase)).collect::<Vec<_>>());
    beside_table(
        "Mean stack time before, during and after the inbound load",
        "before, µs|rise, µs|peak, µs|after, µs",
        [own(format!("here, {}", DECIDES.name()), Phase::ALL.map(mean).into())],
        "The paper has figure 4 and no table. Taken in trials of their own, for stack times cost rate.",
    )
}

/// Rate and mean stack time over a trial, as figure 4 has them.
pub fn figures(result: &ReverseResult) -> Vec<Figure> {
    let Some(of) = result.variants.iter().find(|of| of.variant == DECIDES) else { return Vec::new() };
    let rates =
        over_time(of).map(|figure| Figure { title: format!("{}, with stack times", figure.title), ..figure });
    let points = over_trial(&of.trials);
    let time = (!points.is_empty()).then(|| {
        let axes = ["time, s", "mean time, µs"];
        lines("Mean stack time over time, all trials", axes, vec![ours("outgoing", points)])
    });
    rates.into_iter().chain(time).collect()
}

fn over_trial(trials: &[ReverseTrial]) -> Vec<FigurePoint> {
    let all: Vec<_> = trials.iter().filter_map(|trial| trial.stack.as_ref()).collect();
    let (Some(first), Some(end_ns)) =
        (all.first(), trials.first().and_then(|t| t.phases.last()).map(|p| p.end_ns))
    else {
        return Vec::new();
    };
    let point = |i: usize| {
        let (n, sum_ns) = window(all.iter().copied(), i);
        let x = first.middle_s(i);
        (n > 0 && x * 1e9 < end_ns as f64).then(|| point(x, plain(sum_ns as f64 / n as f64 / 1e3)))
    };
    (0..first.n.len()).filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::Holds;

    use super::super::super::fixture::{reverse, timed};
    use super::*;

    /// Each trial is given by its times in the four phases, µs.
    fn made(times_us: &[[f64; 4]]) -> ReverseResult {
        timed(reverse(&vec![[100.0, 80.0, 60.0, 100.0]; times_us.len()]), times_us)
    }

    #[test]
    fn the_time_rises_or_falls_or_is_not_significant() {
        for (times_us, expected) in [
            (vec![[2.0, 2.5, 3.0, 2.0], [2.1, 2.5, 3.1, 2.1], [1.9, 2.4, 2.9, 2.0]], Holds::Yes),
            (vec![[3.0, 2.5, 2.0, 3.0], [3.1, 2.5, 2.1, 3.1], [2.9, 2.4, 1.9, 3.0]], Holds::No),
            (vec![[3.0, 2.5, 2.0, 3.0], [2.0, 2.5, 3.0, 2.0]], Holds::CannotTell),
            (vec![[2.0, 2.5, 3.0, 2.0]], Holds::CannotTell),
        ] {
            assert_eq!(rises(Some(&made(&times_us))).holds, expected, "{times_us:?}");
        }
        assert_eq!(rises(Some(&reverse(&[[1.0; 4]; 3]))).holds, Holds::CannotTell);
        assert!(rises(None).here.contains("no trial"));
    }

    #[test]
    fn the_figure_has_the_rate_and_the_time() {
        let made = made(&[[2.0, 2.5, 3.0, 2.0], [2.0, 2.5, 3.0, 2.0]]);
        let figures = figures(&made);
        let ys: Vec<f64> = figures[1].series[0].points.iter().map(|p| p.y).collect();
        assert_eq!((figures.len(), ys), (2, vec![2.0, 2.5, 3.0, 2.0]));
        let peak = table(&made).rows[0].cells[2].clone().unwrap();
        assert_eq!((peak.value, peak.half_width), (3.0, Some(0.0)));
    }
}
