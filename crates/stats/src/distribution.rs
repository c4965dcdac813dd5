//! Moments and histogram of the same values, kept together.

use serde::{Deserialize, Serialize};

use crate::{Histogram, Moments};

/// What is kept of a set of values: exact moments and a histogram.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution {
    /// Exact count, sums and extremes.
    pub moments: Moments,
    pub histogram: Histogram,
}

impl Distribution {
    /// An empty distribution; its histogram has `2^grain` buckets an octave.
    pub fn new(grain: u32) -> Self {
        Self { moments: Moments::default(), histogram: Histogram::new(grain) }
    }

    #[inline]
    pub fn add(&mut self, value: i64) {
        self.moments.add(value);
        self.histogram.add(value);
    }

    #[inline]
    pub fn add_many(&mut self, value: i64, count: u64) {
        self.moments.add_many(value, count);
        self.histogram.add_many(value, count);
    }

    pub fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
        self.histogram.merge(&other.histogram);
    }

    /// A quantile that never leaves the exact extremes; `None` of an empty distribution.
    pub fn quantile(&self, q: f64) -> Option<i64> {
        let value = self.histogram.quantile(q)?;
        // Of a foreign record the smallest may be above the largest.
        Some(value.max(self.moments.min).min(self.moments.max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_stay_within_the_extremes() {
        let mut d = Distribution::new(3);
        d.add(1000);
        assert_eq!((d.quantile(0.0), d.quantile(1.0)), (Some(1000), Some(1000)));
    }
}
