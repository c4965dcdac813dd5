//! Figures of costs in print: shares in percent, times, counts and bytes, each with half its interval.

use netfathom_model::print::{NOT_KNOWN, Scale};
use netfathom_model::record::{Comparison, Estimate, Resource};
use netfathom_stats as stats;

/// A value with its interval; `None` of single runs, which have none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figure {
    pub value: f64,
    pub interval: Option<Interval>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Interval {
    /// Half of the 95 % interval.
    Half(f64),
    /// The interval that the outcome goes by, of the level [`stats::DECIDED`].
    Decided(f64, f64),
}

impl Figure {
    pub fn of(comparison: &Comparison, estimate: Estimate) -> Self {
        let half = estimate.half_width;
        let interval = (!is_single(comparison) || half != 0.0).then_some(Interval::Half(half));
        Self { value: estimate.value, interval }
    }

    /// Of a ratio with an outcome, less one: 1.12 is 0.12.
    pub fn decided(comparison: &Comparison, ratio: Estimate) -> Self {
        Self::decided_of(comparison, ratio, 1)
    }

    /// The same of one of several that are decided together.
    pub fn decided_of(comparison: &Comparison, ratio: Estimate, together: usize) -> Self {
        let ends = stats::decided_interval_of(ratio.into(), comparison.blocks, together)
            .filter(|_| !is_single(comparison));
        let interval = ends.map(|(low, high)| Interval::Decided(low - 1.0, high - 1.0));
        Self { value: ratio.value - 1.0, interval }
    }

    /// Of what stands by itself: one without any width is of single runs.
    pub fn alone(estimate: Estimate) -> Self {
        let half = estimate.half_width;
        Self { value: estimate.value, interval: (half != 0.0).then_some(Interval::Half(half)) }
    }

    /// A multiple as what it is more than once: 1.12 is 0.12.
    pub fn beyond_one(self) -> Self {
        Self { value: self.value - 1.0, ..self }
    }

    /// How much less instead of how much more.
    pub fn opposite(self) -> Self {
        let interval = self.interval.map(|interval| match interval {
            Interval::Decided(low, high) => Interval::Decided(-high, -low),
            half @ Interval::Half(_) => half,
        });
        Self { value: -self.value, interval }
    }

    pub fn ends(self) -> Option<(f64, f64)> {
        self.interval.map(|interval| match interval {
            Interval::Half(half) => (self.value - half, self.value + half),
            Interval::Decided(low, high) => (low, high),
        })
    }

    /// Whether 0 is outside of the interval. Without one it is not.
    pub fn beyond_chance(self) -> bool {
        self.ends()
            .is_some_and(|(low, high)| low.is_finite() && high.is_finite() && (low > 0.0 || high < 0.0))
    }

    /// Of shares: `12.3 % ± 1.1`, or `12.3 % (11.0 to 13.6 %)`.
    pub fn percent(self) -> String {
        self.on(Scale::Share)
    }

    /// The upper end of the interval, as [`Self::percent`] has it.
    pub fn most(self) -> String {
        self.ends().map_or_else(|| NOT_KNOWN.into(), |ends| Scale::Share.upper(self.value, ends))
    }

    /// In the unit of a resource: `12.3 ms ± 1.1`.
    pub fn amount(self, resource: Resource) -> String {
        self.on(resource.scale())
    }

    /// Of nanoseconds: `12.3 ms ± 1.1`.
    pub fn time(self) -> String {
        self.on(Scale::Time)
    }

    fn on(self, scale: Scale) -> String {
        match self.interval {
            Some(Interval::Decided(low, high)) => scale.within(self.value, (low, high)),
            Some(Interval::Half(half)) => scale.interval(self.value, Some(half)),
            None => scale.text(self.value),
        }
    }
}

fn is_single(comparison: &Comparison) -> bool {
    comparison.smallest.is_none()
}

/// The slowdown: how much longer the benchmark takes, 0.12 for 12 %.
pub(super) fn slowdown(comparison: &Comparison) -> Figure {
    Figure::decided(comparison, comparison.ratio)
}

/// The PCost, 1 for 100 %.
pub(super) fn pcost(comparison: &Comparison) -> Figure {
    Figure::of(comparison, comparison.pcost)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, half: f64) -> Figure {
        Figure { value, interval: Some(Interval::Half(half)) }
    }

    #[test]
    fn figures_are_in_the_unit_of_what_they_are_of() {
        assert_eq!(figure(0.1234, 0.0112).percent(), "12.3 % ± 1.1");
        assert_eq!(figure(1.23e7, 2.0e6).amount(Resource::RunQueue), "12.3 ms ± 2.0");
        let single = |value| Figure { value, interval: None };
        assert_eq!(single(1204.0).amount(Resource::MinorFaults), "1,204");
        assert_eq!(single(3.21e9).amount(Resource::Cycles), "3.21G");
        assert_eq!(single(3.5 * 1024.0 * 1024.0).amount(Resource::ReadBytes), "3.50 MiB");
        assert_eq!(figure(f64::NAN, 0.1).percent(), "n/a");
        let decided = Figure { value: 0.122, interval: Some(Interval::Decided(-0.0112, 0.282)) };
        assert_eq!((decided.percent(), decided.most()), ("12 % (-1 to 28 %)".into(), "28 %".into()));
        assert_eq!(decided.opposite().percent(), "-12 % (-28 to 1 %)");
        assert!(!decided.beyond_chance());
        let barely = Figure { value: 0.122, interval: Some(Interval::Decided(0.0003, 0.282)) };
        assert_eq!(barely.percent(), "12 % (0.030 to 28 %)");
        assert!(barely.beyond_chance());
    }
}
