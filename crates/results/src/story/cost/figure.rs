//! Figures of costs in print: shares in percent, times, counts and bytes, each with half its interval.

use netfathom_model::print::Scale;
use netfathom_model::record::{Comparison, Estimate, Resource, ResourceUnit};

/// A value, and half its 95 % interval; `None` of single runs, which have none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figure {
    pub value: f64,
    pub half: Option<f64>,
}

impl Figure {
    pub fn of(comparison: &Comparison, estimate: Estimate) -> Self {
        let single = comparison.smallest.is_none();
        let half = estimate.half_width;
        Self { value: estimate.value, half: (!single || half != 0.0).then_some(half) }
    }

    /// Of what stands by itself: one without any width is of single runs.
    pub fn alone(estimate: Estimate) -> Self {
        let half = estimate.half_width;
        Self { value: estimate.value, half: (half != 0.0).then_some(half) }
    }

    /// A multiple as what it is more than once: 1.12 is 0.12.
    pub fn beyond_one(self) -> Self {
        Self { value: self.value - 1.0, ..self }
    }

    /// Whether 0 is outside of the interval. Without one nothing is told.
    pub fn beyond_chance(self) -> bool {
        self.half.is_some_and(|half| half.is_finite() && self.value.abs() > half)
    }

    /// Of shares: `12.3 % ± 1.1`.
    pub fn percent(self) -> String {
        self.on(Scale::Share)
    }

    /// In the unit of a resource: `12.3 ms ± 1.1`.
    pub fn amount(self, resource: Resource) -> String {
        self.on(scale(resource.unit()))
    }

    /// Of nanoseconds: `12.3 ms ± 1.1`.
    pub fn time(self) -> String {
        self.on(Scale::Time)
    }

    fn on(self, scale: Scale) -> String {
        scale.interval(self.value, self.half)
    }
}

/// The slowdown: how much longer the benchmark takes, 0.12 for 12 %.
pub(super) fn slowdown(comparison: &Comparison) -> Figure {
    Figure::of(comparison, comparison.ratio).beyond_one()
}

/// The PCost, 1 for 100 %.
pub(super) fn pcost(comparison: &Comparison) -> Figure {
    Figure::of(comparison, comparison.pcost)
}

/// So much of a resource: `12.3 ms`, `1,204`, `3.1 MiB`.
pub(super) fn amount(resource: Resource, value: f64) -> String {
    Figure { value, half: None }.amount(resource)
}

fn scale(of: ResourceUnit) -> Scale {
    match of {
        ResourceUnit::Time => Scale::Time,
        ResourceUnit::Count => Scale::Count,
        ResourceUnit::Bytes => Scale::Bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, half: f64) -> Figure {
        Figure { value, half: Some(half) }
    }

    #[test]
    fn figures_are_in_the_unit_of_what_they_are_of() {
        assert_eq!(figure(0.1234, 0.0112).percent(), "12.3 % ± 1.1");
        assert_eq!(figure(1.23e7, 2.0e6).amount(Resource::RunQueue), "12.3 ms ± 2.0");
        assert_eq!(amount(Resource::MinorFaults, 1204.0), "1,204");
        assert_eq!(amount(Resource::Cycles, 3.21e9), "3.21G");
        assert_eq!(amount(Resource::ReadBytes, 3.5 * 1024.0 * 1024.0), "3.50 MiB");
        assert_eq!(figure(f64::NAN, 0.1).percent(), "n/a");
    }
}
