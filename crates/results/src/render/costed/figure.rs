//! Figures of costs in print: shares in percent, times, counts and bytes, each with half its interval.

use netfathom_model::record::{Comparison, Estimate, Resource, ResourceUnit};

use crate::render::digits::{self, grouped};

/// Where nothing can be said.
pub(crate) const NOT_KNOWN: &str = "n/a";

/// Beyond this a number is written with its power of ten: nobody counts so many digits.
const MOST_PLAIN: f64 = 1e9;

/// A value, and half its 95 % interval; `None` of single runs, which have none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figure {
    pub value: f64,
    pub half: Option<f64>,
}

impl Figure {
    /// Of something that a comparison says.
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

    /// Of shares: `12.3 ± 1.1 %`.
    pub fn percent(self) -> String {
        self.scaled(100.0, " %")
    }

    /// In the unit of a resource: `12.3 ± 1.1 ms`.
    pub fn amount(self, resource: Resource) -> String {
        self.in_unit(resource.unit())
    }

    /// Of nanoseconds: `12.3 ± 1.1 ms`.
    pub fn time(self) -> String {
        self.in_unit(ResourceUnit::Time)
    }

    fn in_unit(self, of: ResourceUnit) -> String {
        let known = self.half.filter(|half| half.is_finite()).unwrap_or(0.0);
        let unit = digits::unit_of(self.value.abs().max(known), units(of));
        self.scaled(1.0 / unit.size, unit.name)
    }

    fn scaled(self, scale: f64, unit: &str) -> String {
        let value = self.value * scale;
        if !value.is_finite() {
            return NOT_KNOWN.into();
        }
        match self.half.map(|half| half * scale) {
            None => format!("{}{unit}", number(value, decimals(value))),
            Some(half) if !half.is_finite() => format!("{} ± ?{unit}", number(value, decimals(value))),
            Some(half) => {
                let digits = decimals_of_half(half);
                format!("{} ± {}{unit}", number(value, digits), number(half, digits))
            }
        }
    }
}

/// The slowdown: how much longer the benchmark takes, 0.12 for 12 %.
pub(crate) fn slowdown(comparison: &Comparison) -> Figure {
    Figure::of(comparison, comparison.ratio).beyond_one()
}

/// The PCost, 1 for 100 %.
pub(crate) fn pcost(comparison: &Comparison) -> Figure {
    Figure::of(comparison, comparison.pcost)
}

/// A share alone: `1.6 %`.
pub(crate) fn percent(share: f64) -> String {
    Figure { value: share, half: None }.percent()
}

/// A time alone: `12.3 ms`.
pub(crate) fn time(ns: f64) -> String {
    Figure { value: ns, half: None }.time()
}

/// So much of a resource: `12.3 ms`, `1,204`, `3.1 MiB`.
pub(crate) fn amount(resource: Resource, value: f64) -> String {
    Figure { value, half: None }.amount(resource)
}

/// Bytes, by 1024: `3.12 MiB`.
pub(crate) fn bytes(bytes: f64) -> String {
    Figure { value: bytes, half: None }.in_unit(ResourceUnit::Bytes)
}

fn units(of: ResourceUnit) -> digits::Units {
    match of {
        ResourceUnit::Time => digits::UP_TO_SECONDS,
        ResourceUnit::Count => digits::LARGE_COUNTS,
        ResourceUnit::Bytes => digits::BYTES,
    }
}

fn number(value: f64, decimals: usize) -> String {
    if value.abs() >= MOST_PLAIN {
        return format!("{value:.1e}");
    }
    let text = grouped(value, decimals);
    // Nothing is not negative.
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| matches!(c, '0' | '.')) => rest.to_owned(),
        _ => text,
    }
}

/// Decimals that show three digits.
fn decimals(value: f64) -> usize {
    if value == 0.0 { 0 } else { digits::three(value) }
}

/// Decimals that half an interval deserves: no more than two digits of it.
fn decimals_of_half(half: f64) -> usize {
    match half {
        0.0 => 1,
        h if h >= 9.95 => 0,
        h if h >= 0.095 => 1,
        h if h >= 0.0095 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, half: f64) -> Figure {
        Figure { value, half: Some(half) }
    }

    #[test]
    fn a_share_has_the_digits_of_its_interval() {
        assert_eq!(figure(0.1234, 0.0112).percent(), "12.3 ± 1.1 %");
        assert_eq!(figure(0.002, 0.0004).percent(), "0.20 ± 0.04 %");
        assert_eq!(figure(5.124, 0.2).percent(), "512 ± 20 %");
        assert_eq!(figure(-0.0001, 0.01).percent(), "0.0 ± 1.0 %");
        assert_eq!((percent(0.016), percent(0.0)), ("1.60 %".into(), "0 %".into()));
    }

    #[test]
    fn what_is_no_number_is_said() {
        assert_eq!(figure(f64::NAN, 0.1).percent(), "n/a");
        assert_eq!(figure(f64::INFINITY, f64::INFINITY).percent(), "n/a");
        assert_eq!(figure(0.1, f64::NAN).percent(), "10.0 ± ? %");
        assert_eq!(percent(1e300), "1.0e302 %");
    }

    #[test]
    fn amounts_are_in_the_unit_in_which_they_are_read() {
        assert_eq!(figure(1.23e7, 2.0e6).amount(Resource::RunQueue), "12.3 ± 2.0 ms");
        // The wider of both says in what.
        assert_eq!(figure(200.0, 3.1e6).amount(Resource::Cpu), "0.0 ± 3.1 ms");
        assert_eq!(amount(Resource::Cpu, 999_960.0), "1.00 ms");
        assert_eq!(amount(Resource::MinorFaults, 1204.0), "1,204");
        assert_eq!(amount(Resource::Cycles, 3.21e9), "3.21 G");
        assert_eq!(amount(Resource::ReadBytes, 3.5 * 1024.0 * 1024.0), "3.50 MiB");
        assert_eq!((time(0.0), bytes(12.0)), ("0 ns".into(), "12.0 B".into()));
    }
}
