//! What was found beside what is known.

use netfathom_model::record::{
    BesideTable, Cell, Comparison, CostResult, Effect, Estimate, Figure, Outcome, ReproducedRun,
};
use netfathom_stats::between_trials;

use super::named;
use super::plans::{BURNERS, INTERCEPTION, NOTHING};
use crate::beside::{HERE, bar, bars, beside_table, estimate, ours, own, plain};
use crate::claim::{percent, percent_more};

/// A share of a processor that is known to no more than this is not found.
const WIDEST: f64 = 0.05;

/// Share for timers, context switches and cache misses after them: the CPU time of no process includes it.
pub const SWITCHING: f64 = 0.03;

/// What a burner took: as the kernel counted it, and as it was inferred from what the benchmark lost.
#[derive(Clone, Copy, Debug)]
pub struct Recovered {
    /// Share of the processor that the burner had, by its processor time.
    pub known: Estimate,
    /// Share that the benchmark lacked: 1 - 1 / ratio.
    pub found: Estimate,
}

impl Recovered {
    /// Of a run with a burner; `None` if there are too few blocks.
    pub fn of(result: &CostResult) -> Option<Self> {
        let benchmark = result.benchmarks.first()?;
        let ratio = benchmark.of_effect(Effect::Program).find(|c| c.blocks >= 2)?.ratio;
        let share = |ratio: f64| 1.0 - 1.0 / ratio;
        let half_width =
            (share(ratio.value + ratio.half_width) - share(ratio.value - ratio.half_width)) / 2.0;
        let programs = benchmark.trials.iter().filter(|t| t.failed.is_none()).filter_map(|t| t.program);
        let shares: Vec<f64> =
            programs.filter_map(|p| Some(p.cpu_ns? as f64 / p.wall_ns.max(1) as f64)).collect();
        let known = between_trials(&shares)?.into();
        Some(Self { known, found: Estimate { value: share(ratio.value), half_width } })
    }

    /// Whether the one is the other, with what either is uncertain by, and up to [`SWITCHING`] more; `None` where what
    /// was found is so uncertain that almost anything would be.
    pub fn agrees(&self) -> Option<bool> {
        let more = self.found.value - self.known.value;
        let (found, known) = (self.found.half_width, self.known.half_width);
        let wide = (found * found + known * known).sqrt();
        (wide <= WIDEST).then_some((-wide..=SWITCHING + wide).contains(&more))
    }
}

pub fn findings(runs: &[ReproducedRun]) -> Vec<&Comparison> {
    named(runs, NOTHING)
        .into_iter()
        .filter_map(|result| result.benchmarks.first()?.of_effect(Effect::Program).next())
        .collect()
}

/// A line a run with nothing.
pub fn nothings(runs: &[ReproducedRun]) -> BesideTable {
    let rows = findings(runs).into_iter().zip(1..).map(|(found, number)| {
        let smallest = found.smallest.map(|s| plain(100.0 * s));
        let outcome = if found.outcome == Outcome::NoCost { "none" } else { found.outcome.name() };
        let outcome = Cell { printed: Some(outcome.into()), ..plain(0.0) };
        let slowdown = estimate(percent_more(found.ratio));
        own(format!("nothing, run {number}"), vec![Some(slowdown), smallest, Some(outcome)])
    });
    beside_table("With nothing there", "slowdown, %|MDE, %|cost", rows, "")
}

/// The same as a picture, with the intervals.
pub fn slowdowns(runs: &[ReproducedRun]) -> Figure {
    let points = findings(runs).into_iter().zip(1..).map(|(found, number)| {
        bar(f64::from(number), estimate(percent_more(found.ratio)), number.to_string())
    });
    bars("Slowdown with nothing there", ["run", "slowdown, %"], vec![ours(HERE, points.collect())])
}

pub fn burners(runs: &[ReproducedRun]) -> BesideTable {
    let of = |(burner, _): &(&str, _)| {
        let recovered = Recovered::of(named(runs, burner).first()?)?;
        let cells = [recovered.known, recovered.found].map(|share| Some(estimate(percent(share))));
        Some(own(*burner, cells.into()))
    };
    beside_table(
        "A burner on the benchmark's CPU",
        "it took, by the kernel's count, %|the benchmark lacked, %",
        BURNERS.iter().filter_map(of),
        "Of one CPU. What the benchmark lacked follows from its slowdown: 1 - 1 / ratio.",
    )
}

pub fn interception(runs: &[ReproducedRun]) -> BesideTable {
    let found = points(runs).map(|found| {
        let cells = [estimate(percent_more(found.ratio)), plain(found.blocks.into())];
        own("tracepoints", cells.map(Some).into())
    });
    beside_table("The observation points of a tar", "slowdown, %|blocks", found, "")
}

/// See [`interception`].
pub fn points(runs: &[ReproducedRun]) -> Option<&Comparison> {
    named(runs, INTERCEPTION).first()?.benchmarks.first()?.of_effect(Effect::Observation).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees(known: f64, found: f64, half_width: f64) -> Option<bool> {
        let of = |value, half_width| Estimate { value, half_width };
        Recovered { known: of(known, 0.001), found: of(found, half_width) }.agrees()
    }

    #[test]
    fn what_is_found_is_what_is_known_or_a_little_more() {
        assert_eq!(agrees(0.25, 0.25, 0.01), Some(true));
        assert_eq!(agrees(0.25, 0.27, 0.005), Some(true));
        assert_eq!(agrees(0.25, 0.30, 0.005), Some(false));
        assert_eq!(agrees(0.25, 0.23, 0.005), Some(false));
        assert_eq!(agrees(0.25, 0.25, 0.2), None);
    }
}
